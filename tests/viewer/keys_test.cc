// Every row of the table of keys and commands does what it says: each of its chords, and the
// palette where it has none. A row without a case here fails.
#include <imgui.h>
#include <imgui_te_context.h>

#include <atomic>
#include <map>
#include <thread>

#include "core/base/file.h"
#include "tests/viewer/viewer_fixture.h"
#include "viewer/facts/heat.h"
#include "viewer/facts/kernel_code.h"
#include "viewer/facts/path_facts.h"
#include "viewer/frame/keyboard.h"
#include "viewer/model/pass_search.h"

namespace hloscope::viewer {
namespace {

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// What a key is tried on, and what must be true behind it.
struct Case {
  std::string sample, select;  // MODULE[@STAGE]:INSTRUCTION; empty: nothing
  std::string screen, view;    // the view that has the keys; empty: that of the screen
  std::function<bool()> check;
  std::function<void()> prepare = [] {};
};
using Check = std::function<bool()>;
using Cases = std::map<Command, Case>;

struct SlowKey {
  using Value = int;
  auto operator<=>(const SlowKey&) const = default;
};

class KeysTest : public ViewerTest {
 protected:
  void Begin(const Case& c) {
    if (!c.select.empty()) app().SelectWhenOpen(c.select);
    app().Open({Sample(c.sample)});
    app().popups().Close();
    app().dock().SetScreen(c.screen);
    Settle();
    Focus(c.view);
    if (c.prepare) c.prepare();
    Remember();
  }
  void Focus(const std::string& view) {
    if (view.empty()) return;
    session().requests.Show(view);
    Settle();
  }
  void Remember() {
    name_ = SelectedName();
    stage_ = session().navigation.stage();
    generation_ = session().document.generation();
    dark_ = app().theme().dark();
    size_ = app().zoom();
    boxes_ = Boxes();
    zoom_ = Zoom();
    for (Dock::Panel& panel : app().dock().panels()) states_[panel.row->id] = panel.view->State();
  }

  bool Shows(Popups::Kind kind) { return app().popups().kind() == kind; }
  bool On(std::string_view screen) { return app().dock().screen() == screen; }
  bool Selected() { return SelectedName() != name_; }
  bool Changed(std::string_view view) {
    return app().dock().Find(view)->view->State() != states_[view];
  }
  static bool Typing() { return ImGui::GetIO().WantTextInput; }
  std::string Copied() {
    app().Run(Command::kCopy);
    const char* text = ImGui::GetClipboardText();
    return text == nullptr ? "" : text;
  }
  float NumberIn(std::string_view before, std::string_view behind) {
    const std::string highlighted = HighlightedItems("graph");
    const size_t at = before.empty() ? highlighted.find(behind) : highlighted.find(before);
    if (at == std::string::npos) return -1;
    size_t begin = at + before.size();
    if (before.empty())
      begin =
          highlighted.rfind('\n', at) == std::string::npos ? 0 : highlighted.rfind('\n', at) + 1;
    return std::strtof(highlighted.c_str() + begin, nullptr);
  }
  int Boxes() { return static_cast<int>(NumberIn("", " boxes")); }
  float Zoom() { return NumberIn("zoom ", ""); }

  Cases ViewerCases();
  Cases SelectionCases();
  Cases QuestionCases();
  Cases TextCases();
  Cases GraphCases();
  Cases GraphLookCases();
  Cases ExperimentCases();
  Cases All();

  std::string name_, line_, clipboard_;
  int32_t stage_ = -1;
  uint64_t generation_ = 0;
  bool dark_ = false;
  float size_ = 0, width_ = 0, zoom_ = 0;
  int boxes_ = 0;
  std::map<std::string_view, std::string> states_;
  std::atomic<bool> started_ = false, stopped_ = false;
};

Cases KeysTest::ViewerCases() {
  using enum Command;
  auto on_home = [](Check check, std::function<void()> prepare = {}) {
    return Case{"softmax_passes_a100", "", "home", "home", std::move(check), std::move(prepare)};
  };
  auto popup = [&](Popups::Kind kind) { return on_home([this, kind] { return Shows(kind); }); };
  auto screen = [&](const std::string& id) {
    const std::string other = id == "home" ? "memory" : "home";
    return on_home([this, id] { return On(id); }, [this, other] { app().dock().SetScreen(other); });
  };
  auto passes = [this] { Press("Ctrl+3"); };
  auto passes_undone = [this] {
    Press("Ctrl+3");
    Press("Ctrl+Z");
  };
  auto drag_splitter = [this] {
    app().dock().SetScreen("kernels");
    Settle();
    width_ = app().dock().Find("modules")->width;
    Drive([&](ImGuiTestContext* context) {
      context->MouseMoveToPos(ImVec2(app().dock().Find("modules")->width, 500));
      context->MouseDragWithDelta(ImVec2(200, 0));
    });
    EXPECT_GT(app().dock().Find("modules")->width, width_ + 100);
  };
  auto work = [this] {
    started_ = stopped_ = false;
    session().tasks.Start("works until it is stopped", [this](TaskControl& control) {
      started_ = true;
      while (!control.stopped()) std::this_thread::yield();
      return Tasks::Finish([this] { stopped_ = true; });
    });
    while (!started_) std::this_thread::yield();
  };
  // The first time it is asked for it never ends.
  auto ask = [this] {
    return session()
        .cache
        .Get(SlowKey(), "slow work",
             [this](TaskControl& control) -> Computed<int> {
               if (!started_.exchange(true)) {
                 while (!control.stopped()) std::this_thread::yield();
               }
               if (control.stopped()) return EnvironmentError("stopped");
               return std::make_shared<const int>(1);
             })
        .state;
  };
  auto cancelled = [this, ask] {
    started_ = false;
    ask();
    while (!started_) std::this_thread::yield();
    Press("Ctrl+.");
    EXPECT_EQ(ask(), PendingState::kFailed);
  };
  auto goes_on = [this, ask] {
    ask();
    Settle();
    return ask() == PendingState::kReady;
  };
  auto scale = [this] { return app().zoom(); };
  return {
      {kKeys, popup(Popups::Kind::kKeys)},
      {kPalette, popup(Popups::Kind::kPalette)},
      {kOpen, popup(Popups::Kind::kOpen)},
      {kSearch, popup(Popups::Kind::kSearch)},
      {kCompare, popup(Popups::Kind::kCompare)},
      {kCompareProfile, popup(Popups::Kind::kCompareProfile)},
      {kCloseSecond, on_home([this] { return !session().second.is_open(); },
                             [this] {
                               session().second.Open(Sample("attention_block_h100"));
                               Settle();
                               EXPECT_TRUE(session().second.dump().ready());
                             })},
      {kCloseProfiles, on_home([this] { return session().document.profile_paths().empty(); },
                               [this] {
                                 session().AddProfiles({Sample("conv_net/conv_net.xplane.pb.gz")});
                                 Settle();
                                 EXPECT_EQ(session().document.profile_paths().size(), 1u);
                               })},
      {kExportPng, popup(Popups::Kind::kExport)},
      {kExportSvg, popup(Popups::Kind::kExport)},
      {kExportCsv, popup(Popups::Kind::kExport)},
      {kBookmark, popup(Popups::Kind::kNote)},
      {kReload, on_home([this] {
         return session().document.generation() > generation_ && session().document.dump().ready();
       })},
      {kQuit, on_home([this] { return app().quit(); })},
      {kUndo, on_home([this] { return On("home"); }, passes)},
      {kRedo, on_home([this] { return On("passes"); }, passes_undone)},
      {kScreenHome, screen("home")},
      {kScreenGraph, screen("graph")},
      {kScreenPasses, screen("passes")},
      {kScreenDivergence, screen("divergence")},
      {kScreenKernels, screen("kernels")},
      {kScreenMemory, screen("memory")},
      {kNextView, on_home([this] { return app().dock().focused_view() == "selection"; })},
      {kResetLayout,
       on_home([this] { return app().dock().Find("modules")->width == width_; }, drag_splitter)},
      {kTheme, on_home([this] { return app().theme().dark() != dark_; })},
      {kLarger, on_home([=, this] { return scale() > size_; })},
      {kSmaller, on_home([=, this] { return scale() < size_; })},
      {kActualSize,
       on_home([=, this] { return scale() == 1 && size_ > 1; }, [this] { Press("Ctrl+="); })},
      {kResume, on_home(goes_on, cancelled)},
      {kCancel, on_home([this] { return stopped_.load(); }, work)},
  };
}

Cases KeysTest::SelectionCases() {
  using enum Command;
  auto on = [](const char* select, Check check, std::function<void()> prepare = {}) {
    return Case{"softmax_passes_a100", select, "home", "home", std::move(check),
                std::move(prepare)};
  };
  const char* inner = "jit_softmax@before_optimizations:sub.9";
  const char* call = "jit_softmax@before_optimizations:jit_log_softmax_.1";
  const char* last = "jit_softmax:triton_softmax.2";
  auto two_stages = [this] {
    session().navigation.Select(Selection::OfStage(0, 1));
    session().navigation.Select(Selection::OfStage(0, 2));
  };
  auto back = [this, two_stages] {
    two_stages();
    Settle();
    Press("Alt+Left");
  };
  auto touched = [this] {
    return session().navigation.counterparts().TouchedInto(session().navigation.stage()) ||
           session().navigation.counterparts().TouchedInto(session().navigation.stage() + 1);
  };
  return {
      {kBack, on(
                  "", [this] { return session().navigation.stage() == 1; }, two_stages)},
      {kForward, on(
                     "", [this] { return session().navigation.stage() == 2; }, back)},
      {kDeselect, on(inner, [this] { return SelectedName() == "nothing"; })},
      {kCopy, on(inner, [this] { return clipboard_ == "sub.9"; })},
      {kCopyText, on(inner, [this] { return Has(clipboard_, "sub.9 = f32[64]"); })},
      {kPreviousPass, on(last, [this] { return session().navigation.stage() == stage_ - 1; })},
      {kNextPass, on(inner, [this] { return session().navigation.stage() == stage_ + 1; })},
      {kPreviousChange,
       on(last, [=, this] { return session().navigation.stage() < stage_ - 1 && touched(); })},
      {kNextChange,
       on(inner, [=, this] { return session().navigation.stage() > stage_ + 1 && touched(); })},
      {kOperand, on(inner, [this] { return SelectedName() == "sub.8"; })},
      {kUser, on(inner, [this] { return SelectedName() == "sub.10"; })},
      {kCallee, on(call, [this] { return SelectedName() == "sub.15"; })},
      {kCaller, on(inner, [this] { return SelectedName() == "jit_log_softmax_.1"; })},
      {kShowCode,
       on(last, [this] { return On("kernels") && Has(HighlightedItems("code"), "PTX "); })},
      {kShowUses, on(inner, [this] { return Shows(Popups::Kind::kSearch); })},
  };
}

Cases KeysTest::QuestionCases() {
  using enum Command;
  auto of = [](const char* sample, const Check& check) {
    return Case{sample, "", "graph", "", check};
  };
  const char* gpu = "attention_block_h100";
  return {
      {kAskLargest, of(gpu,
                       [this] {
                         return On("home") &&
                                session().navigation.selection() == Selection::OfModule(0);
                       })},
      {kAskHost, of(gpu, [this] { return On("home"); })},
      {kAskPeak, of(gpu,
                    [this] {
                      return On("memory") && SelectedName() == "buffer" &&
                             Has(HighlightedItems("buffers"), "* qkv.1 12288");
                    })},
      {kAskSlowest,
       of("conv_net",
          [this] { return HighlightedItems("kernels") == "conv_general_dilated.3\n"; })},
      {kAskTransfers, of(gpu, [this] { return On("home"); })},
      {kAskPasses, of("softmax_passes_a100",
                      [this] {
                        return On("passes") &&
                               Has(HighlightedItems("passes"), "after_call-inliner");
                      })},
      {kAskDifference,
       of(gpu,
          [this] { return Has(HighlightedItems("changes"), "against before_optimizations"); })},
      {kFindNan, of("mlp_train_step",
                    [this] {
                      return On("divergence") && Has(HighlightedItems("divergence"),
                                                     "no NaN found with inputs from inputs.npz");
                    })},
      {kAskPass,
       of("mlp_train_step",
          [this] { return On("divergence") && Has(HighlightedItems("verdict"), "no pass"); })},
      {kReduce, of("mlp_train_step",
                   [this] { return On("divergence") && Has(Messages(), "nothing to reduce"); })},
      {kRecompile, of("mlp_train_step", [this] { return Shows(Popups::Kind::kRecompile); })},
      {kMakeBundle, of("mlp_train_step", [this] { return Shows(Popups::Kind::kBundle); })},
      {kAskMissing, of(gpu, [this] { return On("home"); })},
  };
}

Cases KeysTest::TextCases() {
  using enum Command;
  auto of = [](Check check, std::function<void()> prepare = {}) {
    return Case{
        "softmax_passes_a100", "jit_softmax:triton_softmax.2", "passes", "text", std::move(check),
        std::move(prepare)};
  };
  auto search = [this] {
    Press("Ctrl+F");
    Type("ROOT");
    Press("Enter");
    line_ = Copied();
    EXPECT_TRUE(Has(line_, "ROOT")) << line_;
  };
  auto other_hit = [this] { return Has(Copied(), "ROOT") && Copied() != line_; };
  return {
      {kFind, of([] { return Typing(); })},
      {kFindNext, of(other_hit, search)},
      {kFindPrevious, of(other_hit, search)},
      {kTextFold, of([this] { return Changed("text"); })},
      {kTextGoTo, of([this] { return Typing() && Changed("text"); })},
  };
}

Cases KeysTest::GraphCases() {
  using enum Command;
  auto at = [](const char* name, Check check, std::function<void()> prepare = {}) {
    return Case{"attention_block_h100",
                std::string("jit_attention_block:") + name,
                "graph",
                "graph",
                std::move(check),
                std::move(prepare)};
  };
  const char* fusion = "gemm_fusion_dot.3";
  auto more = [this] { return Boxes() > boxes_; };
  auto fewer = [this] { return Boxes() < boxes_; };
  // The root of what the selection calls; the fusion around it is closed.
  auto inside = [this] {
    Press("Alt+Enter");
    Focus("graph");
  };
  auto revealed = [this, inside] {
    inside();
    Press("F");
  };
  auto is_revealed = [this] {
    return Has(HighlightedItems("graph"), "fusions: " + SelectedName());
  };
  auto path_begun = [this] {
    Press("P");
    app().Run(Command::kOperand);
    Settle();
  };
  return {
      {kGraphUp, at(fusion, [this] { return Selected(); })},
      {kGraphDown, at("gemm_fusion_dot.1", [this] { return Selected(); })},
      {kGraphRight, at(
                        "down.1", [this] { return Selected(); }, [this] { Press("Left"); })},
      {kGraphLeft, at(
                       "down.1", [this] { return Selected(); }, [this] { Press("Right"); })},
      {kGraphToggle, at(fusion, more)},
      {kGraphCloseOuter, at(fusion, fewer, revealed)},
      {kGraphCloseAll, at(fusion, fewer, [this] { Press("Enter"); })},
      {kGraphOpenAll, at(fusion, more)},
      {kGraphAround,
       at(fusion, [=, this] { return fewer() && Has(HighlightedItems("graph"), ", around"); })},
      {kGraphWider, at(fusion, more, [this] { Press("N"); })},
      {kGraphPaths,
       at(
           fusion, [this] { return Has(HighlightedItems("graph"), ", paths"); }, path_begun)},
      {kFit, at(fusion, is_revealed, inside)},
  };
}

Cases KeysTest::GraphLookCases() {
  using enum Command;
  auto at = [](Check check, std::function<void()> prepare = {}) {
    return Case{"attention_block_h100",
                "jit_attention_block:gemm_fusion_dot.3",
                "graph",
                "graph",
                std::move(check),
                std::move(prepare)};
  };
  auto looks = [this] { return Changed("graph"); };
  return {
      {kGraphColor, at(looks)},
      {kGraphHeat, at(looks)},
      {kHeatOff, at([this] { return !Has(HighlightedItems("graph"), "heat "); },
                    [this] { app().Run(kHeatBytes); })},
      {kHeatTime, at([this] { return MeasureInView(session()) == HeatMeasure::kTime; })},
      {kHeatEstimate, at([this] { return Has(HighlightedItems("graph"), "heat estimate"); })},
      {kHeatBytes, at([this] { return Has(HighlightedItems("graph"), "heat bytes"); })},
      {kHeatFlops, at([this] { return Has(HighlightedItems("graph"), "heat flops"); })},
      {kHeatError, at([this] { return MeasureInView(session()) == HeatMeasure::kError; })},
      {kHeatPeak, at([this] { return Has(HighlightedItems("graph"), "heat peak"); })},
      {kHeatNext, at([this] { return MeasureInView(session()) == HeatMeasure::kTime; })},
      {kGraphLink, at(looks)},
      {kGraphMinimap, at(looks)},
      {kGraphSource, at(looks)},
      {kGraphFusions, at(looks)},
      {kGraphDevices, at(looks)},
      {kGraphContents, at(looks)},
      {kGraphOrder, at([this] { return Has(HighlightedItems("graph"), "largest first"); },
                       [this] { Press("4"); })},
      {kGraphZoomIn, at([this] { return Zoom() > zoom_; })},
      {kGraphZoomOut, at([this] { return Zoom() < zoom_; })},
      {kGraphReadable, at([this] { return Zoom() == 1 && zoom_ != 1; }, [this] { Press("-"); })},
      {kFitAll, at([this] { return Zoom() != zoom_; },
                   [this] {
                     Press("0");
                     Press("=");
                   })},
  };
}

Cases KeysTest::ExperimentCases() {
  using enum Command;
  auto choose = [this] {
    app().dock().Find("divergence")->view->SetState("interpreter\n\n0\n0");
    Settle();
  };
  auto run = [this, choose] {
    choose();
    Press("F9");
    session().navigation.Select(
        Selection::OfInstruction(0, 0, (*session().document.dump()->Module(0, 0))->entry().root));
    Settle();
    Focus("values");
  };
  Case curve{"mlp_train_step", "", "divergence", "curve", {}, [this] {
               const std::string path = Scratch("verdict.json");
               ASSERT_TRUE(WriteFileAtomically(
                   path, R"({"status":"differs","cured_by":[],"verdict":"x","walk":{"compared":2,)"
                         R"("curve":[{"instruction":"a","diverging":1,"max_abs_error":1},)"
                         R"({"instruction":"b","max_abs_error":1}]}})"));
               app().Open({Sample("mlp_train_step"), path});
               app().dock().SetScreen("divergence");
               Settle();
               Focus("curve");
             }};
  Case curve_next = curve, curve_previous = curve;
  curve_next.check = [this] { return Has(HighlightedItems("curve"), "chosen b"); };
  curve_previous.prepare = [this, open = curve.prepare] {
    open();
    app().Run(Command::kCurveNext);
    Settle();
    ASSERT_TRUE(Has(HighlightedItems("curve"), "chosen b"));
  };
  curve_previous.check = [this] { return Has(HighlightedItems("curve"), "chosen a"); };
  const Case profiles{"conv_net", "", "kernels", "kernels", {}, [this] {
                        session().document.CompareWith(Sample("conv_net"));
                        Settle();
                      }};
  Case swaps = profiles, stops = profiles;
  swaps.check = [this] { return Changed("kernels"); };
  stops.check = [this] { return session().document.second_profile().empty(); };
  const Case path{"conv_net", "", "kernels", "timeline",
                  [this] { return session().marks.Of<TimelineMarks>().critical_path; }};
  const Case sass{"attention_block_h100", "jit_attention_block:gemm_fusion_dot.3", "kernels",
                  "code",
                  [this] { return session().marks.Of<AskedMachineCode>().kernels.size() == 1; }};
  auto trace = [this] {
    app().Run(Command::kTraceThread);
    ASSERT_TRUE(DrawUntil([this] { return Has(HighlightedItems("thread"), "step 0 "); }))
        << HighlightedItems("thread");
  };
  auto walk = [this, trace] {
    trace();
    // To a step that reads what another has written.
    for (int i = 0; i < 12; ++i) app().Run(Command::kThreadForward);
    Settle();
    ASSERT_TRUE(Has(HighlightedItems("thread"), "step 12 ")) << HighlightedItems("thread");
  };
  const Case thread{"softmax_passes_a100", "jit_softmax:triton_softmax.2", "kernels", "thread",
                    [this] { return Has(HighlightedItems("thread"), "step 0 "); }};
  Case traces = thread, forward = thread, back = thread, origin = thread;
  traces.check = [this] {
    return DrawUntil([this] { return Has(HighlightedItems("thread"), "step 0 "); });
  };
  forward.prepare = trace;
  forward.check = [this] { return Has(HighlightedItems("thread"), "step 1 "); };
  back.prepare = walk;
  back.check = [this] { return Has(HighlightedItems("thread"), "step 11 "); };
  origin.prepare = walk;
  origin.check = [this] { return !Has(HighlightedItems("thread"), "step 12 "); };
  const Case base{"mlp_train_step", "", "divergence", "divergence", {}, choose};
  Case runs = base, values = base, diverges = base, records = base, compiles = base;
  records.check = [this] { return Changed("divergence"); };
  compiles.check = [this] { return session().document.path().ends_with(".dump"); };
  diverges.prepare = [this] {
    app().dock().Find("divergence")->view->SetState("interpreter\ninterpreter\n0\n0");
    Settle();
  };
  diverges.check = [this] { return !session().marks.Of<AskedVerdicts>().all.empty(); };
  runs.check = [this] { return session().experiment.report() != nullptr; };
  values.check = [this] { return Has(HighlightedItems("values"), "values of "); };
  values.prepare = run;
  Case pins = base, chooses = base;
  pins.view = "divergence";
  pins.prepare = [this, choose] {
    choose();
    session().navigation.Select(
        Selection::OfInstruction(0, 0, (*session().document.dump()->Module(0, 0))->entry().root));
    Settle();
  };
  pins.check = [this] { return !HighlightedItems("pinned").empty(); };
  chooses.check = [this] { return app().popups().kind() == Popups::Kind::kInputs; };
  return {{kPin, pins},
          {kChooseInputs, chooses},
          {kCurveNext, curve_next},
          {kCurvePrevious, curve_previous},
          {kRunExperiment, runs},
          {kValues, values},
          {kSwapProfiles, swaps},
          {kStopComparing, stops},
          {kFindDivergence, diverges},
          {kRecordProfile, records},
          {kShowCompiled, compiles},
          {kCriticalPath, path},
          {kTraceThread, traces},
          {kThreadForward, forward},
          {kThreadBack, back},
          {kThreadOrigin, origin},
          {kShowSass, sass}};
}

Cases KeysTest::All() {
  Cases all;
  for (Cases part : {ViewerCases(), SelectionCases(), QuestionCases(), TextCases(), GraphCases(),
                     GraphLookCases(), ExperimentCases()})
    all.merge(part);
  return all;
}

TEST_F(KeysTest, EveryRowOfTheTableDoesWhatItSays) {
  const Cases cases = All();
  for (const CommandRow& row : CommandRows()) {
    SCOPED_TRACE(std::string(row.id));
    auto found = cases.find(row.command);
    ASSERT_TRUE(found != cases.end()) << "no case for it in keys_test.cc";
    const auto begin = [&] {
      Start({});
      if (found->second.view == std::string_view("graph")) ShowPictures();
      Begin(found->second);
    };
    if (row.keys.empty()) {
      begin();
      Press("Ctrl+Shift+P");
      Type(row.title);
      Press("Enter");
      EXPECT_TRUE(found->second.check()) << "from the palette";
      Stop();
    }
    for (const KeyBinding& binding : KeyBindings()) {
      if (binding.command != row.command) continue;
      begin();
      Drive([&](ImGuiTestContext* context) {
        context->KeyPress(binding.chord);
        context->Yield(3);
        // The test engine has a clipboard of its own for the time of a test.
        const char* text = ImGui::GetClipboardText();
        clipboard_ = text == nullptr ? "" : text;
      });
      EXPECT_TRUE(found->second.check()) << row.keys << "\nselected " << SelectedName();
      Stop();
    }
  }
}

// A chord means one thing wherever it is heard.
TEST_F(KeysTest, NoChordIsGivenTwice) {
  std::map<int, std::string_view> always;
  for (const KeyBinding& binding : KeyBindings()) {
    const CommandRow& row = RowOf(binding.command);
    if (row.when != "always" && row.when != "open") continue;
    EXPECT_TRUE(always.emplace(binding.chord, row.id).second)
        << row.id << " has a chord of " << always[binding.chord];
  }
}

}  // namespace
}  // namespace hloscope::viewer
