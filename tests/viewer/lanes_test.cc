// The screen Kernels without a trace, and what the timeline makes of one: a strip, a roofline of
// estimates, lanes without events, names of two profiles, steps of the program.
#include <fmt/format.h>
#include <imgui.h>
#include <imgui_internal.h>
#include <imgui_te_context.h>

#include <cmath>

#include "core/base/file.h"
#include "tests/viewer/drawn.h"
#include "tests/viewer/reading_fixture.h"
#include "viewer/facts/kernel_code.h"
#include "viewer/facts/kernel_sheet.h"
#include "viewer/facts/profile_model.h"
#include "viewer/facts/timeline_facts.h"
#include "viewer/facts/timeline_rows.h"
#include "viewer/facts/trace_partners.h"

namespace hloscope::viewer {
namespace {

// A program that marks three steps, whose calls are nested three deep in the first.
constexpr const char* kMarked = R"json({"traceEvents":[
{"ph":"M","name":"process_name","pid":1,"args":{"name":"/host:CPU"}},
{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"python"}},
{"ph":"X","pid":1,"tid":1,"ts":0,"dur":1000,"name":"train","args":{"step_num":"0"}},
{"ph":"X","pid":1,"tid":1,"ts":10,"dur":900,"name":"PjitFunction(train_step)"},
{"ph":"X","pid":1,"tid":1,"ts":20,"dur":800,"name":"run"},
{"ph":"X","pid":1,"tid":1,"ts":5000,"dur":1000,"name":"train","args":{"step_num":"1"}},
{"ph":"X","pid":1,"tid":1,"ts":9000,"dur":1000,"name":"train","args":{"step_num":"2"}}
]})json";

class LanesTest : public ReadingTest {
 protected:
  std::string Trace() {
    const std::string path = Scratch("marked.trace.json");
    EXPECT_TRUE(WriteFileAtomically(path, kMarked));
    return path;
  }
  // It is read where it is asked for first.
  const Pending<ProfileModel>& Read() {
    ProfileOf(session());
    Settle();
    return *ProfileOf(session());
  }
};

TEST_F(LanesTest, TheTimelineIsAStripUntilThereIsATrace) {
  Start({Sample("attention_block_h100")});
  Press("Ctrl+5");
  const Dock::Panel& timeline = *app().dock().Find("timeline");
  const Dock::Panel& kernels = *app().dock().Find("kernels");
  const float strip = timeline.height, below = kernels.height;
  EXPECT_LT(strip, 120);
  EXPECT_GT(below, 3 * strip);
  ExpectSeen("timeline", "jax.profiler.trace(FOLDER)");
  session().AddProfiles({Sample("conv_net/conv_net.xplane.pb.gz")});
  Settle();
  EXPECT_GT(timeline.height, 2 * strip);
  EXPECT_LT(kernels.height, below - strip);
  session().CloseProfiles();
  Settle();
  EXPECT_EQ(timeline.height, strip);
}

// As the user has made it, while there is a trace.
TEST_F(LanesTest, TheTimelineMayBeLowWhileThereIsATrace) {
  Start({Sample("conv_net")});
  Press("Ctrl+5");
  const Dock::Panel& timeline = *app().dock().Find("timeline");
  ASSERT_GT(timeline.height, 200);
  ImGuiWindow* window = nullptr;
  for (ImGuiWindow* each : ImGui::GetCurrentContext()->Windows) {
    if (std::string_view(each->Name).ends_with("###kernels.timeline")) window = each;
  }
  ASSERT_NE(window, nullptr);
  constexpr float kLow = 70;
  ImGuiDockNode& node = *window->DockNode;
  node.Size.y = node.SizeRef.y = kLow;
  node.WantLockSizeOnce = true;
  Settle();
  Press("Ctrl+2");
  Press("Ctrl+5");
  EXPECT_LT(timeline.height, 2 * kLow);
}

TEST_F(LanesTest, ATraceThatIsClosedIsNotExported) {
  Start({Sample("attention_block"), Sample("conv_net/conv_net.xplane.pb.gz")});
  Press("Ctrl+5");
  const View& view = *app().dock().Find("timeline")->view;
  const auto open = view.Export(ExportFormat::kCsv, session());
  ASSERT_TRUE(open);
  EXPECT_TRUE(open->starts_with("lane,row,event")) << *open;
  session().CloseProfiles();
  Settle();
  EXPECT_FALSE(view.Export(ExportFormat::kCsv, session()));
  EXPECT_EQ(HighlightedItems("timeline"), "");
}

TEST_F(LanesTest, TheRooflineHasTheEstimatesWhereThereIsNoTrace) {
  Start({Sample("attention_block_h100")});
  Press("Ctrl+5");
  session().requests.Show("roofline");
  Settle();
  ExpectSeen("roofline", "no trace: each kernel is as high as");
  const KernelSheet& sheet = **KernelSheetOf(session());
  ASSERT_TRUE(sheet.is_estimate);
  size_t bounded = 0;
  for (const KernelRow& row : sheet.rows) {
    if (row.bound.ps <= 0 || row.bound.flops <= 0) continue;
    ++bounded;
    // No point is above the bandwidth of the device.
    EXPECT_GE(1e-12 * row.bound.ps * sheet.device.bytes_per_second, row.bound.bytes * 0.999)
        << row.name;
  }
  EXPECT_GT(bounded, 5u);
  const std::string shown = HighlightedItems("roofline");
  EXPECT_TRUE(shown.starts_with("points " + std::to_string(bounded) + "\n")) << shown;
  // Nothing was measured: the column says so.
  const auto csv = app().dock().Find("roofline")->view->Export(ExportFormat::kCsv, session());
  ASSERT_TRUE(csv);
  EXPECT_TRUE(csv->starts_with("instruction,flop_per_byte,most_flop_per_second\n")) << *csv;
}

// Flags of dumps are no help for a CPU, which has no PTX.
TEST_F(LanesTest, StepThreadSaysWhatAModuleOfACpuLacks) {
  Start({Sample("attention_block")});
  Press("Ctrl+5");
  session().requests.Show("thread");
  Settle();
  ExpectSeen("thread", "this module was compiled for a CPU");
}

TEST_F(LanesTest, ALaneWithoutAnEventInSightIsOneRow) {
  Start({Trace()});
  const Pending<ProfileModel>& model = Read();
  ASSERT_TRUE(model.ready()) << Messages();
  const profiler::EventStore& store = model->store();
  TimelineRows rows;
  rows.Show({{0, &store}});
  const float whole = rows.height();
  const profiler::TimeRange all = store.range();
  EXPECT_FALSE(rows.SetSight({{0, all}}));
  constexpr int64_t kMicrosecond = 1'000'000;
  EXPECT_TRUE(rows.SetSight({{0, {2000 * kMicrosecond, 4000 * kMicrosecond}}}));
  EXPECT_EQ(rows.height(), whole - 2 * TimelineRows::kRowHeight);
  for (uint32_t row = 0; row < store.rows().size(); ++row) EXPECT_NE(rows.Of(0, row), nullptr);
  EXPECT_FALSE(rows.SetSight({{0, {2500 * kMicrosecond, 4000 * kMicrosecond}}}));
  EXPECT_TRUE(rows.SetSight({{0, all}}));
  EXPECT_EQ(rows.height(), whole);
}

// Lanes fold when the camera moves: what F and the arrows lead to is in view after that.
TEST_F(LanesTest, WhatKeysLeadToIsInViewAfterLanesFold) {
  constexpr int kThreads = 100, kMiddle = 50;
  std::string text = R"({"traceEvents":[{"ph":"M","name":"process_name","pid":1,)"
                     R"("args":{"name":"/host:CPU"}})";
  for (int thread = 1; thread <= kThreads; ++thread) {
    for (int depth = 0; depth < 3; ++depth)
      text += fmt::format(R"(,{{"ph":"X","pid":1,"tid":{},"ts":{},"dur":{},"name":"early {}"}})",
                          thread, 10 * depth, 1000 - 50 * depth, depth);
  }
  text +=
      fmt::format(R"(,{{"ph":"X","pid":1,"tid":{},"ts":90000,"dur":1000,"name":"late"}})", kMiddle);
  const std::string path = Scratch("threads.trace.json");
  ASSERT_TRUE(WriteFileAtomically(path, text + "]}"));
  Start({path});
  Press("Ctrl+5");
  const ProfileModel& model = **ProfileOf(session());
  const profiler::EventStore& store = model.store();
  profiler::EventId late, early;  // the last two of one thread
  for (size_t e = 0; e < store.size() && !late.valid(); ++e) {
    if (store.text(store.name(profiler::EventId(e))) == "late") late = profiler::EventId(e);
  }
  ASSERT_TRUE(late.valid());
  early = store.Neighbour(late, false);
  ASSERT_TRUE(early.valid());
  session().requests.Show("timeline");
  session().navigation.Select(SelectionOf(model, late));
  Settle();
  Press("F");
  ExpectSeen("timeline", "late");
  // From where all lanes have three rows to where they have one.
  session().navigation.Select(SelectionOf(model, early));
  Settle();
  Press("F");
  ExpectSeen("timeline", "early 2");
  Press("Right");
  ExpectSeen("timeline", "late");
}

// Steps that the program marked are by the host's clock, those of the trace's own lane are not.
TEST_F(LanesTest, MarkedStepsAreNoMeasureForOthers) {
  Start({Trace()});
  const std::shared_ptr<const ProfileModel> model = Read().value;
  ASSERT_NE(model, nullptr) << Messages();
  TimelineFactsOf(session(), model);
  Settle();
  const TimelineFacts& marked = *TimelineFactsOf(session(), model);
  EXPECT_TRUE(marked.are_marked);
  TimelineFacts other = marked;
  other.are_marked = false;
  EXPECT_EQ(FindTracePartners(*model, marked, *model, marked).aligned_by, "by their first step");
  EXPECT_NE(FindTracePartners(*model, marked, *model, other).aligned_by, "by their first step");
}

// Positions of events are of one profile.
TEST_F(LanesTest, BookmarksOfEventsAreLookedForInTheNextProfile) {
  Start({Trace()});
  const std::shared_ptr<const ProfileModel> model = Read().value;
  ASSERT_NE(model, nullptr) << Messages();
  session().navigation.Select(SelectionOf(*model, profiler::EventId(size_t{0})));
  Settle();
  Press("Ctrl+B");
  Press("Enter");
  ASSERT_EQ(session().bookmarks.size(), 1u);
  ASSERT_TRUE(session().bookmarks[0].is_named());
  ASSERT_EQ(session().bookmarks[0].selection.kind, SelectionKind::kEvent);
  session().CloseProfiles();
  EXPECT_EQ(session().bookmarks[0].selection.kind, SelectionKind::kNothing);
}

// As devices do in the traces of others.
TEST_F(LanesTest, PlatformsComeBeforeTheCommandThatRanThem) {
  const std::string path = Scratch("recorded.hloprof");
  const std::string line = ProgramPath() + " run '" +
                           Sample(
                               "attention_block/"
                               "module_0000.jit_attention_block.before_optimizations.txt") +
                           "' --platform cpu --profile '" + path + "' > /dev/null 2>&1";
  ASSERT_EQ(std::system(line.c_str()), 0);
  Start({path});
  const Pending<ProfileModel>& model = Read();
  ASSERT_TRUE(model.ready()) << Messages();
  const profiler::EventStore& store = model->store();
  ASSERT_GE(store.groups().size(), 2u);
  EXPECT_EQ(store.text(store.groups().front().name), "cpu");
  EXPECT_EQ(store.text(store.groups().back().name), "hloscope");
}

TEST_F(LanesTest, StepsAreThoseThatTheProgramMarked) {
  Start({Trace()});
  const std::shared_ptr<const ProfileModel> model = Read().value;
  ASSERT_NE(model, nullptr) << Messages();
  TimelineFactsOf(session(), model);
  Settle();
  const Pending<TimelineFacts>& facts = TimelineFactsOf(session(), model);
  ASSERT_TRUE(facts.ready());
  EXPECT_EQ(facts->step_word, "step");
  std::vector<std::string> names;
  for (const TimelineStep& step : facts->steps) names.push_back(step.name);
  EXPECT_EQ(names, (std::vector<std::string>{"train 0", "train 1", "train 2"}));
  Press("Ctrl+5");
  ExpectSeen("timeline", "3 steps");
}

TEST_F(LanesTest, TheWordForStepsIsSaidOnce) {
  std::string text = kMarked;
  for (size_t at = text.find("train\""); at != std::string::npos; at = text.find("train\""))
    text.replace(at, 5, "step");
  const std::string path = Scratch("marked.trace.json");
  ASSERT_TRUE(WriteFileAtomically(path, text));
  Start({path});
  Press("Ctrl+5");
  ExpectSeen("timeline", "step 1");
  EXPECT_FALSE(FindSeen(Seen("timeline"), "step step 1").has_value());
}

// With a profile alone something is open.
TEST_F(LanesTest, AProfileIsNamedWhereThereIsNoDump) {
  Start({Trace()});
  Press("Ctrl+5");
  ExpectSeen("window", "marked.trace.json");
  EXPECT_FALSE(FindSeen(Seen("window"), "nothing is open").has_value());
}

// There is no PTX of a CPU.
TEST_F(LanesTest, FlagsAreSaidToWriteWhatTheModuleHas) {
  Start({Sample("conv_net")});
  Press("Ctrl+5");
  ExpectSeen("code", "writes LLVM IR");
  EXPECT_FALSE(FindSeen(Seen("code"), "LLVM IR and").has_value());
  EXPECT_FALSE(FindSeen(Seen("kernels"), "LLVM IR and").has_value());
  const auto text = [](const char* device, const char* target) {
    dump::ModuleEntry module;
    module.device = device;
    module.target = target;
    return NoKernelCodeText(module) + "; " + NoCodeText(module);
  };
  EXPECT_NE(text("gpu", "sm_90a").find("ptx|triton-fusion)$ writes LLVM IR and PTX"),
            std::string::npos);
  for (const std::string& none : {text("cpu", ""), text("gpu", "gfx942")}) {
    EXPECT_NE(none.find("--xla_dump_emitter_re=^llvm$ writes LLVM IR;"), std::string::npos);
    EXPECT_TRUE(none.ends_with("writes LLVM IR")) << none;
  }
  for (const char* device : {"tpu", "unknown"})
    EXPECT_EQ(text(device, ""), "no code of this kernel in the dump; no code in this dump");
}

// Long names are cut in the line above the lanes; its tooltip has them whole.
TEST_F(LanesTest, TheNamesOfTwoProfilesAreWholeInTheTooltip) {
  std::string paths[2];
  for (int k = 0; k < 2; ++k) {
    paths[k] = Scratch(std::string(70, k == 0 ? 'a' : 'b') + ".trace.json");
    ASSERT_TRUE(WriteFileAtomically(paths[k], kMarked));
  }
  Start({paths[0]});
  session().document.CompareWith(paths[1]);
  Press("Ctrl+5");
  const std::optional<SeenAt> line = FindSeen(Seen("timeline"), "before: aaa");
  ASSERT_TRUE(line.has_value()) << SeenLines(Seen("timeline"));
  std::string said;
  Drive([&](ImGuiTestContext* context) {
    context->MouseMoveToPos(ImVec2(line->x, line->y));
    context->Yield(3);
    said = DrawnTooltip();
  });
  for (const char c : {'a', 'b'})
    EXPECT_NE(said.find(std::string(70, c) + ".trace.json\n"), std::string::npos) << said;
  EXPECT_NE(said.find("aligned by their first step"), std::string::npos) << said;
}

TEST_F(LanesTest, TwoProfilesOfOneNameAreToldApart) {
  using Names = std::pair<std::string, std::string>;
  EXPECT_EQ(NamesApart("/a/one/vm.xplane.pb", "/a/two/vm.xplane.pb"),
            Names("one/vm.xplane.pb", "two/vm.xplane.pb"));
  EXPECT_EQ(NamesApart("/a/x/p/vm.pb", "/b/y/p/vm.pb"), Names("x/p/vm.pb", "y/p/vm.pb"));
  EXPECT_EQ(NamesApart("/a/one.pb", "/a/two.pb"), Names("one.pb", "two.pb"));
  EXPECT_EQ(NamesApart("/a/one.pb", "/a/one.pb"), Names("a/one.pb", "a/one.pb"));
  EXPECT_EQ(NamesApart("one.pb", "one.pb"), Names("one.pb", "one.pb"));
}

}  // namespace
}  // namespace hloscope::viewer
