// Reading the last frame, and clicking where it says something.
#include "tests/viewer/reading_fixture.h"

#include <imgui.h>
#include <imgui_te_context.h>

namespace hloscope::viewer {

std::vector<SeenCharacter> ReadingTest::Seen(std::string_view view) {
  if (view == "window") {
    const ImVec2 size = ImGui::GetIO().DisplaySize;
    return CharactersIn(0, 0, size.x, size.y);
  }
  const Dock::Panel* panel = app().dock().Find(view);
  if (panel == nullptr || panel->width <= 0) return {};
  return CharactersIn(panel->x, panel->y, panel->width, panel->height);
}

void ReadingTest::ExpectSeen(std::string_view view, std::string_view text) {
  EXPECT_TRUE(FindSeen(Seen(view), text).has_value())
      << text << " is not to be seen in " << view << ":\n"
      << SeenLines(Seen(view));
}

void ReadingTest::ClickOn(std::string_view view, std::string_view text, std::optional<float> left) {
  const std::optional<SeenAt> at = FindSeen(Seen(view), text);
  ASSERT_TRUE(at.has_value()) << text << " is not to be seen in " << view << ":\n"
                              << SeenLines(Seen(view));
  Drive([&](ImGuiTestContext* context) {
    context->MouseMoveToPos(ImVec2(left ? at->begin - *left : at->x, at->y));
    context->MouseClick(0);
  });
}

}  // namespace hloscope::viewer
