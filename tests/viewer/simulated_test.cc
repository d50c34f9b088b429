// Runs on the simulated GPU on the screens: counts of launches, the model beside them, threads step
// by step, what checks find.
#include <imgui_internal.h>
#include <imgui_te_context.h>

#include <filesystem>

#include "core/base/file.h"
#include "core/debug/run/run_module.h"
#include "core/debug/run/run_recorder.h"
#include "core/replay/platform_table.h"
#include "tests/viewer/viewer_fixture.h"
#include "viewer/facts/kernel_sheet.h"
#include "viewer/lab/thread_trace.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/requests.h"
#include "viewer/views/kernel_columns.h"
#include "viewer/views/kernel_csv.h"

namespace hloscope::viewer {
namespace {

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

class SimulatedTest : public ViewerTest {
 protected:
  // The profile of a run of the kernels in a dump.
  std::string ProfileOfRun(const std::string& sample) {
    const auto dump = *dump::DumpModel::Open(Sample(sample), Limits());
    const int32_t stage = dump->FinalStage(0);
    debug::RunSpec request;
    request.test.name = replay::PlatformWith(replay::kRunsDumps)->name;
    request.load.module_file = dump->FullPath(dump->ModuleFile(0, stage));
    debug::RunRecorder recorder;
    debug::RunSinks sinks;
    sinks.recorder = &recorder;
    const debug::RunReport report = debug::RunModule(*dump->Module(0, stage), request, sinks);
    EXPECT_FALSE(report.error.has_value()) << report.error->ToString();
    Jobs jobs(1);
    const auto profile = recorder.Finish(jobs);
    EXPECT_TRUE(profile.has_value());
    const std::string path = Scratch("run.hloprof");
    EXPECT_TRUE(profiler::WriteProfile({**profile, nullptr, path}).has_value());
    return path;
  }
};

TEST_F(SimulatedTest, KernelsHaveWhatTheirLaunchesDid) {
  const std::string path = ProfileOfRun("attention_block_h100");
  Start({Sample("attention_block_h100"), path});
  Press("Ctrl+5");
  const Pending<KernelSheet>* pending = KernelSheetOf(session());
  ASSERT_TRUE(pending != nullptr && pending->ready());
  const KernelSheet& sheet = **pending;
  EXPECT_TRUE(sheet.is_simulated);
  ASSERT_FALSE(sheet.notes.empty());
  EXPECT_TRUE(Has(sheet.notes.front(), "not of a GPU")) << sheet.notes.front();
  EXPECT_TRUE(Has(sheet.notes.front(), "NVIDIA H100")) << sheet.notes.front();
  int64_t launches = 0;
  double last = 1e300, sum = 0;
  for (const KernelRow& row : sheet.rows) {
    launches += row.sums.launches;
    EXPECT_LE(row.sums.model_us, last) << row.name << ": longest by the model first";
    last = row.sums.model_us;
    sum += row.sums.model_us;
  }
  EXPECT_EQ(launches, 14);
  EXPECT_DOUBLE_EQ(sum, sheet.model_us);
  const auto gemm = std::ranges::find(sheet.rows, "gemm_fusion_dot.3", &KernelRow::name);
  ASSERT_NE(gemm, sheet.rows.end());
  EXPECT_GT(gemm->sums.figures.products(), 0u);
  EXPECT_TRUE(Has(LaunchText(*gemm), "tensor core multiply-adds")) << LaunchText(*gemm);
  // And what they would take on every device that is described.
  EXPECT_TRUE(Has(sheet.notes.front(), "NVIDIA L4")) << sheet.notes.front();
  ASSERT_GE(gemm->elsewhere.size(), 5u);
  EXPECT_TRUE(std::ranges::is_sorted(gemm->elsewhere, {}, &KernelElsewhere::us));
  EXPECT_TRUE(Has(ElsewhereText(*gemm), "occupancy ")) << ElsewhereText(*gemm);
  EXPECT_TRUE(Has(HighlightedItems("roofline"), "points ")) << HighlightedItems("roofline");
}

TEST(KernelColumnsTest, WhatCountersOfAGpuMeasuredHasColumns) {
  KernelSheet sheet;
  KernelRow row;
  row.sums.metrics.Add({.dram_read_bytes = 3000, .sm_use = 0.25}, 100);
  row.sums.metrics.Add({.dram_read_bytes = 1000, .sm_use = 0.75}, 100);
  sheet.rows = {row, KernelRow()};
  const auto text = [&](std::string_view title, size_t index) {
    for (const KernelColumn* column : KernelColumnsOf(sheet, false)) {
      if (column->title == title) return column->text(sheet, sheet.rows[index]);
    }
    return std::string("no such column");
  };
  EXPECT_EQ(text("SMs", 0), "no such column");
  EXPECT_FALSE(Has(KernelCsv(sheet, false), "sm_use"));
  sheet.has_metrics = true;
  EXPECT_EQ(text("read", 0), "2.00 kB");  // of a launch
  EXPECT_EQ(text("SMs", 0), "50.0 %");
  EXPECT_EQ(text("tensor", 0), "");
  EXPECT_EQ(text("read", 1), "");
  const std::string csv = KernelCsv(sheet, false);
  EXPECT_TRUE(Has(csv,
                  ",measured_launches,dram_read_bytes,dram_written_bytes,sm_use,tensor_use,"
                  "achieved_occupancy\n"))
      << csv;
  EXPECT_TRUE(Has(csv, ",2,4000,,0.5,,\n")) << csv;
  EXPECT_TRUE(Has(csv, ",,,,,,\n")) << csv;
}

TEST_F(SimulatedTest, AThreadIsGoneThroughStepByStep) {
  Start({Sample("softmax_passes_a100")});
  app().SelectWhenOpen("jit_softmax:triton_softmax.2");
  app().Open({Sample("softmax_passes_a100")});
  Press("Ctrl+5");
  session().requests.Show("thread");
  Settle();
  EXPECT_EQ(HighlightedItems("thread"), "") << "nothing runs until somebody asks";
  Press("T");
  ASSERT_TRUE(DrawUntil([&] { return Has(HighlightedItems("thread"), "step 0 "); })) << Messages();
  const ImGuiID focus = ImGui::GetFocusID();
  Press("Right");
  Press("Right");
  EXPECT_TRUE(Has(HighlightedItems("thread"), "step 2 ")) << HighlightedItems("thread");
  EXPECT_EQ(ImGui::GetFocusID(), focus) << "the arrows move nothing else";
  Press("Left");
  EXPECT_TRUE(Has(HighlightedItems("thread"), "step 1 ")) << HighlightedItems("thread");
  // A load of an argument says which, and a register where it came from.
  std::string highlighted = HighlightedItems("thread");
  for (int i = 0; i < 200 && !Has(highlighted, "ld.global"); ++i) {
    Press("Right");
    highlighted = HighlightedItems("thread");
  }
  ASSERT_TRUE(Has(highlighted, "ld.global")) << highlighted;
  EXPECT_TRUE(Has(highlighted, "argument 0")) << highlighted;
  Press("Backspace");
  EXPECT_NE(HighlightedItems("thread"), highlighted);
}

TEST_F(SimulatedTest, LinesLightThatMakeTheValueOfAFusedInstruction) {
  Start({Sample("softmax_passes_a100")});
  app().SelectWhenOpen("jit_softmax:triton_softmax.2");
  app().Open({Sample("softmax_passes_a100")});
  Press("Ctrl+5");
  session().requests.Show("thread");
  Settle();
  Press("T");
  ASSERT_TRUE(DrawUntil([&] { return Has(HighlightedItems("thread"), "step 0 "); })) << Messages();
  EXPECT_FALSE(Has(HighlightedItems("thread"), "highlighted ")) << HighlightedItems("thread");
  for (int i = 0; i < 500 && !Has(HighlightedItems("thread"), "value of "); ++i) Press("Right");
  const std::string at = HighlightedItems("thread");
  const size_t name = at.find("value of ");
  ASSERT_NE(name, std::string::npos) << at;
  const std::string instruction = at.substr(name + 9, at.find('\n', name) - name - 9);
  const size_t line = at.find("line ");
  Click("**/the value of " + instruction + "##value");
  EXPECT_EQ(SelectedName(), instruction);
  EXPECT_TRUE(Has(HighlightedItems("thread"),
                  "highlighted " + at.substr(line + 5, at.find(':', line) - line - 5)))
      << HighlightedItems("thread");
}

TEST_F(SimulatedTest, AFindingOfTheChecksLeadsToItsThread) {
  const std::string dump = Scratch("dump");
  std::filesystem::copy(Sample("attention_block_h100"), dump);
  const std::string ptx = dump + "/module_0000.jit_attention_block.3.ptx";
  std::string text(FileView::Open(ptx, Limits())->bytes());
  ASSERT_TRUE(Has(text, "bar.sync"));
  while (Has(text, "bar.sync")) text.replace(text.find("bar.sync"), 8, "//      ");
  ASSERT_TRUE(WriteFileAtomically(ptx, text).has_value());
  Start({dump});
  Press("Ctrl+4");
  const std::string panel = "//###divergence.divergence";
  Drive([&](ImGuiTestContext* context) {
    context->SetRef(panel.c_str());
    context->ComboClick(
        ("##platform/" + std::string(replay::PlatformWith(replay::kRunsDumps)->name)).c_str());
  });
  Click(panel + "/check for races");
  Click(panel + "/check each instruction separately");
  Click(panel + "/Run");
  ASSERT_TRUE(DrawUntil([&] { return session().experiment.report() != nullptr; }));
  const auto& checks = session().experiment.report()->checks;
  ASSERT_FALSE(checks.empty());
  EXPECT_EQ(checks[0].kind, "race");
  EXPECT_TRUE(
      Has(HighlightedItems("divergence"), "race in gemm_fusion_dot, kernel gemm_fusion_dot"))
      << HighlightedItems("divergence");
  Settle();
  const int64_t thread = checks[0].at->thread[0], line = checks[0].at->line;
  Click("**/0; " + std::to_string(thread) + "##at");
  EXPECT_EQ(app().dock().screen(), "kernels");
  ASSERT_TRUE(DrawUntil([&] { return Has(HighlightedItems("thread"), "step "); })) << Messages();
  EXPECT_TRUE(Has(HighlightedItems("thread"), "line " + std::to_string(line) + ":"))
      << HighlightedItems("thread");
  const auto traced = ThreadTraceOf(session(), {.module = 0,
                                                .kernel = session().navigation.selection().kernel,
                                                .block = {},
                                                .thread = {static_cast<uint32_t>(thread), 0, 0}});
  EXPECT_NE(traced, nullptr) << "it is the thread of the finding";
}

TEST_F(SimulatedTest, AThreadIsGoneThroughUpToItsFault) {
  const std::string dump = Scratch("dump");
  std::filesystem::copy(Sample("softmax_passes_a100"), dump);
  const std::string ptx = dump + "/module_0000.jit_softmax.1.ptx";
  std::string text(FileView::Open(ptx, Limits())->bytes());
  const std::string place = "[ %rd5 + 0 ], { %r18";
  ASSERT_TRUE(Has(text, place));
  text.replace(text.find(place), place.size(), "[ %rd5 + 4096000 ], { %r18");
  ASSERT_TRUE(WriteFileAtomically(ptx, text).has_value());
  Start({dump});
  session().data.Kernels(0);
  Settle();
  const ThreadChoice choice{.module = 0, .kernel = 0};
  AskThreadTrace(session(), choice);
  Settle();
  const Pending<TracedThread>* traced = ThreadTraceOf(session(), choice);
  ASSERT_TRUE(traced != nullptr && traced->ready()) << traced->error.ToString();
  const ptx::BlockTrace& trace = (*traced)->trace;
  ASSERT_TRUE(trace.fault.has_value());
  EXPECT_TRUE(Has(trace.fault->ToString(), "writes 16 bytes at byte 4096000"))
      << trace.fault->ToString();
  EXPECT_GT(trace.threads[0].executed, 300) << "what it did before";
}

TEST_F(SimulatedTest, ABlockThatTheLaunchHasNotIsNamed) {
  EXPECT_EQ(IndexOf("3"), (std::array<uint32_t, 3>{3, 0, 0}));
  EXPECT_EQ(IndexOf(" 1, 2,3 "), (std::array<uint32_t, 3>{1, 2, 3}));
  EXPECT_FALSE(IndexOf("").has_value());
  EXPECT_FALSE(IndexOf("1,").has_value());
  EXPECT_FALSE(IndexOf("-1").has_value());
  EXPECT_FALSE(IndexOf("1,2,3,4").has_value());
  Start({Sample("softmax_passes_a100")});
  const ThreadChoice choice{.module = 0, .kernel = 0, .block = {100'000, 0, 0}};
  session().data.Kernels(0);
  Settle();
  AskThreadTrace(session(), choice);
  Settle();
  const Pending<TracedThread>* traced = ThreadTraceOf(session(), choice);
  ASSERT_TRUE(traced != nullptr && traced->failed());
  EXPECT_TRUE(Has(traced->error.ToString(),
                  "has no block 100000 (it was launched with 64 × 1 × 1, numbered from 0)"))
      << traced->error.ToString();
}

}  // namespace
}  // namespace hloscope::viewer
