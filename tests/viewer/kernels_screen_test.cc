// The screens Kernels and Memory, driven as a user would, and what lies behind them without
// drawing.
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_te_context.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "tests/hlo/parsed.h"
#include "tests/viewer/viewer_fixture.h"
#include "viewer/facts/kernel_facts.h"
#include "viewer/facts/kernel_sheet.h"
#include "viewer/facts/memory/memory_plan.h"
#include "viewer/facts/path_facts.h"
#include "viewer/facts/profile_model.h"
#include "viewer/facts/selection_summary.h"
#include "viewer/facts/trace_partners.h"
#include "viewer/model/marks.h"
#include "viewer/model/timeline_camera.h"

namespace hloscope::viewer {
namespace {

constexpr const char* kTimeline = "//###kernels.timeline/##lanes";

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_F(ViewerTest, TheSlowestKernelIsTheFirstRowAndLightsTheTimeline) {
  Start({Sample("conv_net")});
  Press("Ctrl+5");
  EXPECT_EQ(app().dock().screen(), "kernels");
  Click("//###kernels.kernels/**/##row0");
  EXPECT_EQ(SelectedName(), "conv_general_dilated.3");
  EXPECT_EQ(session().navigation.stage(), session().document.dump()->FinalStage(0));
  EXPECT_TRUE(Has(HighlightedItems("timeline"), "highlighted 20\n"))
      << HighlightedItems("timeline");
  EXPECT_EQ(HighlightedItems("kernels"), "conv_general_dilated.3\n");
  EXPECT_TRUE(Has(HighlightedItems("memory"), "")) << "not drawn yet";
  Press("Ctrl+6");
  EXPECT_TRUE(Has(HighlightedItems("memory"), "conv_general_dilated.3 13312\n"))
      << HighlightedItems("memory");
}

TEST_F(ViewerTest, TheFirstKernelWithCodeIsSelectedUntilSomebodyChooses) {
  Start({Sample("attention_block_h100")});
  Press("Ctrl+5");
  EXPECT_EQ(session().navigation.selection().kind, SelectionKind::kInstruction);
  EXPECT_FALSE(HighlightedItems("code").empty());
  Press("Escape");
  Settle();
  EXPECT_EQ(session().navigation.selection().kind, SelectionKind::kNothing) << "it is not forced";
}

// XLA:CPU compiled one of several equal fusions: the others have its code.
TEST_F(ViewerTest, AFusionWithoutAKernelShowsThatOfItsEqual) {
  Start({Sample("gpt_train_step")});
  Press("Ctrl+5");
  const int32_t stage = session().document.dump()->FinalStage(0);
  const auto module = *session().document.dump()->Module(0, stage);
  const hlo::InstructionId id = hlo::Named(*module, "add_convert_fusion");
  session().navigation.Select(Selection::OfInstruction(0, stage, id));
  Settle();
  ASSERT_EQ(session().navigation.counterparts().kernels.size(), 1U);
  const auto kernels = *session().document.dump()->Kernels(0);
  const dump::Kernel& kernel =
      kernels->kernels[static_cast<size_t>(session().navigation.counterparts().kernels[0])];
  EXPECT_EQ(std::ranges::count(kernel.instructions, "add_convert_fusion"), 0);
  const auto equal = hlo::Named(*module, kernel.instruction);
  EXPECT_EQ((*module)[(*module)[equal].shape], (*module)[(*module)[id].shape]);
  EXPECT_FALSE(HighlightedItems("code").empty());
  // And back: the kernel stands for both.
  session().navigation.Select(
      Selection::OfKernel(0, session().navigation.counterparts().kernels[0]));
  Settle();
  EXPECT_TRUE(session().navigation.counterparts().InStage(stage, id));
}

TEST_F(ViewerTest, AnEventOfNoInstructionIsToldByItsName) {
  Start({Sample("conv_net")});
  Press("Ctrl+5");
  const Pending<ProfileModel>* model = ProfileOf(session());
  ASSERT_TRUE(model != nullptr && model->ready());
  const profiler::EventStore& store = (*model)->store();
  const profiler::Attribution& attribution = *(*model)->attribution;
  uint32_t event = 0;
  while (event < store.size() && attribution.TargetOf(profiler::EventId(event)).valid()) ++event;
  ASSERT_LT(event, store.size());
  session().navigation.Select(Selection::OfEvent(event));
  Settle();
  EXPECT_EQ(NameOfSelectedEvent(session()), store.text(store.name(profiler::EventId(event))));
  EXPECT_TRUE(Has(HighlightedItems("selection"), "after the start of the trace"))
      << HighlightedItems("selection");
  EXPECT_TRUE(Has(HighlightedItems("selection"), "not attributed to an instruction of the dump"))
      << HighlightedItems("selection");
}

TEST_F(ViewerTest, AnEventSelectsItsInstructionAndKeysWalkAlongTheLane) {
  Start({Sample("conv_net")});
  Press("Ctrl+5");
  Click("//###kernels.kernels/**/##row0");
  Drive([](ImGuiTestContext* context) { context->WindowFocus("//###kernels.timeline"); });
  Press("F");
  // The longest event of the instruction is in the middle of the view now.
  Drive([](ImGuiTestContext* context) {
    ImGuiTestItemInfo lanes = context->ItemInfo(kTimeline);
    const float gutter = 190,
                middle = lanes.RectFull.Min.x + gutter + (lanes.RectFull.GetWidth() - gutter) / 2;
    for (float y = lanes.RectFull.Min.y + 30; y < lanes.RectFull.Max.y; y += 9) {
      context->MouseMoveToPos(ImVec2(middle, y));
      context->MouseClick(0);
    }
  });
  EXPECT_EQ(session().navigation.selection().kind, SelectionKind::kEvent);
  EXPECT_TRUE(Has(HighlightedItems("timeline"), "event ")) << HighlightedItems("timeline");
  const int64_t event = session().navigation.selection().event;
  Press("Right");
  EXPECT_EQ(session().navigation.selection().kind, SelectionKind::kEvent);
  EXPECT_NE(session().navigation.selection().event, event);
  Press("Left");
  EXPECT_EQ(session().navigation.selection().event, event);
}

TEST_F(ViewerTest, AMarkedRangeIsSummedUp) {
  Start({Sample("conv_net")});
  Press("Ctrl+5");
  Click("//###kernels.statistics/#TAB");
  Drive([](ImGuiTestContext* context) { context->WindowFocus("//###kernels.statistics"); });
  EXPECT_TRUE(Has(HighlightedItems("statistics"), "40 PjitFunction"))
      << HighlightedItems("statistics");
  Drive([](ImGuiTestContext* context) {
    const ImRect lanes = context->ItemInfo(kTimeline).RectFull;
    context->MouseMoveToPos(ImVec2(lanes.Min.x + 500, lanes.Min.y + 8));
    context->MouseDown(0);
    context->MouseMoveToPos(ImVec2(lanes.Min.x + 620, lanes.Min.y + 8));
    context->MouseUp(0);
  });
  EXPECT_TRUE(session().marks.Of<TimelineMarks>().range.is_set);
  EXPECT_FALSE(Has(HighlightedItems("statistics"), "40 PjitFunction"))
      << HighlightedItems("statistics");
}

TEST_F(ViewerTest, CodeOfAKernelShowsItsLines) {
  Start({Sample("attention_block_h100")});
  Press("Ctrl+5");
  // Without a trace most bytes stand first, as in the sheet.
  const Pending<KernelSheet>* sheet = KernelSheetOf(session());
  ASSERT_TRUE(sheet != nullptr && sheet->ready());
  const auto row = std::ranges::find((*sheet)->rows, "gemm_fusion_dot.3", &KernelRow::name);
  Click(fmt::format("//###kernels.kernels/**/##row{}", row - (*sheet)->rows.begin()));
  EXPECT_EQ(SelectedName(), "gemm_fusion_dot.3");
  EXPECT_TRUE(Has(HighlightedItems("code"), "PTX module_0000.jit_attention_block.27.ptx:12-"))
      << HighlightedItems("code");
  EXPECT_TRUE(Has(HighlightedItems("code"), "LLVM ")) << HighlightedItems("code");
  EXPECT_EQ(HighlightedItems("kernels"), "gemm_fusion_dot.3\n");
}

TEST_F(ViewerTest, TwoTracesStandBesideEachOther) {
  const std::string trace = Sample("conv_net/conv_net.xplane.pb.gz");
  Start({Sample("conv_net"), trace, Sample("conv_net/conv_net.trace.json.gz")});
  Press("Ctrl+5");
  const Pending<KernelSheet>* sheet = KernelSheetOf(session());
  ASSERT_TRUE(sheet != nullptr && sheet->ready());
  EXPECT_TRUE((*sheet)->has_others);
  EXPECT_EQ((*sheet)->work, (*sheet)->other_work) << "both are of the same runs";
  for (const KernelRow& row : (*sheet)->rows) EXPECT_EQ(row.self, row.other_self) << row.name;
  // The comparison is that of the command line: equal times are within noise, with an interval.
  ASSERT_NE((*sheet)->comparison, nullptr);
  EXPECT_GT((*sheet)->comparison->judged, 0u);
  for (const KernelRow& row : (*sheet)->rows) {
    if (row.count == 0) continue;
    EXPECT_EQ(row.verdict, profiler::Verdict::kWithinNoise) << row.name;
    ASSERT_TRUE(row.ratio.has_value()) << row.name;
    EXPECT_LT(row.ratio->low, 1);
    EXPECT_NEAR(row.ratio->ratio, 1, 1e-6);
    EXPECT_GT(row.ratio->high, 1);
  }
  auto csv = app().dock().Find("kernels")->view->Export(ExportFormat::kCsv, session());
  ASSERT_TRUE(csv.has_value());
  EXPECT_TRUE(
      csv->starts_with("instruction,opcode,change_ps,ratio,before_ps,after_ps,ratio_low,"
                       "ratio_high,verdict,self_ps,"))
      << *csv;
}

// A trace of another program of the same module, written here: reduce twice as long, dot gone, a
// new one, and each run twice.
void WriteOtherTrace(const std::string& path,
                     const std::vector<std::pair<std::string, int>>& events) {
  std::string json =
      R"({"displayTimeUnit":"ns","traceEvents":[)"
      R"({"ph":"M","pid":1,"name":"process_name","args":{"name":"/host:CPU"}},)"
      R"({"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"tf_XLAEigen/2"}})";
  double at = 10;
  for (int run = 0; run < 2; ++run) {
    for (const auto& [name, microseconds] : events) {
      json += fmt::format(R"(,{{"ph":"X","pid":1,"tid":2,"ts":{},"dur":{},"name":"{}",)"
                          R"("args":{{"hlo_module":"jit_conv_net","hlo_op":"{}"}}}})",
                          at, microseconds, name, name);
      at += microseconds + 1;
    }
  }
  std::ofstream(path) << json << "]}";
}

TEST_F(ViewerTest, ASecondProfileIsChosenAndSortedByTheLargestChange) {
  const std::string first = Scratch("first.trace.json"), second = Scratch("second.trace.json");
  Start({Sample("conv_net")});
  auto module = session().document.dump()->Module(0, session().document.dump()->FinalStage(0));
  ASSERT_TRUE(module);
  std::vector<std::string> names;
  const hlo::Computation& entry = (*module)->entry();
  for (uint32_t i = 0; i < entry.instruction_count && names.size() < 4; ++i) {
    const hlo::InstructionId id(entry.first_instruction + i);
    const hlo::Opcode opcode = (**module)[id].opcode;
    if (opcode != hlo::Opcode::kParameter && opcode != hlo::Opcode::kConstant)
      names.emplace_back((*module)->name(id));
  }
  ASSERT_EQ(names.size(), 4u);
  WriteOtherTrace(first, {{names[0], 10}, {names[1], 20}, {names[2], 30}});
  WriteOtherTrace(second, {{names[0], 15}, {names[1], 19}, {names[3], 12}});
  app().Open({Sample("conv_net"), first});
  Settle();
  Press("Ctrl+5");
  Press("Ctrl+Shift+D");
  Type(second);
  Press("Enter");
  Dock::Panel* kernels = app().dock().Find("kernels");
  auto csv = [&] { return kernels->view->Export(ExportFormat::kCsv, session()).value_or("none"); };
  const Pending<KernelSheet>* sheet = KernelSheetOf(session());
  ASSERT_TRUE(sheet != nullptr && sheet->ready());
  ASSERT_TRUE((*sheet)->has_others) << Messages();
  EXPECT_EQ((*sheet)->comparison->runs, 1);
  const auto line = [&](const std::string& name) {
    const std::string all = csv(), start = "\n\"" + name + "\",";
    const size_t at = all.find(start);
    return at == std::string::npos ? "no " + name
                                   : all.substr(at + 1, all.find('\n', at + 1) - at - 1);
  };
  EXPECT_TRUE(Has(line(names[0]), ",10000000,1.5,20000000,30000000,")) << csv();
  EXPECT_TRUE(Has(line(names[2]), ",-60000000,0,60000000,0,")) << csv();
  EXPECT_TRUE(Has(line(names[3]), ",24000000,,0,24000000,")) << csv();
  // The largest change stands first, whatever its sign.
  Click("//###kernels.kernels/**/##row0");
  EXPECT_EQ(SelectedName(), names[2]);
  Click("//###kernels.kernels/**/##row1");
  EXPECT_EQ(SelectedName(), names[3]);
  Click("//###kernels.kernels/Swap");
  EXPECT_TRUE(Has(line(names[2]), ",60000000,,0,60000000,")) << csv();
  Drive([](ImGuiTestContext* context) { context->WindowFocus("//###kernels.kernels"); });
  Press("X");
  EXPECT_TRUE(Has(line(names[2]), ",-60000000,0,60000000,0,")) << csv();
  Click("//###kernels.kernels/Stop comparing");
  EXPECT_TRUE(csv().starts_with("instruction,opcode,self_ps,")) << csv();
}

TEST_F(ViewerTest, TheCriticalPathIsHighlightedAndSummedUp) {
  Start({Sample("conv_net")});
  Press("Ctrl+5");
  Drive([](ImGuiTestContext* context) { context->WindowFocus("//###kernels.timeline"); });
  EXPECT_FALSE(Has(HighlightedItems("timeline"), "critical path"));
  Press("P");
  EXPECT_TRUE(Has(HighlightedItems("timeline"), "critical path: ")) << HighlightedItems("timeline");
  EXPECT_TRUE(Has(HighlightedItems("timeline"), "% of the trace")) << HighlightedItems("timeline");
  // A click on the name of a call above the lanes marks it; the path is of that call then.
  Drive([](ImGuiTestContext* context) {
    const ImRect lanes = context->ItemInfo(kTimeline).RectFull;
    context->MouseMoveToPos(ImVec2(lanes.Min.x + 600, lanes.Min.y + 32));
    context->MouseClick(0);
  });
  EXPECT_TRUE(session().marks.Of<TimelineMarks>().range.is_set);
  EXPECT_TRUE(Has(HighlightedItems("timeline"), "% of the call")) << HighlightedItems("timeline");
  Click("//###kernels.statistics/#TAB");
  EXPECT_TRUE(Has(HighlightedItems("statistics"), "path ")) << HighlightedItems("statistics");
  auto csv = app().dock().Find("statistics")->view->Export(ExportFormat::kCsv, session());
  ASSERT_TRUE(csv.has_value());
  EXPECT_TRUE(csv->starts_with("name,busy_ps,steps,wait_before_ps\n")) << *csv;
  Click("//###kernels.statistics/Critical path");
  EXPECT_FALSE(session().marks.Of<TimelineMarks>().critical_path);
  EXPECT_FALSE(Has(HighlightedItems("statistics"), "path "));
}

TEST_F(ViewerTest, ASecondTraceStandsUnderTheFirst) {
  const std::string first = Scratch("first.trace.json"), second = Scratch("second.trace.json");
  Start({Sample("conv_net")});
  auto module = session().document.dump()->Module(0, session().document.dump()->FinalStage(0));
  ASSERT_TRUE(module);
  std::vector<std::string> names;
  std::vector<hlo::InstructionId> ids;
  const hlo::Computation& entry = (*module)->entry();
  for (uint32_t i = 0; i < entry.instruction_count && names.size() < 4; ++i) {
    const hlo::InstructionId id(entry.first_instruction + i);
    const hlo::Opcode opcode = (**module)[id].opcode;
    if (opcode == hlo::Opcode::kParameter || opcode == hlo::Opcode::kConstant) continue;
    names.emplace_back((*module)->name(id));
    ids.push_back(id);
  }
  ASSERT_EQ(names.size(), 4u);
  WriteOtherTrace(first, {{names[0], 10}, {names[1], 20}, {names[2], 30}});
  WriteOtherTrace(second, {{names[0], 15}, {names[1], 19}, {names[3], 12}});
  app().Open({Sample("conv_net"), first});
  Settle();
  Press("Ctrl+5");
  EXPECT_FALSE(Has(HighlightedItems("timeline"), "above"));
  session().document.CompareWith(second);
  Settle();
  session().navigation.Select(
      Selection::OfInstruction(0, session().document.dump()->FinalStage(0), ids[1]));
  Settle();
  EXPECT_TRUE(Has(HighlightedItems("timeline"),
                  "highlighted 2\nfirst above, highlighted 2 in the second, aligned by their first "
                  "instruction\n"))
      << HighlightedItems("timeline");
  const Pending<ProfileModel>* profile = ProfileOf(session());
  ASSERT_TRUE(profile != nullptr && profile->ready());
  const SecondTrace other = SecondTraceOf(session(), profile->value);
  ASSERT_NE(other.partners, nullptr);
  EXPECT_EQ(other.partners->MissingText(false), "1 instruction only before, 1 only after");
  EXPECT_EQ(other.partners->only_first, std::vector<std::string>{names[2]});
  EXPECT_EQ(other.partners->only_second, std::vector<std::string>{names[3]});
  auto csv = app().dock().Find("timeline")->view->Export(ExportFormat::kCsv, session());
  ASSERT_TRUE(csv.has_value());
  EXPECT_TRUE(csv->starts_with("trace,lane,row,event,start_ps,duration_ps,value,unit\nbefore,"))
      << *csv;
  EXPECT_TRUE(Has(*csv, "\nafter,"));
  Drive([](ImGuiTestContext* context) { context->WindowFocus("//###kernels.timeline"); });
  Press("X");
  EXPECT_TRUE(Has(HighlightedItems("timeline"), "second above")) << HighlightedItems("timeline");
  EXPECT_TRUE(session().marks.Of<TimelineMarks>().profiles_swapped);
  Click("//###kernels.timeline/Stop comparing");
  EXPECT_FALSE(Has(HighlightedItems("timeline"), "above")) << HighlightedItems("timeline");
}

// Scripts stand in for CUDA's tools, so that this runs everywhere.
TEST_F(ViewerTest, SassIsMadeOnRequestOnly) {
  const auto script = [&](const std::string& name, const std::string& body) {
    std::filesystem::create_directories(Scratch("cuda/bin"));
    const std::string path = Scratch("cuda/bin/" + name);
    std::ofstream(path) << "#!/bin/sh\ntouch " << Scratch("ran") << "\ncat <<'END'\n" << body;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  };
  script("ptxas",
         "ptxas info    : Compiling entry function 'gemm_fusion_dot_3' for 'sm_90a'\n"
         "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
         "ptxas info    : Used 40 registers, used 1 barriers, 1024 bytes smem\nEND\n");
  script("nvdisasm",
         "//--------- .text.gemm_fusion_dot_3 ---------\n//## File \".nv_debug_ptx_txt\", line 25\n"
         "/*0000*/ LDC R1, c[0x0][0x28] ;\n//## File \".nv_debug_ptx_txt\", line 26\n"
         "/*0010*/ S2R R0, SR_TID.X ;\n/*0020*/ EXIT ;\nEND\n");
  setenv("CUDA_HOME", Scratch("cuda").c_str(), 1);
  Start({Sample("attention_block_h100")});
  Press("Ctrl+5");
  const Pending<KernelSheet>* sheet = KernelSheetOf(session());
  ASSERT_TRUE(sheet != nullptr && sheet->ready());
  const auto row = std::ranges::find((*sheet)->rows, "gemm_fusion_dot.3", &KernelRow::name);
  Click(fmt::format("//###kernels.kernels/**/##row{}", row - (*sheet)->rows.begin()));
  EXPECT_FALSE(std::filesystem::exists(Scratch("ran"))) << "opening runs nothing";
  EXPECT_FALSE(Has(HighlightedItems("code"), "SASS"));
  Click("//###kernels.code/Assemble PTX");
  EXPECT_TRUE(std::filesystem::exists(Scratch("ran")));
  EXPECT_TRUE(Has(HighlightedItems("code"), "SASS 3 of 3 lines")) << HighlightedItems("code");
  // A line of PTX highlights what was made of it.
  const dump::KernelTable& kernels = *session().data.Kernels(0);
  session().navigation.Select(
      Selection::OfTextLine(kernels.Find("gemm_fusion_dot_3")->ptx.file, 26));
  Settle();
  EXPECT_TRUE(Has(HighlightedItems("code"), "SASS 2 of 3 lines")) << HighlightedItems("code");
  unsetenv("CUDA_HOME");
}

TEST_F(ViewerTest, ASecondDumpIsComparedByItsTrace) {
  Start({Sample("conv_net"), Sample("conv_net/conv_net.xplane.pb.gz")});
  session().document.CompareWith(Sample("conv_net"));
  app().dock().SetScreen("kernels");
  Settle();
  const Pending<KernelSheet>* sheet = KernelSheetOf(session());
  ASSERT_TRUE(sheet != nullptr && sheet->ready());
  EXPECT_TRUE((*sheet)->has_others);
  EXPECT_EQ((*sheet)->work, (*sheet)->other_work);
  // One without a trace says so.
  session().document.CompareWith(Sample("mlp_train_step"));
  Settle();
  sheet = KernelSheetOf(session());
  ASSERT_TRUE(sheet != nullptr && sheet->ready());
  ASSERT_FALSE((*sheet)->notes.empty());
  EXPECT_TRUE(Has((*sheet)->notes[0], "no trace in this folder")) << (*sheet)->notes[0];
}

TEST_F(ViewerTest, ATraceAloneIsEnough) {
  Start({Sample("conv_net/conv_net.xplane.pb.gz")});
  Press("Ctrl+5");
  const Pending<KernelSheet>* sheet = KernelSheetOf(session());
  ASSERT_TRUE(sheet != nullptr && sheet->ready());
  EXPECT_EQ((*sheet)->rows.size(), 12u);
  EXPECT_GT((*sheet)->rows[0].flops_per_second(), 0);
  Click("//###kernels.kernels/**/##row0");
  EXPECT_TRUE(Has(HighlightedItems("timeline"), "event conv_general_dilated.3"))
      << HighlightedItems("timeline");
}

TEST_F(ViewerTest, WhoHoldsThePeakIsTheFirstRow) {
  Start({Sample("attention_block_h100")});
  Press("Ctrl+6");
  EXPECT_TRUE(Has(HighlightedItems("memory"), "peak ")) << HighlightedItems("memory");
  Click("//###memory.buffers/**/##row1");
  EXPECT_EQ(session().navigation.selection().kind, SelectionKind::kBuffer);
  EXPECT_TRUE(Has(HighlightedItems("memory"), "gemm_fusion_dot 9216\n"))
      << HighlightedItems("memory");
  // Another point: the right arrow, while the map has the keys.
  Drive([](ImGuiTestContext* context) { context->WindowFocus("//###memory.memory"); });
  Press("Right");
  EXPECT_GE(session().marks.Of<MemoryPoint>().point, 0);
  Click("//###memory.buffers/back to the peak");
  EXPECT_LT(session().marks.Of<MemoryPoint>().point, 0);
}

TEST_F(ViewerTest, BrokenTracesSayWhy) {
  const std::string path = Scratch("broken.xplane.pb");
  std::ofstream(path) << "no trace at all";
  Start({Sample("conv_net"), path});
  Press("Ctrl+5");
  EXPECT_EQ(HighlightedItems("timeline"), "");
  EXPECT_TRUE(Has(HighlightedItems("kernels"), "")) << "the table stands without times";
  Press("W");
  Press("Home");
}

TEST(TimelineCameraTest, WhatIsUnderThePointerStays) {
  TimelineCamera camera;
  camera.SetWhole({0, 1'000'000'000'000});
  const double before = camera.TimeAt(300, 1000);
  for (int i = 0; i < 40; ++i) camera.Zoom(0.3, 1.3);
  EXPECT_NEAR(camera.TimeAt(300, 1000), before, 1);
  for (int i = 0; i < 200; ++i) camera.Zoom(0.3, 1.3);
  EXPECT_GE(camera.length(), 1000);
  camera.Pan(1e12);
  EXPECT_LE(camera.begin() + camera.length(), 1.03e12);
  camera.FitAll();
  std::string base;
  const auto ticks = TicksOf(camera, 1000, 110, base);
  ASSERT_GE(ticks.size(), 5u);
  EXPECT_EQ(base, "");
  EXPECT_EQ(ticks[0].text, "0.0 s");
  camera.Fit({500'000'000'123, 500'000'090'123});
  EXPECT_EQ(TicksOf(camera, 1000, 110, base).front().text, "+0 ns");
  EXPECT_EQ(base, "500 ms");
}

TEST(MemoryPlanTest, LiveBytesCountAliasesOnce) {
  dump::BufferTable table;
  table.program = {"p", "a", "b", "c"};
  table.allocations.resize(2);
  table.allocations[0].size = 100;
  table.allocations[0].parameter_number = 0;
  table.allocations[1].size = 64;
  auto value = [&](int64_t id, int32_t allocation, int64_t offset, int64_t size, int32_t first,
                   int32_t last) {
    dump::BufferValue v;
    v.id = id;
    v.allocation = allocation;
    v.offset = offset;
    v.size = size;
    v.live_start = first;
    v.live_end = last;
    v.instruction = "v" + std::to_string(id);
    table.values.push_back(v);
  };
  value(0, 0, 0, 100, 0, 4);
  value(1, 1, 0, 32, 1, 2);
  value(2, 1, 0, 64, 2, 3);  // on the bytes of 1, at the same time
  value(3, 1, 0, 16, 9, 9);  // beyond the program
  value(4, 1, 1, INT64_MAX, 1, 2);
  const MemoryPlan plan = PlanOf(table);
  EXPECT_EQ(plan.live, (std::vector<int64_t>{100, 132, 164, 164}));
  EXPECT_EQ(plan.peak_point, 2);
  EXPECT_EQ(plan.unplaced, 2);
  EXPECT_EQ(plan.places.front().kind, AllocationKind::kTemporary);
  EXPECT_TRUE(plan.boxes[1].aliases && plan.boxes[2].aliases && !plan.boxes[0].aliases);
  EXPECT_EQ(LiveAt(table, 3), (std::vector<int32_t>{0, 2}));
  dump::BufferTable other = table;
  other.values[2].size = 24;
  const std::vector<Growth> growth = GrowthOf(table, other);
  ASSERT_EQ(growth.size(), 1u);
  EXPECT_EQ(growth[0].instruction, "v2");
  EXPECT_EQ(growth[0].size - growth[0].other_size, 40);
}

TEST(DeviceFactsTest, TargetsAndOccupancyAreRead) {
  const profiler::DeviceFacts facts = profiler::FactsFromTarget(
      "gpu_device_info {\n  threads_per_core_limit: 2048\n  core_count: 132\n  fpus_per_core: 128\n"
      "  clock_rate_ghz: 1.98\n  memory_bandwidth: 3350000000000\n  shared_memory_per_core: "
      "233472\n"
      "  registers_per_core_limit: 65536\n}");
  EXPECT_NEAR(facts.flops_per_second, 66.9e12, 1e11);
  EXPECT_EQ(facts.bytes_per_second, 3.35e12);
  EXPECT_EQ(profiler::Occupancy(facts, 128, 0, 0), 1);
  EXPECT_EQ(profiler::Occupancy(facts, 128, 128, 0), 0.25);
  EXPECT_EQ(profiler::Occupancy(facts, 128, 0, 116'736), 0.125);
  EXPECT_LT(profiler::Occupancy({}, 128, 0, 0), 0);
}

// Ten million events, panned and zoomed; run by hand: --gtest_also_run_disabled_tests
// --gtest_filter=*TenMillion*.
TEST_F(ViewerTest, DISABLED_FramesOfTenMillionEvents) {
  const std::string path = Scratch("big.xplane.pb");
  {
    std::string plane = "\x12\x0d/device:GPU:0";
    auto varint = [](std::string& out, uint64_t v) {
      for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
      out += static_cast<char>(v);
    };
    for (int lane = 0; lane < 8; ++lane) {
      std::string line = "\x12\x06stream", event;
      uint64_t time = 0, seed = static_cast<uint64_t>(lane) + 1;
      for (int i = 0; i < 1'250'000; ++i) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const uint64_t duration = 1'000'000 + (seed >> 40);
        event = "\x08\x01\x10";
        varint(event, time);
        event += '\x18';
        varint(event, duration);
        line += '\x22';
        varint(line, event.size());
        line += event;
        time += (seed >> 60) < 4 ? duration / 2 : duration + 200'000;
      }
      plane += '\x1a';
      varint(plane, line.size());
      plane += line;
    }
    std::string space = "\x0a";
    varint(space, plane.size());
    std::ofstream(path) << space << plane;
  }
  Start({path});
  Press("Ctrl+5");
  Drive([](ImGuiTestContext* context) { context->WindowFocus("//###kernels.timeline"); });
  std::vector<double> frames;
  auto draw = [&](float wheel) {
    ImGuiIO& io = ImGui::GetIO();
    io.AddMousePosEvent(800 + 3 * static_cast<float>(frames.size() % 40), 200);
    if (wheel != 0) io.AddMouseWheelEvent(0, wheel);
    timespec before{}, after{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    app().DrawFrame();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    frames.push_back(static_cast<double>(after.tv_sec - before.tv_sec) * 1e3 +
                     static_cast<double>(after.tv_nsec - before.tv_nsec) * 1e-6);
  };
  for (int turn = 0; turn < 6; ++turn) {
    for (int i = 0; i < 50; ++i) draw(0.25F);
    for (int i = 0; i < 50; ++i) draw(-0.25F);
  }
  std::ranges::sort(frames);
  std::printf("frames %zu: median %.2f ms, p99 %.2f ms, max %.2f ms of CPU\n", frames.size(),
              frames[frames.size() / 2], frames[frames.size() * 99 / 100], frames.back());
}

// Identical fusions are compiled once: each has its own time, and the kernel that of all.
TEST_F(ViewerTest, LaunchesOfOneKernelHaveTimesOfTheirOwn) {
  const std::string path = Scratch("shared.trace.json");
  std::string json =
      R"({"traceEvents":[{"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}})";
  const auto add = [&](const char* name, int ts, int us) {
    json += fmt::format(R"(,{{"ph":"X","pid":1,"tid":2,"ts":{},"dur":{},"name":"{}",)"
                        R"("args":{{"hlo_module":"jit_gpt_train_step","hlo_op":"{}"}}}})",
                        ts, us, name, name);
  };
  Start({Sample("gpt_train_step_h100")});
  const Pending<dump::KernelTable>& kernels = session().data.Kernels(0);
  ASSERT_TRUE(DrawUntil([&] { return kernels.ready(); }));
  const auto shared = std::ranges::find_if(
      kernels->kernels, [](const dump::Kernel& kernel) { return kernel.instructions.size() > 2; });
  ASSERT_NE(shared, kernels->kernels.end());
  const auto index = static_cast<int32_t>(shared - kernels->kernels.begin());
  const std::string first = shared->instructions[0], second = shared->instructions[1],
                    name = shared->name;
  Stop();
  add(first.c_str(), 100, 400);
  add(second.c_str(), 600, 100);
  add(second.c_str(), 800, 100);
  std::ofstream(path) << json << "]}";
  Start({Sample("gpt_train_step_h100"), path});
  Press("Ctrl+5");
  const auto expect = [&](const std::string& times) {
    const Pending<dump::KernelTable>& table = session().data.Kernels(0);
    ASSERT_TRUE(DrawUntil([&] {
      return table.ready() && KernelSheetOf(session()) != nullptr &&
             KernelSheetOf(session())->ready();
    }));
    Settle();
    const std::string text =
        KernelFactsText(session(), table->kernels[static_cast<size_t>(index)], index, nullptr);
    EXPECT_TRUE(text.ends_with(times)) << text;
  };
  app().SelectWhenOpen("jit_gpt_train_step:" + first);
  expect("1 × 400 µs");
  app().SelectWhenOpen("jit_gpt_train_step:" + second);
  expect("2 × 100 µs");
  session().navigation.Select(Selection::OfKernel(0, index));
  expect("3 × 200 µs in 2 instructions");
  // Each row names the kernel.
  for (const KernelRow& row : (*KernelSheetOf(session()))->rows) {
    if (row.name == first || row.name == second) {
      EXPECT_EQ(row.kernel, name) << row.name;
    }
  }
}

}  // namespace
}  // namespace hloscope::viewer
