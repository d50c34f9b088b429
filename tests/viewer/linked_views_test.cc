// A click in each view, and what is selected in each other view.
#include <algorithm>
#include <map>

#include "tests/viewer/reading_fixture.h"

namespace hloscope::viewer {
namespace {

constexpr const char *kGpu = "attention_block_h100", *kCpu = "conv_net";

// What must be highlighted once an instruction is selected anywhere: view, and what it says.
using Highlights = std::vector<std::pair<const char*, const char*>>;
const Highlights& HighlightsOfSoftmax() {
  static const Highlights highlights = {
      {"home", "jit_attention_block"},
      {"modules", "jit_attention_block"},
      {"graph", "fusions: triton_softmax.5"},
      {"passes", "shown sm_9.0a_gpu_after_optimizations"},
      {"changes", "selected yes"},
      {"before-after", "after: triton_softmax.5"},
      {"text", "triton_softmax.5 = "},
      {"kernels", "triton_softmax.5\n"},
      {"code", "PTX module_0000.jit_attention_block.13.ptx"},
      {"memory", "triton_softmax.5 "},
      {"selection", "computed by kernel triton_softmax_5"},
  };
  return highlights;
}
const Highlights& HighlightsOfConvolution() {
  static const Highlights highlights = {
      {"home", "jit_conv_net"},
      {"modules", "jit_conv_net"},
      {"graph", "fusions: conv_general_dilated.3"},
      {"passes", "shown cpu_after_optimizations"},
      {"changes", "selected yes"},
      {"before-after", "after: conv_general_dilated.3"},
      {"text", "conv_general_dilated.3 = "},
      {"timeline", "highlighted 20"},
      {"kernels", "conv_general_dilated.3\n"},
      {"roofline", "highlighted conv_general_dilated.3"},
      {"memory", "conv_general_dilated.3 13312"},
      {"selection", "% of the time"},
  };
  return highlights;
}

struct Attempt {
  const char *view, *screen;
  const char* on;                          // what is written there
  const char* kind;                        // what is selected then
  const char* before = "";                 // selected first: MODULE[@STAGE]:INSTRUCTION
  std::vector<const char*> more_before{};  // clicked first, in the same view
  std::optional<float> left{};             // that many pixels before the text
  bool fits = false;                       // what is selected first is brought into view
};

class LinkedViewsTest : public ReadingTest {
 protected:
  void Do(const char* sample, const Attempt& click, const Highlights& highlights) {
    SCOPED_TRACE(click.view);
    Start({});
    ShowPictures();
    app().SelectWhenOpen(click.before);
    app().Open({Sample(sample)});
    app().dock().SetScreen(click.screen);
    Settle();
    app().dock().Find("kernels")->view->SetState(sample == kGpu ? "triton" : "");
    session().bookmarks.push_back({.title = "kept here", .note = "", .selection = Kept()});
    session().requests.Show(click.view);
    Settle();
    if (click.fits) Press("F");
    for (const char* first : click.more_before) ClickOn(click.view, first);
    ClickOn(click.view, click.on, click.left);
    if (HasFatalFailure()) return Stop();
    const Selection selected = session().navigation.selection();
    EXPECT_EQ(ToString(selected.kind), click.kind);
    for (const auto& [view, shown] : highlights) {
      // The text of a line that was clicked is that of its file.
      if (selected.kind == SelectionKind::kTextLine && view == std::string_view("text")) continue;
      session().requests.Show(view);
      Settle();
      EXPECT_NE(HighlightedItems(view).find(shown), std::string::npos) << view << " says\n"
                                                                       << HighlightedItems(view);
      EXPECT_EQ(session().navigation.selection(), selected) << view << " changes what is selected";
    }
    Stop();
  }
  // The bookmark that the panel Notes shows.
  Selection Kept() {
    const int32_t stage = session().document.dump()->FinalStage(0);
    const auto module = session().document.dump()->Module(0, stage);
    for (uint32_t i = 0; module && i < (*module)->instructions().size(); ++i) {
      if ((*module)->name(hlo::InstructionId(i)) == "triton_softmax.5")
        return Selection::OfInstruction(0, stage, hlo::InstructionId(i));
    }
    return {};
  }
};

TEST_F(LinkedViewsTest, LinksViewsOfAGpuDump) {
  const char* user = "jit_attention_block:gemm_fusion_dot.5";  // it reads triton_softmax.5
  const Attempt clicks[] = {
      {"graph", "graph", "triton_softmax.5", "instruction", user},
      {"selection", "graph", "■ triton_softmax.5", "instruction",
       "jit_attention_block:bitcast.43.0"},
      {"notes", "graph", "kept here", "instruction"},
      {"text", "passes", "triton_softmax.5 = ", "instruction", user},
      {"changes",
       "passes",
       "triton_softmax.5 = ",
       "instruction",
       "jit_attention_block@sm_9.0a_gpu_after_optimizations:gemm_fusion_dot.5",
       {"Show unchanged"}},
      {"before-after", "passes", "triton_softmax.5", "instruction", user},
      {"kernels", "kernels", "triton_softmax.5", "instruction"},
      {"code", "kernels", ".visible .entry", "line", "jit_attention_block:triton_softmax.5"},
      {"buffers", "memory", "4.61 kB triton_softmax.5", "buffer", "", {"all values"}},
      {"memory",
       "memory",
       "triton_softmax.5",
       "buffer",
       "jit_attention_block:triton_softmax.5",
       {},
       {},
       true},
  };
  for (const Attempt& click : clicks) Do(kGpu, click, HighlightsOfSoftmax());
}

TEST_F(LinkedViewsTest, LinksViewsOfADumpWithAProfile) {
  const char* it = "jit_conv_net:conv_general_dilated.3";
  const Attempt clicks[] = {
      {"kernels", "kernels", "conv_general_dilated.3", "instruction"},
      {"statistics", "kernels", "conv_general_dilated.3", "event"},
      {"timeline", "kernels", "conv_general_dilated.3", "event", it, {}, {}, true},
      {"roofline", "kernels", "conv_general_dilated.3", "instruction", it, {}, 8},
      {"buffers", "memory", "13.3 kB conv_general_dilated.3", "buffer", "", {"all values"}},
      {"peak-scopes", "memory", "conv_general_dilated.3  13.3 kB", "buffer"},
      {"graph", "graph", "conv_general_dilated.3", "instruction", it},
  };
  for (const Attempt& click : clicks) Do(kCpu, click, HighlightsOfConvolution());
}

// A stage or module selects no instruction: every view shows that stage.
TEST_F(LinkedViewsTest, OfAStage) {
  struct Row {
    const char *view, *screen, *on;
  };
  for (const Row& row : {Row{"modules", "kernels", "before_config_assignment"},
                         Row{"passes", "passes", "before_config_assignment"}}) {
    SCOPED_TRACE(row.view);
    Start({Sample("attention_block_h100")});
    app().dock().SetScreen(row.screen);
    Settle();
    ClickOn(row.view, row.on);
    EXPECT_EQ(session().navigation.selection(), Selection::OfStage(0, 2));
    session().requests.Show("passes");
    Settle();
    EXPECT_EQ(HighlightedItems("passes"), "shown before_config_assignment");
    ExpectSeen("changes", "before_config_assignment");
    session().requests.Show("text");
    Settle();
    ExpectSeen("text", "HloModule jit_attention_block");
    Stop();
  }
}

TEST_F(LinkedViewsTest, OfAFindingOfTheLab) {
  Start({Sample("mlp_train_step")});
  Press("Ctrl+4");
  app().dock().Find("divergence")->view->SetState("interpreter\ninterpreter\n0\n1");
  Press("F9");
  ASSERT_FALSE(session().experiment.findings().empty());
  const hlo::InstructionId first = session().experiment.findings().front().instruction;
  const std::string name(session().experiment.module()->name(first));
  ClickOn("divergence", name);
  EXPECT_EQ(SelectedName(), name);
  session().requests.Show("values");
  Settle();
  Press("V");
  EXPECT_NE(HighlightedItems("values").find("values of " + name), std::string::npos)
      << HighlightedItems("values");
  session().requests.Show("graph");
  Settle();
  EXPECT_NE(HighlightedItems("graph").find(": " + name), std::string::npos)
      << HighlightedItems("graph");
}

// What selects is clicked above; what does not is named here, so that no view is forgotten.
TEST_F(LinkedViewsTest, EveryViewIsCovered) {
  const std::vector<std::string_view> covered = {
      "graph",      "selection", "notes",   "text",       "changes",     "before-after",
      "kernels",    "code",      "buffers", "memory",     "timeline",    "passes",
      "statistics", "roofline",  "modules", "divergence", "peak-scopes",
      "source",     // source_test.cc
      "home",       // behaviour_test.cc, tasks_test.cc
      "verdict",    // verdict_test.cc
      "values",     // shows, and selects nothing
      "pinned",     // values_test.cc
      "curve",      // lab_test.cc
      "reducer",    // lab_test.cc; selects nothing
      "two-dumps",  // two_dumps_test.cc
      "what-if",    // what_if_test.cc
      "thread",     // simulated_test.cc; selects nothing
  };
  for (const ViewRow& row : ViewRows())
    EXPECT_NE(std::ranges::find(covered, row.id), covered.end()) << row.id;
}

}  // namespace
}  // namespace hloscope::viewer
