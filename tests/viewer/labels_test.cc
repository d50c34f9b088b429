// What is written in the window is of the module, stage and dump in view, after each change of
// these, and of nothing that was in view before.
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_te_context.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "core/base/file.h"
#include "tests/viewer/drawn.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/facts/missing_files.h"
#include "viewer/frame/path_completion.h"

namespace hloscope::viewer {
namespace {

constexpr const char* kGraphWindow = "//###graph.graph";

// A module of as many instructions as the others, so that each has the number of another.
std::string ModuleText(std::string_view name, std::string_view prefix, int size) {
  std::string out = "HloModule " + std::string(name) + "\n\nENTRY main {\n";
  const std::string shape = "f32[" + std::to_string(size) + "]";
  out += "  " + std::string(prefix) + "_in = " + shape + " parameter(0)\n";
  out +=
      "  " + std::string(prefix) + "_one = " + shape + " negate(" + std::string(prefix) + "_in)\n";
  out += "  ROOT " + std::string(prefix) + "_two = " + shape + " add(" + std::string(prefix) +
         "_one, " + std::string(prefix) + "_in)\n}\n";
  return out;
}

class LabelsTest : public ReadingTest {
 protected:
  void Write(const std::string& folder, const std::string& file, const std::string& text) {
    std::filesystem::create_directories(Scratch(folder));
    std::ofstream(Scratch(folder + "/" + file)) << text;
  }
  // Two modules of two stages each; the first has the larger files, and so is in view.
  std::string TwoModules() {
    Write("dump", "module_0000.first.before_optimizations.txt", ModuleText("first", "alpha", 11));
    Write("dump", "module_0000.first.cpu_after_optimizations.txt",
          ModuleText("first", "beta", 12) + std::string(100, '\n'));
    Write("dump", "module_0001.second.before_optimizations.txt", ModuleText("second", "gamma", 13));
    Write("dump", "module_0001.second.cpu_after_optimizations.txt",
          ModuleText("second", "delta", 14));
    return Scratch("dump");
  }
  bool IsSeen(std::string_view view, std::string_view text) {
    return FindSeen(Seen(view), text).has_value();
  }
  // The pictures show these, with the shape of that size, and none of the others.
  void ExpectGraph(const std::vector<std::string>& prefixes, const std::vector<int>& sizes) {
    for (const char* prefix : {"alpha", "beta", "gamma", "delta", "other"}) {
      const bool is_wanted = std::ranges::find(prefixes, prefix) != prefixes.end();
      EXPECT_EQ(IsSeen("graph", std::string(prefix) + "_two"), is_wanted)
          << prefix << "\n"
          << SeenLines(Seen("graph"));
    }
    for (int size = 11; size < 16; ++size) {
      const bool is_wanted = std::ranges::find(sizes, size) != sizes.end();
      EXPECT_EQ(IsSeen("graph", "f32[" + std::to_string(size) + "]"), is_wanted)
          << size << "\n"
          << SeenLines(Seen("graph"));
    }
  }
};

// The pictures are of the first stage and the compiled one, whichever the texts show.
TEST_F(LabelsTest, BoxesAreNamedAfterTheModuleAndDumpInView) {
  Start({TwoModules()});
  Press("Ctrl+2");
  ExpectGraph({"alpha", "beta"}, {11, 12});
  session().navigation.Select(Selection::OfStage(0, 0));
  Settle();
  ExpectGraph({"alpha", "beta"}, {11, 12});
  session().navigation.Select(Selection::OfModule(1));
  Settle();
  ExpectGraph({"gamma", "delta"}, {13, 14});
  session().navigation.Select(Selection::OfStage(1, 0));
  Settle();
  ExpectGraph({"gamma", "delta"}, {13, 14});
  session().navigation.Select(Selection::OfStage(0, 1));
  Settle();
  ExpectGraph({"alpha", "beta"}, {11, 12});
  Write("next", "module_0000.first.cpu_after_optimizations.txt", ModuleText("first", "other", 15));
  app().Open({Scratch("next")});
  Settle();
  app().dock().SetScreen("graph");
  Settle();
  ExpectGraph({"other"}, {15});
}

TEST_F(LabelsTest, TheCameraOfTheDumpBeforeIsGone) {
  Start({TwoModules()});
  Press("Ctrl+2");
  // Far away from everything.
  Drive([](ImGuiTestContext* context) {
    const ImGuiTestItemInfo info = context->ItemInfo("//###graph.graph/**/##fusions");
    for (int k = 0; k < 6; ++k) {
      context->MouseMoveToPos(info.RectFull.GetCenter());
      context->MouseDragWithDelta(ImVec2(0, info.RectFull.GetHeight() * 0.45f));
    }
  });
  EXPECT_FALSE(IsSeen("graph", "beta_two"));
  Write("next", "module_0000.first.cpu_after_optimizations.txt", ModuleText("first", "other", 15));
  app().Open({Scratch("next")});
  Settle();
  app().dock().SetScreen("graph");
  Settle();
  EXPECT_TRUE(IsSeen("graph", "other_two")) << SeenLines(Seen("graph"));
}

TEST_F(LabelsTest, TooltipsKeepTheirLines) {
  Start({TwoModules()});
  Press("Ctrl+2");
  const std::optional<SeenAt> at = FindSeen(Seen("graph"), "beta_one");
  ASSERT_TRUE(at.has_value()) << SeenLines(Seen("graph"));
  // Outside the test engine, which takes the pointer away when it is done.
  ImGui::GetIO().AddMousePosEvent(at->x, at->y);
  int frames = 0;
  DrawUntil([&] { return ++frames > 90; });
  const std::string seen = SeenLines(Seen("window"));
  EXPECT_TRUE(IsSeen("window", "operands: beta_in")) << seen;
  EXPECT_EQ(seen.find("\\x0a"), std::string::npos) << seen;
}

// The first hit would be below it.
TEST_F(LabelsTest, AFieldThatIsTypedInHasNoTooltip) {
  Start({Sample("conv_net")});
  for (const char* keys : {"Ctrl+P", "Ctrl+Shift+P", "F1", "Ctrl+O", "Ctrl+D"}) {
    ImGui::GetIO().AddMousePosEvent(1590, 990);
    Press(keys);
    ASSERT_TRUE(ImGui::GetIO().WantTextInput) << keys;
    int frames = 0;
    DrawUntil([&] { return ++frames > 90; });
    EXPECT_EQ(DrawnTooltip(), "") << keys;
    Press("Escape");
  }
}

TEST_F(LabelsTest, DeselectingStaysInTheModule) {
  Start({TwoModules()});
  session().navigation.Select(Selection::OfModule(1));
  Press("Ctrl+2");
  ExpectGraph({"gamma", "delta"}, {13, 14});
  Press("Escape");
  EXPECT_EQ(session().navigation.selection(), Selection());
  EXPECT_EQ(session().navigation.module(), 1);
  ExpectGraph({"gamma", "delta"}, {13, 14});
}

TEST_F(LabelsTest, AMistypedPathLeavesTheDumpOpen) {
  Start({TwoModules()});
  Press("Ctrl+O");
  Type(Scratch("dunp"));
  Press("Enter");
  Settle();
  EXPECT_TRUE(session().document.dump().ready());
  EXPECT_EQ(session().document.path(), Scratch("dump"));
  // The question stays, and says why.
  EXPECT_EQ(app().popups().kind(), Popups::Kind::kOpen);
  EXPECT_NE(app().popups().refusal().find("dunp"), std::string::npos);
}

TEST_F(LabelsTest, PathsAreCompleted) {
  std::filesystem::create_directories(Scratch("paths/dump_one"));
  std::filesystem::create_directories(Scratch("paths/dump_two"));
  ASSERT_TRUE(WriteFileAtomically(Scratch("paths/Dumpling.txt"), "x"));
  ASSERT_TRUE(WriteFileAtomically(Scratch("paths/.hidden"), "x"));
  const auto all = CompletionsOf(Scratch("paths/"), 10);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0], Scratch("paths/dump_one/"));
  EXPECT_EQ(all[2], Scratch("paths/Dumpling.txt"));
  EXPECT_EQ(CompletionsOf(Scratch("paths/dump_t"), 10).size(), 1u);
  EXPECT_EQ(CompletionsOf(Scratch("paths/"), 2).size(), 2u);
  EXPECT_EQ(CommonBeginning(Scratch("paths/d"), CompletionsOf(Scratch("paths/dump_"), 10)),
            Scratch("paths/dump_"));
  EXPECT_TRUE(CompletionsOf(Scratch("nowhere/x"), 10).empty());
}

TEST_F(LabelsTest, FoldingAndZoomAreUndone) {
  Start({Sample("attention_block_h100")});
  ShowPictures();
  Press("Ctrl+2");
  Drive([](ImGuiTestContext* context) { context->WindowFocus(kGraphWindow); });
  const std::string at_first = HighlightedItems("graph");
  Press("Shift+Enter");
  const std::string unfolded = HighlightedItems("graph");
  ASSERT_NE(unfolded, at_first);
  Press("=");
  ASSERT_NE(HighlightedItems("graph"), unfolded);
  Press("Ctrl+Z");
  EXPECT_EQ(HighlightedItems("graph"), unfolded);
  Press("Ctrl+Z");
  EXPECT_EQ(HighlightedItems("graph"), at_first);
  Press("Ctrl+Y");
  EXPECT_EQ(HighlightedItems("graph"), unfolded);
}

// A step that cannot be taken back holds up none before it.
TEST_F(LabelsTest, UndoIsNeverTrapped) {
  Start({Sample("conv_net")});
  Press("Ctrl+T");
  ASSERT_FALSE(app().theme().dark());
  Press("Ctrl+5");
  Drive([](ImGuiTestContext* context) {
    context->WindowFocus("//###kernels.timeline");
    context->MouseMove("//###kernels.timeline/##lanes");
    context->MouseWheelY(3);
  });
  for (int step = 0; step < 6 && !app().theme().dark(); ++step) Press("Ctrl+Z");
  EXPECT_TRUE(app().theme().dark());
}

TEST_F(LabelsTest, FindIsNowhereDead) {
  Start({TwoModules()});
  // The graph has a search of its own: every hit is highlighted.
  Press("Ctrl+2");
  Drive([](ImGuiTestContext* context) { context->WindowFocus(kGraphWindow); });
  Press("Ctrl+F");
  Type("two");
  EXPECT_EQ(app().popups().kind(), Popups::Kind::kNone);
  EXPECT_NE(HighlightedItems("graph").find("found 1"), std::string::npos)
      << HighlightedItems("graph");
  Press("Escape");
  // Where a view has none, everything is searched.
  Press("Ctrl+6");
  Drive([](ImGuiTestContext* context) { context->WindowFocus("//###memory.memory"); });
  Press("Ctrl+F");
  EXPECT_EQ(app().popups().kind(), Popups::Kind::kSearch);
  Type("gamma_two");
  Press("Enter");
  EXPECT_EQ(SelectedName(), "gamma_two");
  // The next search begins anew.
  Press("Ctrl+P");
  EXPECT_EQ(app().popups().text(), "");
  EXPECT_TRUE(app().popups().hits().empty());
  Type("beta_one");
  Press("Enter");
  EXPECT_EQ(SelectedName(), "beta_one");
}

TEST_F(LabelsTest, FunctionKeysNeedNoFocus) {
  Start({TwoModules()});
  Press("Ctrl+4");
  Drive([](ImGuiTestContext* context) { context->WindowFocus("//###divergence.modules"); });
  ASSERT_EQ(app().dock().focused_view(), "modules");
  app().dock().Find("divergence")->view->SetState("interpreter\ninterpreter\n0\n0");
  Press("F9");
  EXPECT_NE(session().experiment.report(), nullptr);
}

// The picture with the keys is one that is shown.
TEST_F(LabelsTest, AHiddenPictureTakesNoKeys) {
  Start({TwoModules()});
  Press("Ctrl+2");
  Drive([](ImGuiTestContext* context) {
    const ImGuiTestItemInfo info = context->ItemInfo("//###graph.graph/**/##source");
    context->MouseMoveToPos(info.RectFull.GetCenter());
    context->MouseDragWithDelta(ImVec2(20, 20));
  });
  Press("1");  // the source graph, which had the keys, is hidden
  Press("Down");
  EXPECT_EQ(SelectedName().substr(0, 4), "beta");
}

TEST_F(LabelsTest, TheNeighbourhoodOfAGroupIsOfAllInIt) {
  Start({Sample("attention_block_h100")});
  Press("Ctrl+2");
  Drive([](ImGuiTestContext* context) { context->WindowFocus(kGraphWindow); });
  const hlo::Module& module = *session().data.Module(0, session().navigation.stage());
  hlo::InstructionId fusion;
  for (uint32_t k = 0; k < module.entry().instruction_count && !fusion.valid(); ++k) {
    const hlo::InstructionId id(module.entry().first_instruction + k);
    if (module[id].opcode == hlo::Opcode::kFusion) fusion = id;
  }
  const hlo::ComputationId body = module.CalledComputations(module[fusion])[0];
  session().navigation.Select(
      Selection::OfInstruction(0, session().navigation.stage(), module[body].root));
  Settle();
  Drive([](ImGuiTestContext* context) { context->WindowFocus(kGraphWindow); });
  Press("N");
  // The fusion is closed: what lies around it is asked for, not what lies inside.
  EXPECT_NE(HighlightedItems("graph").find("around"), std::string::npos)
      << HighlightedItems("graph");
  EXPECT_TRUE(IsSeen("graph", module.name(fusion))) << SeenLines(Seen("graph"));
}

// TensorFlow runs what it left outside the clusters, whatever XLA did with the module.
TEST_F(LabelsTest, NodesOutsideTheClustersAreNotOnTheDevice) {
  Write("tf", "module_0000.cluster_0.sm_9.0_gpu_after_optimizations.txt",
        "HloModule cluster_0, is_scheduled=true\n\nENTRY e {\n  ROOT p = f32[4] parameter(0)\n}\n");
  Write("tf", "mark_for_compilation_1.pbtxt",
        "node {\n  name: \"a\"\n  op: \"Unique\"\n  device: \"/job:w/device:GPU:0\"\n}\n"
        "node {\n  name: \"b\"\n  op: \"StringLength\"\n  device: \"/job:w/device:GPU:0\"\n}\n");
  Start({Scratch("tf")});
  EXPECT_TRUE(IsSeen("home", "2 TensorFlow nodes run outside all clusters"))
      << SeenLines(Seen("home"));
  EXPECT_FALSE(IsSeen("home", "nothing: every instruction")) << SeenLines(Seen("home"));
}

// PyTorch/XLA runs on the host what it does not lower, in no module.
TEST_F(LabelsTest, WhatPyTorchRanOnTheHostIsNotOnTheDevice) {
  Write("torch", "module_0000.SyncTensorsGraph.3.cpu_after_optimizations.txt",
        "HloModule SyncTensorsGraph.3, is_scheduled=true\n\nENTRY e {\n  ROOT p = f32[4] "
        "parameter(0)\n}\n");
  Write("torch", "hloscope-record.json",
        "{\"framework\":\"PyTorch/XLA\",\"version\":\"2.9.0\",\"exit\":0,"
        "\"host_fallbacks\":{\"aten::i0\":1,\"aten::nonzero\":4}}\n");
  Start({Scratch("torch")});
  EXPECT_TRUE(IsSeen("home",
                     "no instruction of this module, but PyTorch/XLA ran aten::i0, "
                     "aten::nonzero there"))
      << SeenLines(Seen("home"));
}

// Each operation once, and a damaged bundle in the folder hides none.
TEST_F(LabelsTest, HostFallbacksOfSeveralProcessesBesideADamagedBundle) {
  Write("two", "module_0000.SyncTensorsGraph.3.cpu_after_optimizations.txt",
        "HloModule SyncTensorsGraph.3, is_scheduled=true\n\nENTRY e {\n  ROOT p = f32[4] "
        "parameter(0)\n}\n");
  Write("two", "hloscope-record.json",
        "{\"framework\":\"PyTorch/XLA\",\"version\":\"2.9.0\",\"exit\":0,"
        "\"host_fallbacks\":{\"aten::nonzero\":4}}\n");
  Write("two", "stderr.log", "Counter: aten::nonzero\n  Value: 4\n");
  Write("two", "damaged.hlob", "PK\x03\x04");
  Start({Scratch("two")});
  EXPECT_TRUE(IsSeen("home", "PyTorch/XLA ran aten::nonzero there")) << SeenLines(Seen("home"));
}

// The window says of a run what `info` says: its errors, TensorFlow's sentence, who wrote it.
TEST_F(LabelsTest, HomeTellsOfTheRun) {
  const std::string module =
      "HloModule m, is_scheduled=true\n\nENTRY e {\n  ROOT p = f32[4] parameter(0)\n}\n";
  Write("run", "module_0000.cluster_0.sm_9.0_gpu_after_optimizations.txt", module);
  Write("run", "mark_for_compilation_1.pbtxt",
        "node {\n  name: \"a\"\n  op: \"Unique\"\n  device: \"/job:w/device:GPU:0\"\n}\n"
        "node {\n  name: \"b\"\n  op: \"StringLength\"\n  device: \"/job:w/device:GPU:0\"\n}\n");
  Write("run", "stderr.log",
        "Traceback (most recent call last):\n  File \"train.py\", line 4, in <module>\n    f(x)\n"
        "jaxlib._jax.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 40000000000 "
        "bytes.\n");
  Start({Scratch("run")});
  const std::string seen = SeenLines(Seen("home"));
  EXPECT_TRUE(IsSeen("home", "1 error in the log of the run: train.py:4: out_of_memory")) << seen;
  EXPECT_TRUE(IsSeen("home", "error: train.py:4: out_of_memory")) << seen;
  EXPECT_FALSE(IsSeen("home", "no problems found")) << seen;
  const auto graphs = session().document.dump()->TensorFlow();
  ASSERT_TRUE(graphs && !(*graphs)->verdict.sentence.empty());
  EXPECT_TRUE(IsSeen("home", "TensorFlow: " + (*graphs)->verdict.sentence.substr(0, 40))) << seen;
}

TEST_F(LabelsTest, HomeTellsOfABundle) {
  Start({Sample("faults/bits.hlob")});
  session().requests.Show("home");
  Settle();
  const std::string seen = SeenLines(Seen("home"));
  EXPECT_TRUE(IsSeen("home", "the bundle's run: no verdict: the xla-cpu worker was killed"))
      << seen;
  EXPECT_TRUE(IsSeen("home", "run with: --platform xla-cpu")) << seen;
  EXPECT_FALSE(IsSeen("home", "no problems found")) << seen;
  EXPECT_FALSE(IsSeen("home", "no known file is missing")) << seen;
}

TEST_F(LabelsTest, HomeTellsThatSeveralProcessesWrote) {
  const std::string module = "HloModule m\n\nENTRY e {\n  ROOT p = f32[4] parameter(0)\n}\n";
  for (const char* name : {"a", "b"})
    Write("two", fmt::format("module_0000.{}.before_optimizations.txt", name), module);
  Start({Scratch("two")});
  EXPECT_TRUE(IsSeen("home", "written by 2 processes into one folder")) << SeenLines(Seen("home"));
}

// A module's proto may hold the buffer assignment that no text file holds.
TEST_F(LabelsTest, WhatIsToldElsewhereIsNotMissing) {
  Start({TwoModules()});
  const auto misses = [this](const ModuleFacts* facts, std::string_view what) {
    return std::ranges::count(MissingFor(*session().document.dump(), 0, facts), what,
                              &dump::MissingPiece::what) > 0;
  };
  ModuleFacts facts;
  EXPECT_TRUE(misses(&facts, "buffer assignment"));
  EXPECT_TRUE(misses(&facts, "live ranges"));
  facts.memory_bytes = 10;
  EXPECT_FALSE(misses(&facts, "buffer assignment"));
  facts.live_peak_bytes = 10;
  EXPECT_FALSE(misses(&facts, "live ranges"));
}

TEST_F(LabelsTest, AllGraphsThatAreShownAreExported) {
  Start({TwoModules()});
  Press("Ctrl+2");
  View& graph = *app().dock().Find("graph")->view;
  const std::string all = graph.Export(ExportFormat::kSvg, session()).value_or("");
  for (const char* part :
       {"What you wrote: before_optimizations", "What was fused: cpu_after_optimizations",
        "Where it runs: cpu_after_optimizations", ">alpha_two<", ">beta_two<"})
    EXPECT_NE(all.find(part), std::string::npos) << part;
  Drive([](ImGuiTestContext* context) { context->WindowFocus(kGraphWindow); });
  Press("1");
  EXPECT_EQ(graph.Export(ExportFormat::kSvg, session()).value_or("").find("What you wrote: "),
            std::string::npos);
}

// Where the window is small the way to the selection ends before the search field.
TEST_F(LabelsTest, NothingLiesUnderTheSearchField) {
  surface_.width = 1024;
  surface_.height = 700;
  Start({Sample("softmax_passes_a100")});
  Press("Ctrl+P");
  Type("triton_softmax.2");
  Press("Enter");
  const std::optional<SeenAt> search = FindSeen(Seen("window"), "Search Ctrl+P");
  ASSERT_TRUE(search.has_value()) << SeenLines(Seen("window"));
}

}  // namespace
}  // namespace hloscope::viewer
