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
#include "core/replay/platform_table.h"
#include "viewer/divergence/check_findings.h"
#include "viewer/divergence/divergence_outcome.h"
#include "viewer/divergence/divergence_settings.h"
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
    settings_.Draw(frame, module);
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
        settings_.record = !settings_.record;
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
    return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", settings_.platform, settings_.reference,
                       only_differences_ ? 1 : 0, settings_.isolate ? 1 : 0,
                       settings_.record ? 1 : 0, settings_.check_races ? 1 : 0,
                       settings_.check_uninitialised ? 1 : 0);
  }
  void SetState(std::string_view state) override {
    std::array<std::string, 7> parts;
    for (std::string& part : parts) {
      const size_t end = std::min(state.find('\n'), state.size());
      part = state.substr(0, end);
      state.remove_prefix(std::min(end + 1, state.size()));
    }
    if (parts[3].empty()) return;
    settings_.platform = parts[0];
    settings_.reference = parts[1];
    only_differences_ = parts[2] == "1";
    settings_.isolate = parts[3] == "1";
    settings_.record = parts[4] == "1";
    settings_.check_races = parts[5] == "1";
    settings_.check_uninitialised = parts[6] == "1";
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
    ImGui::BeginDisabled(settings_.reference.empty());
    if (ImGui::Button("Find the divergence")) FindDivergence(frame.context, module);
    ImGui::EndDisabled();
    settings_.reference.empty() ? Help("choose a reference platform first")
                                : Help(Command::kFindDivergence);
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
    if (settings_.reference.empty()) {
      return context.messages.Post(Severity::kNote, "choose a reference platform first");
    }
    if (!settings_.inputs.IsKnown(context, module, settings_.stage)) {
      wants_divergence_ = true;
      return;
    }
    wants_divergence_ = false;
    VerdictQuestion question{.seed = settings_.inputs.seed(),
                             .platform = settings_.platform,
                             .reference = settings_.reference,
                             .stage = settings_.stage};
    question.inputs = settings_.inputs.PathOf(context, module, settings_.stage);
    if (settings_.own_bounds)
      question.absolute = settings_.absolute, question.relative = settings_.relative;
    SearchDivergence(context, module, question);
    context.requests.Show("verdict");
  }

  static void CancelSearch(Context& context, int32_t module) {
    const Pending<debug::DivergeVerdict>* verdict = VerdictOn(context, module);
    if (verdict != nullptr && verdict->waiting()) context.tasks.Cancel(verdict->task);
  }

  // What is to run starts as soon as the module is read, and its inputs were looked at.
  void Start(Context& context, int32_t module, std::optional<debug::NonFiniteKind> find) {
    waiting_ = settings_.RequestFor(context, module, find);
    waits_to_compile_ = false;
    nonfinite_.SelectOnce(find.has_value());
    StartWaiting(context);
  }

  void ShowCompiled(Context& context, int32_t module) {
    waiting_ = settings_.RequestFor(context, module, std::nullopt);
    waits_to_compile_ = true;
    StartWaiting(context);
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
    if (read.waiting() || !settings_.inputs.IsKnown(context, module, stage)) return;
    if (const std::string path = settings_.inputs.PathOf(context, module, stage); !path.empty()) {
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

  DivergenceSettings settings_;
  std::optional<ExperimentRequest> waiting_;  // for its module to be read
  bool waits_to_compile_ = false;             // instead of being run
  RowCursor cursor_;                          // of the findings
  bool wants_divergence_ = false;             // as soon as its inputs were looked at
  bool only_differences_ = false;
  NonFiniteOutcome nonfinite_;
};

}  // namespace

std::unique_ptr<View> MakeDivergenceView() { return std::make_unique<DivergenceView>(); }

}  // namespace hloscope::viewer
