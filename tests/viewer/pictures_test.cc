// The three pictures and their sentence: what is fitted, marked, said and hidden.
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_te_context.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <unordered_set>

#include "core/base/file.h"
#include "core/debug/run/run_recorder.h"
#include "core/dump/dump_model.h"
#include "core/graph/kernel_work.h"
#include "core/graph/overview.h"
#include "core/replay/host_fallbacks.h"
#include "tests/viewer/drawn.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/facts/host_runs.h"
#include "viewer/graph/graph_data.h"
#include "viewer/model/bookmark.h"

namespace hloscope::viewer {
namespace {

class PicturesTest : public ReadingTest {
 protected:
  void Show(const char* sample) {
    Start({Sample(sample)});
    ShowPictures();
    Press("Ctrl+2");
    Settle();
  }
  std::string State() { return app().dock().Find("graph")->view->State(); }
  float Width(std::string_view view) { return app().dock().Find(view)->width; }
};

TEST_F(PicturesTest, OpenWithTheSentenceAndTheMostTellingKernel) {
  Show("attention_block_h100");
  ExpectSeen("graph", "What you wrote: before_optimizations");
  ExpectSeen("graph", "What was fused: ");
  ExpectSeen("graph", "Where it runs: ");
  ExpectSeen("graph", "operations → ");
  ExpectSeen("graph", "nothing on the host");
  ExpectSeen("graph", "Kernel: " + SelectedName());
  // Undoing what the program chose is no step of the user's.
  EXPECT_FALSE(SelectedName().empty());
  ExpectSeen("graph", "one colour per kernel");  // of the legend
  ExpectSeen("graph", "boxes without code");
}

TEST_F(PicturesTest, TheGraphDoesNotWaitForItsSentence) {
  Start({});
  Press("Ctrl+2");
  app().Open({Sample("attention_block_h100")});
  ASSERT_TRUE(DrawUntil([this] { return !HighlightedItems("graph").empty(); }));
  // What is suggested is known with the sentence, which is counted after the graph is there.
  EXPECT_EQ(session().navigation.selection().kind, SelectionKind::kNothing);
  Settle();
  ExpectSeen("graph", "operations → ");
  EXPECT_FALSE(SelectedName().empty());
}

// A loop whose body hands an instruction over to the host, and a profile that says so.
constexpr std::string_view kHandedOver = R"(HloModule handed
body {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[8] get-tuple-element(s), index=1
  one = s32[] constant(1)
  n = s32[] add(i, one)
  y = f32[8,1] reshape(x)
  o = f32[1] constant({0})
  c = f32[8,1] custom-call(y, o, y), custom_call_target="cusolver_ormqr_ffi"
  d = f32[8] reshape(c)
  ROOT t = (s32[], f32[8]) tuple(n, d)
}
cond {
  s = (s32[], f32[8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  three = s32[] constant(3)
  ROOT l = pred[] compare(i, three), direction=LT
}
ENTRY e {
  z = s32[] constant(0)
  a = f32[8] parameter(0)
  in = (s32[], f32[8]) tuple(z, a)
  w = (s32[], f32[8]) while(in), condition=cond, body=body
  v = f32[8] get-tuple-element(w), index=1
  ROOT r = f32[8] multiply(v, v)
}
)";

TEST_F(PicturesTest, WhatRanOnTheHostInARecordedRunIsMarked) {
  const std::string path = Scratch("file.hlo"), profile = Scratch("handed.hloprof");
  ASSERT_TRUE(WriteFileAtomically(path, kHandedOver).has_value());
  auto dump = dump::DumpModel::Open(path, Limits{});
  ASSERT_TRUE(dump) << dump.error().ToString();
  auto module = (*dump)->Module(0, 0);
  ASSERT_TRUE(module) << module.error().ToString();
  debug::RunRecorder recorder;
  const uint32_t program = recorder.AddProgram(*module, "gpu", false);
  recorder.BeginRun(program);
  replay::RunEvent slice = replay::TraceSlice{"c", std::string(replay::kFallbackLane), 1000, 500};
  EXPECT_TRUE(recorder.Take(program, slice));
  replay::RunEvent told = replay::RunFallback{"c", "custom-call", "a reason", "why", 192, 2.5};
  recorder.Take(program, told);
  Jobs jobs(1);
  const auto made = recorder.Finish(jobs);
  ASSERT_TRUE(made.has_value()) << made.error().ToString();
  ASSERT_TRUE(profiler::WriteProfile({**made, nullptr, profile}).has_value());

  Start({path});
  Press("Ctrl+2");
  Settle();
  EXPECT_EQ(HighlightedItems("graph").find("ran on the host"), std::string::npos)
      << HighlightedItems("graph");
  Stop();
  Start({path, profile});
  Press("Ctrl+2");
  Settle();
  EXPECT_NE(HighlightedItems("graph").find("ran on the host: 1\n"), std::string::npos)
      << HighlightedItems("graph");
  ExpectSeen("graph", "1 ran on the host in a recorded run");  // the sentence
  // On the box of the loop that has it.
  const auto is_drawn = [](std::string_view text) {
    const std::vector<DrawnText> all = DrawnTexts();
    return std::ranges::find(all, text, &DrawnText::text) != all.end();
  };
  EXPECT_TRUE(is_drawn(kPartRanOnHost));
  app().SelectWhenOpen("file:c");
  app().Open({path, profile});
  Settle();
  ExpectSeen("selection", "ran on the host in the run of handed on");
  EXPECT_NE(HighlightedItems("selection").find("a reason, 192 bytes moved, 2.5 us: why"),
            std::string::npos)
      << HighlightedItems("selection");
}

TEST_F(PicturesTest, AGraphComesWithItsKernels) {
  auto dump = dump::DumpModel::Open(Sample("attention_block_h100"), Limits{});
  ASSERT_TRUE(dump) << dump.error().ToString();
  auto module = (*dump)->Module(0, (*dump)->FinalStage(0));
  ASSERT_TRUE(module) << module.error().ToString();
  const auto place = [&] { return analysis::PlacementIn(**dump, 0, **module); };
  auto data = MakeGraphData(*module, GraphPart(), place);
  auto again = MakeGraphData(*module, GraphPart(), place);
  ASSERT_TRUE(data && again);
  const graph::KernelMap map = graph::MapKernels(**module, place());
  EXPECT_EQ((*data)->kernels->map.kernel_of, map.kernel_of);
  EXPECT_EQ((*data)->kernels->lanes, graph::MakeOverview(**module, **module, place()).lanes);
  EXPECT_EQ((*data)->kernels->members.Of(0).size(),
            static_cast<size_t>(std::ranges::count(map.kernel_of, 0u)));
  // The same picture every time, whichever thread is first.
  const graph::Picture &a = (*data)->graph.picture(), &b = (*again)->graph.picture();
  EXPECT_EQ(a.points, b.points);
  EXPECT_TRUE(std::ranges::equal(a.boxes, b.boxes, [](const graph::Box& x, const graph::Box& y) {
    return x.node == y.node && x.x == y.x && x.y == y.y && x.width == y.width;
  }));
}

TEST_F(PicturesTest, ManyAreFoundAsOneByOne) {
  auto dump = dump::DumpModel::Open(Sample("attention_block_h100"), Limits{});
  ASSERT_TRUE(dump) << dump.error().ToString();
  auto module = (*dump)->Module(0, (*dump)->FinalStage(0));
  ASSERT_TRUE(module) << module.error().ToString();
  auto data = MakeGraphData(*module, GraphPart(),
                            [&] { return analysis::PlacementIn(**dump, 0, **module); });
  ASSERT_TRUE(data) << data.error().ToString();
  TaskControl control;
  for (const char* text : {"", "FUSION", "gemm", "p"}) {
    auto hits = FindHits(**module, text, control);
    ASSERT_TRUE(hits);
    EXPECT_FALSE((*hits)->instructions.empty()) << text;
    // Closed, then with every third box opened.
    for (int round = 0; round < 2; ++round) {
      std::unordered_set<uint32_t> one_by_one, all;
      for (hlo::InstructionId id : (*hits)->instructions) {
        if (auto node = (*data)->NodeOf(id, false); node.valid()) one_by_one.insert(node.index);
      }
      (*data)->AddNodesOf((*hits)->instructions, all);
      EXPECT_EQ(all, one_by_one) << text;
      const std::vector<graph::Box> boxes = (*data)->graph.picture().boxes;
      for (size_t k = 0; k < boxes.size(); k += 3) (*data)->graph.Open(boxes[k].node);
    }
  }
}

TEST_F(PicturesTest, WhatIsSelectedIsNotTakenAway) {
  Start({});
  app().SelectWhenOpen("jit_attention_block:gemm_fusion_dot.5");
  app().Open({Sample("attention_block_h100")});
  Settle();
  Press("Ctrl+2");
  Settle();
  EXPECT_EQ(SelectedName(), "gemm_fusion_dot.5");
}

// A program of more boxes than can be read is shown as rows, which sum up to what the sentence
// says.
TEST_F(PicturesTest, ALargeProgramIsATableOfContents) {
  Start({Sample("attention_block_h100")});
  Press("Ctrl+2");
  Settle();
  ExpectSeen("graph", "104 operations → 14 kernels");
  EXPECT_NE(HighlightedItems("graph").find(" rows"), std::string::npos);
  // By function and line, as nothing has a scope.
  ClickOn("graph", "attention_block:57–60");
  ExpectSeen("graph", "gemm_fusion_dot.5");
  const auto csv = app().dock().Find("graph")->view->Export(ExportFormat::kCsv, session());
  ASSERT_TRUE(csv.has_value());
  int operations = 0, kernels = 0;
  std::istringstream lines(*csv);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("0,")) continue;
    const size_t end = line.rfind('"') + 2;
    int inside = 0, launches = 0;
    ASSERT_EQ(std::sscanf(line.c_str() + end, "%d,%d", &inside, &launches), 2) << line;
    operations += inside;
    kernels += launches;
  }
  EXPECT_EQ(operations, 104) << *csv;
  EXPECT_EQ(kernels, 14) << *csv;
  Press("4");
  EXPECT_EQ(HighlightedItems("graph").find(" rows"), std::string::npos);
  EXPECT_EQ(State().back(), '0');
}

// What is one call, as of shard_map, has its scopes inside.
TEST_F(PicturesTest, AProgramThatIsOneCallOpensWithItsScopes) {
  const auto chain = [](const std::string& front) {
    std::string text = "  x0 = f32[8] parameter(0)\n";
    for (int k = 1; k <= 80; ++k)
      text += fmt::format("  {}x{} = f32[8] tanh(x{}), metadata={{op_name=\"{}half_{}/tanh\"}}\n",
                          k == 80 ? "ROOT " : "", k, k - 1, front, k / 41);
    return text;
  };
  const std::string stem = Scratch("whole") + "/module_0001.jit_f.";
  std::filesystem::create_directories(Scratch("whole"));
  std::ofstream(stem + "before_optimizations.txt")
      << "HloModule jit_f\n\nbody {\n"
      << chain("")
      << "}\n\nENTRY main {\n  p = f32[8] parameter(0)\n  ROOT c = f32[8] call(p), to_apply=body, "
         "metadata={op_name=\"jit(f)/shard_map\"}\n}\n";
  std::ofstream(stem + "sm_9.0_gpu_after_optimizations.txt")
      << "HloModule jit_f, is_scheduled=true\n\nENTRY main {\n"
      << chain("jit(f)/shard_map/") << "}\n";
  Start({Scratch("whole")});
  Press("Ctrl+2");
  Settle();
  ExpectSeen("graph", "80 operations → 80 kernels");
  ExpectSeen("graph", "shard_map");
  for (const char* scope : {"half_0", "half_1"}) ExpectSeen("graph", scope);
  ExpectSeen("graph", "40 kernels");
}

// Of each scope the figures of its kernels, in either order.
TEST_F(PicturesTest, RowsHaveTheFiguresOfTheirKernels) {
  const std::string path = Sample("attention_block_h100");
  const auto dump = dump::DumpModel::Open(path, Limits{});
  ASSERT_TRUE(dump);
  const auto compiled = (*dump)->Module(0, (*dump)->FinalStage(0));
  ASSERT_TRUE(compiled);
  double bytes = 0, flops = 0;
  const graph::KernelMap map =
      graph::MapKernels(**compiled, analysis::PlacementIn(**dump, 0, **compiled));
  for (const graph::KernelWork& work : graph::WorkOf(**compiled, map)) {
    bytes += work.traffic.bytes();
    flops += work.flops;
  }
  Start({path});
  Press("Ctrl+2");
  Settle();
  const auto amounts = [&] {
    const auto csv = app().dock().Find("graph")->view->Export(ExportFormat::kCsv, session());
    std::istringstream lines(csv.value_or(""));
    std::vector<double> out;
    double all_bytes = 0, all_flops = 0;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("0,")) continue;
      double amount = 0, of_bytes = 0, of_flops = 0;
      const size_t peak = line.rfind(','), last = line.rfind(',', peak - 1),
                   middle = line.rfind(',', last - 1), first = line.rfind(',', middle - 1);
      EXPECT_EQ(std::sscanf(line.c_str() + first, ",%lf,%lf,%lf", &amount, &of_bytes, &of_flops), 3)
          << line;
      out.push_back(amount);
      all_bytes += of_bytes;
      all_flops += of_flops;
    }
    EXPECT_EQ(all_bytes, bytes);
    EXPECT_EQ(all_flops, flops);
    return out;
  };
  std::vector<double> in_order = amounts();
  Press("O");
  std::vector<double> sorted = amounts();
  EXPECT_TRUE(std::ranges::is_sorted(sorted, std::greater<>()));
  EXPECT_NE(in_order, sorted);
  std::ranges::sort(in_order, std::greater<>());
  EXPECT_EQ(in_order, sorted);
}

TEST_F(PicturesTest, HitsOfASearchAreCounted) {
  Show("attention_block_h100");
  Drive([](ImGuiTestContext* context) { context->WindowFocus("//###graph.graph"); });
  Press("Ctrl+F");
  Type("gemm_fusion_dot");
  EXPECT_NE(HighlightedItems("graph").find("found 6"), std::string::npos)
      << HighlightedItems("graph");
  ExpectSeen("graph", "6 found");
}

TEST_F(PicturesTest, KeysZoomAndMoveAtThePointer) {
  Show("attention_block_h100");
  Drive([](ImGuiTestContext* context) {
    context->WindowFocus("//###graph.graph");
    context->MouseMoveToPos(ImVec2(700, 600));
  });
  const auto zoom = [this] {
    return std::atof(
        HighlightedItems("graph").substr(HighlightedItems("graph").find("zoom ") + 5).c_str());
  };
  const double before = zoom();
  Press("W");
  EXPECT_GT(zoom(), before * 1.2);
  Press("S");
  EXPECT_NEAR(zoom(), before, 0.01);
}

TEST_F(PicturesTest, AnEmptySideGivesItsRoomAway) {
  Start({Sample("attention_block_h100")});
  EXPECT_EQ(Width("selection"), 0);
  EXPECT_EQ(Width("notes"), 0);
  const float wide = Width("home");
  Press("Ctrl+P");
  Type("gemm_fusion_dot.5");
  Press("Enter");
  EXPECT_GT(Width("selection"), 100);
  EXPECT_LT(Width("home"), wide);
  // Notes are there as soon as there is one.
  session().navigation.Select({});
  session().bookmarks.push_back({.title = "kept", .note = "", .selection = {}});
  Settle();
  EXPECT_LT(Width("home"), wide);
}

}  // namespace
}  // namespace hloscope::viewer
