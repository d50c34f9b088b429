// Search and palette: what is in view and what begins with the words comes first, and hits of one
// name are told apart.
#include <imgui_te_context.h>

#include <filesystem>
#include <set>

#include "core/base/file.h"
#include "tests/viewer/drawn.h"
#include "tests/viewer/viewer_fixture.h"
#include "viewer/model/search_index.h"

namespace hloscope::viewer {
namespace {

class SearchOrderTest : public ViewerTest {
 protected:
  // Three modules of one name, each in two stages, with instructions of the same names.
  std::string Triplets() {
    const std::string folder = Scratch("triplets");
    std::filesystem::create_directories(folder);
    for (int i = 1; i <= 3; ++i) {
      for (const char* stage : {"before_optimizations", "cpu_after_optimizations"}) {
        const std::string path =
            folder + "/module_000" + std::to_string(i) + ".jit_f." + stage + ".txt";
        EXPECT_TRUE(WriteFileAtomically(path,
                                        "HloModule jit_f\nENTRY e {\n  x = f32[8] parameter(0)\n"
                                        "  ROOT y = f32[8] negate(x)\n}\n"));
      }
    }
    return folder;
  }
  static constexpr size_t kMost = 50;
};

TEST_F(SearchOrderTest, WhatIsInViewComesFirst) {
  const auto dump = dump::DumpModel::Open(Triplets(), Limits{});
  ASSERT_TRUE(dump) << dump.error().ToString();
  TaskControl control;
  const auto index = SearchIndex::Build(**dump, control);
  ASSERT_TRUE(index);
  for (const StageInView& in_view : {StageInView{0, 0}, StageInView{1, 1}, StageInView{2, 0}}) {
    const auto hits = (*index)->Find("y", kMost, {}, in_view);
    ASSERT_EQ(hits.size(), 6u);
    EXPECT_EQ(hits[0].selection.module, in_view.module);
    EXPECT_EQ(hits[0].selection.stage, in_view.stage);
    EXPECT_EQ(hits[1].selection.module, in_view.module) << "its other stage is next";
    EXPECT_EQ((*index)->Find("y", 1, {}, in_view).front().selection, hits[0].selection)
        << "also of a few";
  }
  // A better fit elsewhere is before a worse one in view.
  EXPECT_EQ((*index)->Find("jit_f", kMost, {}, {2, 0}).front().selection, Selection::OfModule(2));
}

TEST_F(SearchOrderTest, HitsOfOneNameAreToldApart) {
  const auto dump = dump::DumpModel::Open(Triplets(), Limits{});
  ASSERT_TRUE(dump);
  TaskControl control;
  const auto index = SearchIndex::Build(**dump, control);
  ASSERT_TRUE(index);
  for (const char* words : {"y", "jit_f", "before_optimizations"}) {
    std::set<std::string> seen;
    for (const SearchHit& hit : (*index)->Find(words, kMost, {}))
      EXPECT_TRUE(seen.insert(hit.text + "\n" + hit.where).second) << hit.text << ", " << hit.where;
    EXPECT_GE(seen.size(), 3u) << words;
  }
}

TEST_F(SearchOrderTest, EnterGoesToTheModuleInView) {
  Start({Triplets()});
  for (const int32_t module : {2, 0, 1}) {
    session().navigation.Select(Selection::OfModule(module));
    Settle();
    Press("Ctrl+P");
    Type("y");
    Press("Enter");
    EXPECT_EQ(session().navigation.selection().module, module);
    EXPECT_EQ(SelectedName(), "y");
  }
}

// "no matches" is said of what was searched, not of what is being searched.
TEST_F(SearchOrderTest, NothingIsSaidToBeMissingBeforeItWasSearched) {
  Start({Triplets()});
  Press("Ctrl+P");
  const auto says = [](std::string_view what) {
    for (const DrawnText& text : DrawnTexts()) {
      if (text.text == what) return true;
    }
    return false;
  };
  // Looked at when a frame ends.
  bool is_missed = false;
  ImGuiContextHook hook;
  hook.Type = ImGuiContextHookType_EndFramePost;
  std::function<void()> look = [&] { is_missed |= says("no matches"); };
  hook.UserData = &look;
  hook.Callback = [](ImGuiContext*, ImGuiContextHook* of) {
    (*static_cast<std::function<void()>*>(of->UserData))();
  };
  const ImGuiID added = ImGui::AddContextHook(ImGui::GetCurrentContext(), &hook);
  Drive([](ImGuiTestContext* context) { context->KeyChars("y"); });
  ImGui::RemoveContextHook(ImGui::GetCurrentContext(), added);
  EXPECT_FALSE(is_missed);
  EXPECT_FALSE(says("no matches"));
  Type("zq");
  EXPECT_TRUE(says("no matches"));
}

TEST_F(SearchOrderTest, TitlesThatBeginWithTheWordsComeFirstInThePalette) {
  Start({Sample("attention_block")});
  Press("Ctrl+Shift+P");
  Type("comp");
  Press("Enter");
  EXPECT_EQ(app().popups().kind(), Popups::Kind::kCompare) << "Compare with …";
  Press("Escape");
  // A word inside of the title is before one in the description.
  Press("Ctrl+Shift+P");
  Type("passes");
  Press("Enter");
  EXPECT_EQ(app().dock().screen(), "passes") << "Screen Passes";
}

}  // namespace
}  // namespace hloscope::viewer
