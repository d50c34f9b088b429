// Divergence: two platforms against each other on one module: what is asked, how far it is, which
// instructions differ first, and where a NaN first appears. Nothing runs before the button is
// pressed.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "core/debug/run/finding_text.h"
#include "core/debug/run/platforms_here.h"
#include "core/replay/platform_table.h"
#include "viewer/divergence/check_findings.h"
#include "viewer/divergence/divergence_outcome.h"
#include "viewer/divergence/nonfinite_outcome.h"
#include "viewer/graph/graph_legend.h"
#include "viewer/lab/failing_run.h"
#include "viewer/lab/own_compilation.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/experiment.h"
#include "viewer/model/marks.h"
#include "viewer/model/messages.h"
#include "viewer/model/navigation.h"
#include "viewer/model/pass_search.h"
#include "viewer/model/requests.h"
#include "viewer/model/tasks.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

class DivergenceView : public View {
 public:
  void Draw(Frame& frame) override {
    Context& context = frame.context;
    if (!ShowDump(frame)) return;
    const int32_t module = context.navigation.module();
    if (module < 0) {
      Sentence(frame, "no module in this dump");
      return;
    }
    StartWaiting(context);
    if (wants_divergence_) FindDivergence(context, module);
    DrawChoices(frame, module);
    DrawButtons(frame, module);
    ImGui::Separator();
    DrawOutcome(frame);
  }

  bool Run(Command command, Frame& frame) override {
    const int32_t module = frame.context.navigation.module();
    if (module < 0) return false;
    switch (command) {
      case Command::kRunExperiment:
        Start(frame.context, module, std::nullopt);
        return true;
      case Command::kFindNan:
        Start(frame.context, module, debug::NonFiniteKind::kNan);
        return true;
      case Command::kRecordProfile:
        record_ = !record_;
        return true;
      case Command::kShowCompiled:
        ShowCompiled(frame.context, module);
        return true;
      case Command::kFindDivergence:
        FindDivergence(frame.context, module);
        return true;
      case Command::kCancel:
        frame.context.experiment.Cancel();
        CancelSearch(frame.context, module);
        return true;
      default:
        return false;
    }
  }

  std::string State() const override {
    return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", platform_, reference_,
                       only_differences_ ? 1 : 0, isolate_ ? 1 : 0, record_ ? 1 : 0,
                       check_races_ ? 1 : 0, check_uninitialised_ ? 1 : 0);
  }
  void SetState(std::string_view state) override {
    std::array<std::string, 7> parts;
    for (std::string& part : parts) {
      const size_t end = std::min(state.find('\n'), state.size());
      part = state.substr(0, end);
      state.remove_prefix(std::min(end + 1, state.size()));
    }
    if (parts[3].empty()) return;
    platform_ = parts[0];
    reference_ = parts[1];
    only_differences_ = parts[2] == "1";
    isolate_ = parts[3] == "1";
    record_ = parts[4] == "1";
    check_races_ = parts[5] == "1";
    check_uninitialised_ = parts[6] == "1";
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    const Experiment& experiment = context.experiment;
    if (format != ExportFormat::kCsv || experiment.module() == nullptr) {
      return View::Export(format, context);
    }
    std::string out =
        "instruction,verdict,max_abs_error,max_rel_error,max_ulp,mismatched,elements\n";
    for (const Finding& f : experiment.findings()) {
      out += fmt::format("{},{},{},{},{},{},{}\n",
                         CsvCell(experiment.module()->name(f.instruction)), ToString(f.verdict),
                         f.max_abs_error, f.max_rel_error, f.max_ulp, f.mismatched, f.elements);
    }
    return out;
  }

  std::string HighlightedItems(Context& context) const override {
    const Experiment& experiment = context.experiment;
    std::string out = VerdictText(experiment);
    if (experiment.report() != nullptr) {
      for (const replay::RunFinding& found : experiment.report()->checks)
        out += "\n" + debug::HeadText(found);
    }
    for (const Finding& f : experiment.findings()) {
      if (!StandsOut(f.verdict)) continue;
      out += fmt::format("\n{} {}", experiment.module()->name(f.instruction), ToString(f.verdict));
    }
    return out;
  }

 private:
  void DrawChoices(Frame& frame, int32_t module) {
    if (platforms_.empty()) {
      platforms_ = debug::PlatformStates();
      if (platform_.empty()) platform_ = replay::DefaultPlatform().name;
    }
    const dump::ModuleEntry& entry =
        frame.context.document.dump()->modules()[static_cast<size_t>(module)];
    if (entry.stages.empty()) return;
    stage_ = std::clamp(stage_, 0, static_cast<int>(entry.stages.size()) - 1);
    Name(frame, "module", false);
    FittedLabel(entry.name);
    Name(frame, "stage", false);
    ChooseStage(frame, entry);
    Name(frame, "inputs", false);
    inputs_.Draw(frame, module, stage_);
    Name(frame, "platform", false);
    Choose(frame, "##platform", platform_, false);
    Name(frame, "reference", SameLineFits(150 * frame.scale));
    Choose(frame, "##reference", reference_, true);
    SameLineIfRoom(CheckboxWidth("check each instruction separately"));
    ImGui::Checkbox("check each instruction separately", &isolate_);
    Help(
        "run each instruction alone on both platforms, with the same operands "
        "(--isolate_instructions)");
    SameLineIfRoom(CheckboxWidth("record a profile"));
    ImGui::Checkbox("record a profile", &record_);
    Help(Command::kRecordProfile);
    DrawChecks(frame);
    SameLineIfRoom(CheckboxWidth("custom tolerance"));
    ImGui::Checkbox("custom tolerance", &own_bounds_);
    Help("set tolerances instead of using those of the element type");
    if (!own_bounds_) return;
    Name(frame, "absolute", false);
    ImGui::SetNextItemWidth(110 * frame.scale);
    ImGui::InputDouble("##absolute", &absolute_, 0, 0, "%.1e");
    Help("absolute tolerance");
    Name(frame, "relative", true);
    ImGui::SetNextItemWidth(110 * frame.scale);
    ImGui::InputDouble("##relative", &relative_, 0, 0, "%.1e");
    Help("relative tolerance");
  }

  // Checks of a simulated GPU in addition to accesses out of bounds.
  void DrawChecks(Frame& /*frame*/) {
    if (!Simulates(platform_)) return;
    SameLineIfRoom(CheckboxWidth("check for races"));
    ImGui::Checkbox("check for races", &check_races_);
    Help("report unsynchronised accesses to the same byte (--check race)");
    SameLineIfRoom(CheckboxWidth("check for uninitialised reads"));
    ImGui::Checkbox("check for uninitialised reads", &check_uninitialised_);
    Help("report reads of uninitialised memory (--check uninitialised)");
  }
  static bool Simulates(std::string_view platform) {
    const replay::PlatformRow* row = replay::FindPlatform(platform);
    return row != nullptr && row->Has(replay::kSimulatesGpu);
  }

  // There is room for another name and a choice of that width in the line of the last item.
  static bool SameLineFits(float width) {
    const float end = ImGui::GetItemRectMax().x + width + ImGui::CalcTextSize("reference").x +
                      4 * ImGui::GetStyle().ItemSpacing.x;
    return end < ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
  }

  // The quiet name of the choice that follows it.
  static void Name(Frame& frame, const char* name, bool same_line) {
    if (same_line) ImGui::SameLine(0, 24 * frame.scale);
    ImGui::AlignTextToFramePadding();
    Label(frame.theme, Color::kTextSecondary, name);
    same_line ? ImGui::SameLine() : ImGui::SameLine(80 * frame.scale);
  }

  void ChooseStage(Frame& frame, const dump::ModuleEntry& entry) {
    ImGui::SetNextItemWidth(std::min(360 * frame.scale, ImGui::GetContentRegionAvail().x));
    const std::string shown = SafeText(entry.stages[static_cast<size_t>(stage_)].name, 48);
    const bool is_open = ImGui::BeginCombo("##stage", shown.c_str());
    Help("stage to run: " + entry.stages[static_cast<size_t>(stage_)].name);
    if (!is_open) return;
    for (int s = 0; s < static_cast<int>(entry.stages.size()); ++s) {
      const std::string label =
          fmt::format("{}##{}", SafeText(entry.stages[static_cast<size_t>(s)].name, 80), s);
      if (ImGui::Selectable(label.c_str(), s == stage_)) stage_ = s;
    }
    ImGui::EndCombo();
  }

  void Choose(Frame& frame, const char* name, std::string& value, bool may_be_none) {
    ImGui::SetNextItemWidth(150 * frame.scale);
    const std::string shown = value.empty() ? "none" : SafeText(value, 40);
    const bool is_open = ImGui::BeginCombo(name, shown.c_str());
    Help(may_be_none ? "the platform to compare with" : "the platform that runs the module");
    if (!is_open) return;
    if (may_be_none && ImGui::Selectable("none", value.empty())) value.clear();
    for (const debug::PlatformState& platform : platforms_) {
      const std::string& lack = platform.missing.empty() ? platform.no_device : platform.missing;
      ImGui::BeginDisabled(!lack.empty());
      const std::string label =
          lack.empty() ? platform.name
                       : fmt::format("{}: {}", platform.name, lack.substr(0, lack.find(':')));
      if (ImGui::Selectable(label.c_str(), platform.name == value)) value = platform.name;
      ImGui::EndDisabled();
      const replay::PlatformRow* row = replay::FindPlatform(platform.name);
      Help(lack.empty() && row != nullptr ? row->summary : lack);
    }
    ImGui::EndCombo();
  }

  void DrawButtons(Frame& frame, int32_t module) {
    Experiment& experiment = frame.context.experiment;
    if (experiment.running()) {
      if (ImGui::Button("Cancel")) experiment.Cancel();
      Help("stop this run");
      ImGui::SameLine();
      const auto done = std::ssize(experiment.findings());
      std::string text = fmt::format("{}, {:.1f} s", experiment.doing(), experiment.seconds());
      if (experiment.expected_findings() > 0) {
        text += fmt::format(", {} of {}", CountText(done),
                            CountedText(experiment.expected_findings(), "instruction"));
      }
      const float part =
          experiment.expected_findings() > 0
              ? static_cast<float>(done) / static_cast<float>(experiment.expected_findings())
              : -1.0F * static_cast<float>(frame.seconds);
      ImGui::ProgressBar(part, ImVec2(-1, 0), SafeText(text, 120).c_str());
      return;
    }
    if (DrawVerdictProgress(frame, module)) return;
    if (ImGui::Button("Run")) Start(frame.context, module, std::nullopt);
    Help(Command::kRunExperiment);
    ImGui::SameLine();
    if (ImGui::Button("Find NaN")) Start(frame.context, module, debug::NonFiniteKind::kNan);
    Help(Command::kFindNan);
    ImGui::SameLine();
    if (ImGui::Button("Find infinity"))
      Start(frame.context, module, debug::NonFiniteKind::kInfinity);
    Help("run the module in a child process and select where the first infinity appears");
    SameLineIfRoom(ButtonWidth("Find the divergence"));
    ImGui::BeginDisabled(reference_.empty());
    if (ImGui::Button("Find the divergence")) FindDivergence(frame.context, module);
    ImGui::EndDisabled();
    reference_.empty() ? Help("choose a reference platform first") : Help(Command::kFindDivergence);
    if (experiment.report() != nullptr) {
      SameLineIfRoom(ButtonWidth("Reduce the module"));
      CommandButton(frame, Command::kReduce, "Reduce the module");
    }
    const std::string compiled = fmt::format("Compile with {}", replay::DefaultPlatform().name);
    SameLineIfRoom(ButtonWidth(compiled.c_str()));
    if (ImGui::Button(compiled.c_str())) ShowCompiled(frame.context, module);
    Help(Command::kShowCompiled);
    SameLineIfRoom(ButtonWidth("Create a bundle"));
    CommandButton(frame, Command::kMakeBundle, "Create a bundle");
  }

  // The verdict is shown on its own panel.
  void FindDivergence(Context& context, int32_t module) {
    if (reference_.empty()) {
      return context.messages.Post(Severity::kNote, "choose a reference platform first");
    }
    if (!inputs_.IsKnown(context, module, stage_)) {
      wants_divergence_ = true;
      return;
    }
    wants_divergence_ = false;
    VerdictQuestion question{
        .seed = inputs_.seed(), .platform = platform_, .reference = reference_, .stage = stage_};
    question.inputs = inputs_.PathOf(context, module, stage_);
    if (own_bounds_) question.absolute = absolute_, question.relative = relative_;
    SearchDivergence(context, module, question);
    context.requests.Show("verdict");
  }

  static void CancelSearch(Context& context, int32_t module) {
    const Pending<debug::DivergeVerdict>* verdict = VerdictOn(context, module);
    if (verdict != nullptr && verdict->waiting()) context.tasks.Cancel(verdict->task);
  }

  // What is to run starts as soon as the module is read, and its inputs were looked at.
  void Start(Context& context, int32_t module, std::optional<debug::NonFiniteKind> find) {
    waiting_ = RequestFor(context, module, find);
    waits_to_compile_ = false;
    nonfinite_.SelectOnce(find.has_value());
    StartWaiting(context);
  }

  void ShowCompiled(Context& context, int32_t module) {
    waiting_ = RequestFor(context, module, std::nullopt);
    waits_to_compile_ = true;
    StartWaiting(context);
  }

  ExperimentRequest RequestFor(Context& context, int32_t module,
                               std::optional<debug::NonFiniteKind> find) const {
    ExperimentRequest request;
    request.place = AnchorOfStage(*context.document.dump(), module, stage_);
    request.module_index = module;
    request.stage = stage_;
    request.test.name = find ? std::string(replay::ReferencePlatform().name) : platform_;
    request.reference.name = find ? std::string() : reference_;
    request.inputs.seed = inputs_.seed();
    request.compare.isolate = isolate_;
    request.record = record_ && !find;
    request.compare.find = find;
    request.checks.races = check_races_ && Simulates(request.test.name);
    request.checks.uninitialised = check_uninitialised_ && Simulates(request.test.name);
    if (own_bounds_) {
      request.compare.bounds = {absolute_, relative_};
    }
    return request;
  }

  void StartWaiting(Context& context) {
    if (!waiting_) return;
    // The dump may have been read again since.
    const auto [module, stage] = FindPlace(*context.document.dump(), waiting_->place);
    waiting_->module_index = module;
    waiting_->stage = stage;
    if (stage < 0) {
      context.messages.Post(Severity::kError,
                            "run failed: " + ToString(waiting_->place) + " is not in the dump");
      return waiting_.reset();
    }
    const Pending<hlo::Module>& read = context.data.Module(module, stage);
    if (read.waiting() || !inputs_.IsKnown(context, module, stage)) return;
    if (const std::string path = inputs_.PathOf(context, module, stage); !path.empty()) {
      waiting_->inputs.files = {path};
    }
    const dump::DumpModel& dump = *context.document.dump();
    if (const int32_t file = dump.ModuleFile(module, stage); file >= 0) {
      waiting_->load.module_file = dump.FullPath(file);
    }
    if (read.ready()) {
      waits_to_compile_ ? ShowOwnCompilation(context, read.value, *waiting_)
                        : context.experiment.Start(read.value, *waiting_);
    }
    if (read.failed()) {
      context.messages.Post(Severity::kError, "run failed: " + read.error.ToString());
    }
    waiting_.reset();
  }

  void DrawOutcome(Frame& frame) {
    Experiment& experiment = frame.context.experiment;
    const debug::RunReport* report = experiment.report();
    if (experiment.module() == nullptr) {
      Sentence(frame,
               "Run compares both platforms in child processes; Find the divergence names the "
               "first differing "
               "instruction and its cause; Find NaN the first NaN.");
      return;
    }
    DrawLost(frame, experiment);
    if (report != nullptr) {
      ImGui::PushFont(frame.strong, 0);
      const bool bad = (report->status != debug::RunStatus::kEqual &&
                        report->status != debug::RunStatus::kRan) ||
                       !report->checks.empty();
      ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[bad ? Color::kBeyondBound : Color::kText]);
      ImGui::PushTextWrapPos(0);
      ImGui::TextUnformatted(SafeText(VerdictText(experiment), 600).c_str());
      ImGui::PopTextWrapPos();
      ImGui::PopStyleColor();
      ImGui::PopFont();
      if (report->error && report->error->hint.empty()) FixSentence(frame, *report->error);
      nonfinite_.Draw(frame, experiment, *report);
      DrawCheckFindings(frame, experiment);
      DrawOutputs(frame, *report, experiment.output_nans());
    }
    DrawFindings(frame, experiment);
  }

  // What reading the dump again did not find.
  static void DrawLost(Frame& frame, const Experiment& experiment) {
    const std::string place = ToString(experiment.request().place);
    if (experiment.request().place.module.name.empty()) return;
    if (experiment.request().stage < 0)
      Label(frame.theme, Color::kWarning, "ran on " + place + ", which is no longer in the dump");
    if (const int64_t lost = experiment.lost_findings(); lost > 0)
      Label(frame.theme, Color::kWarning,
            fmt::format("results of instructions that are no longer in {}: {}", place, lost));
  }

  void DrawFindings(Frame& frame, Experiment& experiment) {
    if (experiment.findings().empty()) {
      if (experiment.report() != nullptr && !experiment.request().compare.find) {
        Sentence(frame, experiment.request().reference.name.empty()
                            ? "nothing to compare: no reference platform selected"
                            : "instructions were not checked separately");
      }
      return;
    }
    ImGui::Checkbox("differences only", &only_differences_);
    Help("hide instructions that are equal or within tolerance");
    std::vector<size_t> rows;
    VerdictCounts counts;
    for (size_t i = 0; i < experiment.findings().size(); ++i) {
      const Verdict verdict = experiment.findings()[i].verdict;
      counts.Add(verdict);
      if (!only_differences_ || StandsOut(verdict)) rows.push_back(i);
    }
    DrawVerdictLegend(frame, counts, "instruction");
    if (rows.empty()) {
      Sentence(frame, "no instruction is beyond tolerance when checked separately");
      return;
    }
    viewer::DrawFindings(frame, experiment, rows, cursor_);
  }

  std::vector<debug::PlatformState> platforms_;
  std::string platform_, reference_{replay::ReferencePlatform().name};
  std::optional<ExperimentRequest> waiting_;  // for its module to be read
  bool waits_to_compile_ = false;             // instead of being run
  InputsChoice inputs_;
  RowCursor cursor_;  // of the findings
  int stage_ = 0;
  bool wants_divergence_ = false;  // as soon as its inputs were looked at
  bool isolate_ = true, record_ = false, own_bounds_ = false, only_differences_ = false;
  bool check_races_ = false, check_uninitialised_ = false;
  NonFiniteOutcome nonfinite_;
  double absolute_ = 1e-4, relative_ = 1e-4;
};

}  // namespace

std::unique_ptr<View> MakeDivergenceView() { return std::make_unique<DivergenceView>(); }

}  // namespace hloscope::viewer
