// Keys: those of letters reach the panel under the pointer or the one that takes them, arrows move
// the row of a table, and what is selected anywhere is scrolled to.
#include <imgui.h>
#include <imgui_internal.h>
#include <imgui_te_context.h>

#include <filesystem>

#include "core/base/file.h"
#include "tests/viewer/drawn.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/facts/kernel_code.h"
#include "viewer/facts/path_facts.h"
#include "viewer/model/experiment.h"
#include "viewer/widgets/row_cursor.h"

namespace hloscope::viewer {
namespace {

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

class TableKeysTest : public ReadingTest {
 protected:
  void PointAt(std::string_view view) {
    const Dock::Panel& panel = *app().dock().Find(view);
    ASSERT_GT(panel.width, 0) << view;
    Drive([&](ImGuiTestContext* context) {
      context->MouseMoveToPos(ImVec2(panel.x + panel.width / 2, panel.y + panel.height - 12));
    });
  }
  void Focus(std::string_view view) {
    session().requests.Show(view);
    Settle();
    ASSERT_EQ(app().dock().focused_view(), view);
  }
  // Names in the order of the table: the first cells of its CSV, which are quoted.
  std::vector<std::string> Order(std::string_view view) {
    const auto csv = app().dock().Find(view)->view->Export(ExportFormat::kCsv, session());
    std::vector<std::string> names;
    EXPECT_TRUE(csv);
    for (size_t at = csv->find('\n') + 1; at < csv->size(); at = csv->find('\n', at) + 1) {
      names.push_back(csv->substr(at, csv->find(',', at) - at));
      std::erase(names.back(), '"');
    }
    return names;
  }
};

TEST_F(TableKeysTest, LettersReachThePanelThatTakesThem) {
  Start({Sample("conv_net")});
  Press("Ctrl+5");
  const bool& path = session().marks.Of<TimelineMarks>().critical_path;
  // Statistics has the keys, and no P of its own.
  Focus("statistics");
  PointAt("statistics");
  Press("P");
  EXPECT_TRUE(path);
  PointAt("timeline");
  Press("P");
  EXPECT_FALSE(path);
  // The timeline's own letters are its own where it has the keys.
  const std::string zoom = app().dock().Find("timeline")->view->Arrangement();
  Focus("timeline");
  PointAt("code");
  Press("W");
  Press("S");
  Press("W");
  EXPECT_TRUE(session().marks.Of<AskedMachineCode>().kernels.empty()) << "S is no SASS there";
  EXPECT_NE(app().dock().Find("timeline")->view->Arrangement(), zoom);
}

// Of several panels with a command the one in sight has it, whichever the table of views has first.
TEST_F(TableKeysTest, LettersReachThePanelInSight) {
  Start({Sample("conv_net")});
  session().document.CompareWith(Sample("conv_net"));
  Press("Ctrl+5");
  Drive([](ImGuiTestContext* context) {
    context->DockInto("//Kernels###kernels.kernels", "//Timeline###kernels.timeline");
  });
  Focus("kernels");
  ASSERT_EQ(app().dock().Find("timeline")->width, 0) << "Kernels is in front of it";
  Focus("statistics");
  PointAt("statistics");
  const bool before = session().marks.Of<TimelineMarks>().profiles_swapped;
  Press("X");
  EXPECT_NE(session().marks.Of<TimelineMarks>().profiles_swapped, before);
}

TEST_F(TableKeysTest, ValuesAreAskedForFromTheTableOfResults) {
  const std::string path = Scratch("module_0001.jit_f.before_optimizations.txt");
  ASSERT_TRUE(WriteFileAtomically(path,
                                  "HloModule jit_f\nENTRY e {\n  x = f32[4] parameter(0)\n"
                                  "  y = f32[4] negate(x)\n  ROOT z = f32[4] add(y, x)\n}\n"));
  Start({path});
  Press("Ctrl+4");
  app().dock().Find("divergence")->view->SetState("interpreter\ninterpreter\n0\n1");
  Settle();
  Press("F9");
  ClickOn("divergence", "negate");
  EXPECT_EQ(SelectedName(), "y");
  EXPECT_EQ(app().dock().focused_view(), "divergence");
  Press("V");
  EXPECT_TRUE(Has(HighlightedItems("values"), "values of y")) << HighlightedItems("values");
}

// An instruction of another module has the number of a result, and is none.
TEST_F(TableKeysTest, ResultsAreOfTheirModule) {
  const std::string folder = Scratch("two");
  std::filesystem::create_directories(folder);
  for (const std::string name : {"jit_f", "jit_g"}) {
    ASSERT_TRUE(
        WriteFileAtomically(folder + "/module_000" + (name == "jit_f" ? "1." : "2.") + name +
                                ".before_optimizations.txt",
                            "HloModule " + name +
                                "\nENTRY e {\n  x = f32[4] parameter(0)\n  y = f32[4] negate(x)\n"
                                "  w = f32[4] exponential(y)\n  ROOT z = f32[4] add(w, x)\n}\n"));
  }
  Start({folder});
  app().SelectWhenOpen("jit_f:y");
  Press("Ctrl+4");
  app().dock().Find("divergence")->view->SetState("interpreter\ninterpreter\n0\n1");
  Settle();
  Press("F9");
  ASSERT_GE(session().experiment.findings().size(), 3u);
  const auto module = session().navigation.module();
  Focus("divergence");
  app().SelectWhenOpen("jit_g:w");
  Settle();
  ASSERT_EQ(SelectedName(), "w");
  ASSERT_NE(session().navigation.module(), module);
  Press("Down");
  EXPECT_EQ(session().navigation.module(), module);
  EXPECT_EQ(SelectedName(), "y") << "the first row, not the one after w";
}

TEST_F(TableKeysTest, RunReachesItsPanelBehindAnotherTab) {
  const std::string path = Scratch("module_0001.jit_f.before_optimizations.txt");
  ASSERT_TRUE(
      WriteFileAtomically(path, "HloModule jit_f\nENTRY e {\n  ROOT x = f32[4] parameter(0)\n}\n"));
  Start({path});
  Press("Ctrl+4");
  app().dock().Find("divergence")->view->SetState("interpreter\n\n0\n0");
  Focus("verdict");
  Press("F9");
  EXPECT_NE(session().experiment.report(), nullptr);
  EXPECT_EQ(app().dock().focused_view(), "divergence");
}

TEST_F(TableKeysTest, CsvIsOfThePanelUnderThePointerWhereTheOtherHasNone) {
  Start({Sample("conv_net")});
  Press("Ctrl+5");
  Press("Escape");
  ASSERT_EQ(SelectedName(), "nothing");
  Focus("selection");
  PointAt("timeline");
  Press("Ctrl+E");
  ASSERT_EQ(app().popups().kind(), Popups::Kind::kExport) << Messages();
  EXPECT_TRUE(app().popups().text().ends_with("hloscope-timeline.csv")) << app().popups().text();
  Press("Escape");
  // A table that has the keys is meant first.
  Focus("kernels");
  PointAt("timeline");
  Press("Ctrl+E");
  EXPECT_TRUE(app().popups().text().ends_with("hloscope-kernels.csv")) << app().popups().text();
}

TEST_F(TableKeysTest, ArrowsMoveTheRowOfATable) {
  Start({Sample("conv_net")});
  Press("Ctrl+5");
  const std::vector<std::string> order = Order("kernels");
  ASSERT_GE(order.size(), 4u);
  Focus("kernels");
  Press("Escape");
  ASSERT_EQ(SelectedName(), "nothing");
  Press("Down");
  EXPECT_EQ(SelectedName(), order[0]);
  Press("Down");
  EXPECT_EQ(SelectedName(), order[1]);
  Press("Down");
  Press("Up");
  EXPECT_EQ(SelectedName(), order[1]);
  Press("PageUp");
  EXPECT_EQ(SelectedName(), order[0]);
  Press("Up");
  EXPECT_EQ(SelectedName(), order[0]) << "there is none above";
}

// The list that a combo box of the panel has opened is what the arrows are for.
TEST_F(TableKeysTest, AnOpenListKeepsItsArrows) {
  Start({Sample("softmax_passes_a100")});
  Press("Ctrl+3");
  Focus("passes");
  Press("Down");
  const std::string before = HighlightedItems("passes");
  Click("//###passes.passes/##module");
  ASSERT_TRUE(ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup));
  Press("Down");
  Press("PageDown");
  EXPECT_EQ(HighlightedItems("passes"), before);
  Press("Escape");
  Focus("passes");
  Press("Down");
  EXPECT_NE(HighlightedItems("passes"), before);
}

// As does that of Step thread, where the arrows are steps otherwise.
TEST_F(TableKeysTest, AnOpenListOfKernelsKeepsItsArrows) {
  Start({Sample("attention_block_h100")});
  Press("Ctrl+5");
  Focus("thread");
  Click("//###kernels.thread/##kernel");
  ASSERT_TRUE(ImGui::IsPopupOpen("", ImGuiPopupFlags_AnyPopup));
  Press("Down");
  const ImGuiID first = ImGui::GetCurrentContext()->NavId;
  Press("Down");
  EXPECT_NE(ImGui::GetCurrentContext()->NavId, first);
}

TEST_F(TableKeysTest, ATableThatIsScrolledSidewaysStaysSo) {
  surface_ = {.kind = SurfaceKind::kHeadless, .width = 640, .height = 700};
  Start({Sample("conv_net")});
  Press("Ctrl+5");
  const std::vector<std::string> order = Order("kernels");
  ASSERT_GE(order.size(), 4u);
  ImGuiWindow* table = nullptr;
  for (const DrawnText& text : DrawnTexts()) {
    if (Has(text.window, "kernels.kernels") && text.text == order[0])
      table = ImGui::FindWindowByName(text.window.c_str());
  }
  ASSERT_NE(table, nullptr);
  ASSERT_GT(table->ScrollMax.x, 50);
  ImGui::SetScrollX(table, 50);
  Settle();
  for (const std::string& name : {order.back(), order.front()}) {
    app().SelectWhenOpen("jit_conv_net:" + name);
    Settle();
    ASSERT_EQ(SelectedName(), name);
    EXPECT_EQ(table->Scroll.x, 50) << name;
  }
}

// Not in every frame while what stands for the selection is on its way, or is in no row.
TEST_F(TableKeysTest, RowsAreLookedForWhenTheSelectionChanges) {
  Start({Sample("conv_net")});
  constexpr int kRows = 1000;
  RowCursor cursor;
  int looks = 0;
  const auto draw = [&](ImGuiTestContext*) {
    ImGui::SetNextWindowSize({200, 200});
    ImGui::Begin("rows of a test");
    if (ImGui::BeginTable("##rows", 1, ImGuiTableFlags_ScrollY)) {
      Frame frame{.context = session(), .theme = app().theme()};
      const auto look = [&](int) {
        ++looks;
        return false;
      };
      cursor.Draw(frame, {.count = kRows,
                          .is_selected = look,
                          .is_highlighted = {},
                          .choose = [](int) {},
                          .draw =
                              [](int row) {
                                ImGui::TableNextRow();
                                ImGui::TableNextColumn();
                                ImGui::Text("%d", row);
                              }});
      ImGui::EndTable();
    }
    ImGui::End();
  };
  constexpr int kFrames = 40, kFollowed = 3;
  DriveWith(draw, [](ImGuiTestContext* context) { context->Yield(kFrames); });
  EXPECT_GE(looks, kRows);
  // Once more where what stands for the selection is found.
  EXPECT_LE(looks, 2 * kFollowed * kRows);
  looks = 0;
  app().SelectWhenOpen("jit_conv_net:ynn_fusion");
  Settle();
  DriveWith(draw, [](ImGuiTestContext* context) { context->Yield(kFrames); });
  EXPECT_GE(looks, kRows);
  EXPECT_LE(looks, 2 * kFollowed * kRows);
}

TEST_F(TableKeysTest, TablesScrollToWhatIsSelectedElsewhere) {
  Start({Sample("gpt_train_step_h100")});
  Press("Ctrl+5");
  const std::vector<std::string> order = Order("kernels");
  ASSERT_GT(order.size(), 100u);
  const auto is_seen = [&](const std::string& name) {
    for (const DrawnText& text : DrawnTexts()) {
      if (text.window.find("kernels.kernels") != std::string::npos && text.text == name &&
          text.seen.bottom - text.seen.top > text.size / 2)
        return true;
    }
    return false;
  };
  const std::string& last = order.back();
  EXPECT_FALSE(is_seen(last));
  app().SelectWhenOpen("jit_gpt_train_step:" + last);
  Settle();
  ASSERT_EQ(SelectedName(), last);
  EXPECT_TRUE(is_seen(last)) << last;
  // On another screen, and back.
  Press("Ctrl+2");
  app().SelectWhenOpen("jit_gpt_train_step:" + order[order.size() / 2]);
  Settle();
  Press("Ctrl+5");
  EXPECT_TRUE(is_seen(order[order.size() / 2])) << order[order.size() / 2];
}

}  // namespace
}  // namespace hloscope::viewer
