// Slow drawing: everything that was typed and clicked while a frame was shown arrives together, and
// is answered as if every frame were quick.
#include <imgui.h>

#include "tests/viewer/viewer_fixture.h"
#include "viewer/frame/keyboard.h"

namespace hloscope::viewer {
namespace {

// What the window system queues while a slow frame is shown.
struct Hands {
  ImGuiIO& io = ImGui::GetIO();

  void Modifiers(int chord, bool down) const {
    if ((chord & ImGuiMod_Ctrl) != 0) {
      io.AddKeyEvent(ImGuiMod_Ctrl, down);
      io.AddKeyEvent(ImGuiKey_LeftCtrl, down);
    }
    if ((chord & ImGuiMod_Shift) != 0) {
      io.AddKeyEvent(ImGuiMod_Shift, down);
      io.AddKeyEvent(ImGuiKey_LeftShift, down);
    }
    if ((chord & ImGuiMod_Alt) != 0) {
      io.AddKeyEvent(ImGuiMod_Alt, down);
      io.AddKeyEvent(ImGuiKey_LeftAlt, down);
    }
  }
  void Press(std::string_view text) const {
    const int chord = ChordFromText(text);
    const auto key = static_cast<ImGuiKey>(chord & ~ImGuiMod_Mask_);
    Modifiers(chord, true);
    io.AddKeyEvent(key, true);
    io.AddKeyEvent(key, false);
    Modifiers(chord, false);
  }
  // Lower-case letters and digits.
  void Type(std::string_view text) const {
    for (char c : text) {
      const int key = c >= 'a' && c <= 'z' ? ImGuiKey_A + (c - 'a') : ImGuiKey_0 + (c - '0');
      io.AddKeyEvent(static_cast<ImGuiKey>(key), true);
      io.AddInputCharacter(static_cast<unsigned char>(c));
      io.AddKeyEvent(static_cast<ImGuiKey>(key), false);
    }
  }
  void Click(float x, float y) const {
    io.AddMousePosEvent(x - 40, y + 30);
    io.AddMousePosEvent(x, y);
    io.AddMouseButtonEvent(0, true);
    io.AddMouseButtonEvent(0, false);
  }
};

class SlowTest : public ViewerTest {
 protected:
  // One slow frame; more where the machine itself is slow.
  void Answer() {
    do app().DrawFrame();
    while (!app().answered());
  }
};

TEST_F(SlowTest, AChordAndWhatIsTypedAfterItInOneSlowFrame) {
  Start({Sample("softmax_passes_a100")});
  const Hands hands;
  hands.Press("Ctrl+Shift+P");
  hands.Type("memory");
  hands.Press("Enter");
  Answer();
  EXPECT_EQ(app().dock().screen(), "memory");
  EXPECT_EQ(app().popups().kind(), Popups::Kind::kNone);
}

TEST_F(SlowTest, DoubleLettersAndBackspaceInOneSlowFrame) {
  Start({Sample("softmax_passes_a100")});
  const Hands hands;
  hands.Press("Ctrl+P");
  hands.Type("softmaxxx");
  hands.Press("Backspace");
  hands.Press("Backspace");
  hands.Type("2");
  Answer();
  EXPECT_EQ(app().popups().text(), "softmax2");
}

TEST_F(SlowTest, ChordsFollowOneAnotherInOneSlowFrame) {
  Start({Sample("softmax_passes_a100")});
  const bool dark = app().theme().dark();
  const Hands hands;
  hands.Press("Ctrl+3");
  hands.Press("Ctrl+T");
  hands.Press("Ctrl+T");
  hands.Press("Ctrl+T");
  hands.Press("Ctrl+2");
  Answer();
  EXPECT_EQ(app().dock().screen(), "graph");
  EXPECT_EQ(app().theme().dark(), !dark);
  // A plain key right after a chord, and stages one by one.
  session().navigation.Select(Selection::OfStage(0, 1));
  Settle();
  hands.Press("Ctrl+3");
  for (int i = 0; i < 5; ++i) hands.Press("]");
  Answer();
  EXPECT_EQ(session().navigation.selection(), Selection::OfStage(0, 6));
}

TEST_F(SlowTest, ClicksAndKeysInOneSlowFrame) {
  Start({Sample("softmax_passes_a100")});
  const Dock::Panel* home = app().dock().Find("home");
  const Hands hands;
  // The tab of Passes, a panel of it, a key for it, another screen.
  hands.Click(150, 18);
  hands.Press("Ctrl+T");
  hands.Click(150, 18);
  Answer();
  EXPECT_EQ(app().dock().screen(), "passes");
  hands.Press("Ctrl+1");
  hands.Click(home->x + 60, home->y + 60);
  hands.Press("Ctrl+Z");
  Answer();
  EXPECT_EQ(app().dock().screen(), "passes");
}

// The wheel turned in small steps while a frame was shown is one movement, not a queue of them.
TEST_F(SlowTest, MovementsDoNotQueueUp) {
  Start({Sample("softmax_passes_a100")});
  Press("Ctrl+2");
  const Dock::Panel* graph = app().dock().Find("graph");
  const Hands hands;
  const float x = graph->x + graph->width / 2, y = graph->y + graph->height / 2;
  for (int i = 0; i < 100; ++i) {
    hands.io.AddMousePosEvent(x + static_cast<float>(i % 7), y);
    hands.io.AddMouseWheelEvent(0, i % 2 == 0 ? 0.5f : -0.5f);
  }
  const int before = ImGui::GetFrameCount();
  Answer();
  EXPECT_LT(ImGui::GetFrameCount() - before, 10);
}

TEST_F(SlowTest, SearchIsNoMoreThanAFrameBehind) {
  Start({Sample("softmax_passes_a100")});
  Press("Ctrl+P");  // reads the names
  const Hands hands;
  for (const std::string_view letter : {"r", "e", "d", "u", "c", "e"}) {
    hands.Type(letter);
    Answer();
    // The time a slow frame takes to be shown.
    ASSERT_TRUE(WaitFor([&] { return session().tasks.Running().empty(); }));
    app().DrawFrame();
    EXPECT_EQ(app().popups().searched(), app().popups().text());
    EXPECT_FALSE(app().popups().hits().empty());
  }
  EXPECT_EQ(app().popups().text(), "reduce");
  EXPECT_TRUE(app().popups().hits()[0].text.starts_with("reduce"));
}

}  // namespace
}  // namespace hloscope::viewer
