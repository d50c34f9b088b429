// Reading the last frame, and clicking where it says something.
#include "tests/viewer/reading_fixture.h"

#include <imgui.h>
#include <imgui_te_context.h>

#include <filesystem>

#include "core/base/file.h"

namespace hloscope::viewer {

std::string ReadingTest::AnnotatedDump() const {
  std::string folder = Scratch("annotated");
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& stage, const std::string& attribute) {
    const std::string text =
        "HloModule jit_f\nENTRY e {\n  x = f32[256] parameter(0)\n"
        "  ROOT y = f32[256] add(x, x)" +
        attribute + "\n}\n";
    EXPECT_TRUE(WriteFileAtomically(folder + "/module_0001.jit_f." + stage + ".txt", text));
  };
  write("before_optimizations", "");
  write("0001.pipeline.after_annotate.before_end",
        ", frontend_attributes={note=\"1\"}, backend_config={\"a\":\"b\"}");
  return folder;
}

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
