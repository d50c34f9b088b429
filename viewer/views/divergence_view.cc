// Divergence: two platforms against each other on one module: what is asked, how far it is, which
// instructions part company, and where a NaN is born. Nothing runs before the button is pressed.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/experiment.h"
#include "viewer/model/messages.h"
#include "viewer/model/navigation.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

std::string ErrorText(double error) {
  if (error == 0) return "0";
  return std::isfinite(error) ? fmt::format("{:.2e}", error) : "inf";
}

std::string UlpText(uint64_t ulp) {
  return ulp > 999'999'999 ? "far" : CountText(static_cast<int64_t>(ulp));
}

class DivergenceView : public View {
 public:
  void Draw(Frame& frame) override {
    Context& context = frame.context;
    if (!ShowPending(frame, context.document.dump(), "the dump")) return;
    const int32_t module = context.navigation.module();
    if (module < 0) {
      Sentence(frame, "no module in this dump");
      return;
    }
    StartWaiting(context);
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
      case Command::kCancel:
        frame.context.experiment.Cancel();
        return true;
      default:
        return false;
    }
  }

  std::string State() const override {
    return fmt::format("{}\n{}\n{}\n{}", platform_, reference_, only_differences_ ? 1 : 0,
                       isolate_ ? 1 : 0);
  }
  void SetState(std::string_view state) override {
    std::array<std::string, 4> parts;
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

  std::string Lit(Context& context) const override {
    const Experiment& experiment = context.experiment;
    std::string out = VerdictText(experiment);
    for (const Finding& f : experiment.findings()) {
      if (f.verdict < Verdict::kBeyond) continue;
      out += fmt::format("\n{} {}", experiment.module()->name(f.instruction), ToString(f.verdict));
    }
    return out;
  }

 private:
  void DrawChoices(Frame& frame, int32_t module) {
    if (platforms_.empty()) {
      platforms_ = PlatformsHere();
      if (platform_.empty()) platform_ = platforms_.size() > 1 ? platforms_[1] : platforms_[0];
    }
    const dump::ModuleEntry& entry =
        frame.context.document.dump()->modules()[static_cast<size_t>(module)];
    if (entry.stages.empty()) return;
    stage_ = std::clamp(stage_, 0, static_cast<int>(entry.stages.size()) - 1);
    Name(frame, "module", false);
    FittedLabel(entry.name);
    Name(frame, "stage", false);
    ChooseStage(frame, entry);
    Name(frame, "seed", true);
    ImGui::SetNextItemWidth(110 * frame.scale);
    ImGui::InputInt("##seed", &seed_, 1);
    seed_ = std::max(seed_, 0);
    Name(frame, "platform", false);
    Choose(frame, "##platform", platform_, false);
    Name(frame, "reference", true);
    Choose(frame, "##reference", reference_, true);
    ImGui::SameLine(0, 24 * frame.scale);
    ImGui::Checkbox("check each instruction separately", &isolate_);
    ImGui::SameLine(0, 24 * frame.scale);
    ImGui::Checkbox("custom tolerance", &own_bounds_);
    if (!own_bounds_) return;
    Name(frame, "absolute", false);
    ImGui::SetNextItemWidth(110 * frame.scale);
    ImGui::InputDouble("##absolute", &absolute_, 0, 0, "%.1e");
    Name(frame, "relative", true);
    ImGui::SetNextItemWidth(110 * frame.scale);
    ImGui::InputDouble("##relative", &relative_, 0, 0, "%.1e");
  }

  // The quiet name of the choice that follows it.
  static void Name(Frame& frame, const char* name, bool same_line) {
    if (same_line) ImGui::SameLine(0, 24 * frame.scale);
    ImGui::AlignTextToFramePadding();
    Label(frame.theme, Color::kTextSecondary, name);
    same_line ? ImGui::SameLine() : ImGui::SameLine(80 * frame.scale);
  }

  void ChooseStage(Frame& frame, const dump::ModuleEntry& entry) {
    ImGui::SetNextItemWidth(360 * frame.scale);
    const std::string shown = SafeText(entry.stages[static_cast<size_t>(stage_)].name, 48);
    if (!ImGui::BeginCombo("##stage", shown.c_str())) return;
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
    if (!ImGui::BeginCombo(name, shown.c_str())) return;
    if (may_be_none && ImGui::Selectable("none", value.empty())) value.clear();
    for (const std::string& platform : platforms_) {
      if (ImGui::Selectable(platform.c_str(), platform == value)) value = platform;
    }
    ImGui::EndCombo();
  }

  void DrawButtons(Frame& frame, int32_t module) {
    Experiment& experiment = frame.context.experiment;
    if (experiment.running()) {
      if (ImGui::Button("Cancel")) experiment.Cancel();
      ImGui::SameLine();
      const auto done = std::ssize(experiment.findings());
      std::string text = fmt::format("{}, {:.1f} s", experiment.doing(), experiment.seconds());
      if (experiment.expected_findings() > 0) {
        text += fmt::format(", {} of {} instructions", done, experiment.expected_findings());
      }
      const float part =
          experiment.expected_findings() > 0
              ? static_cast<float>(done) / static_cast<float>(experiment.expected_findings())
              : -1.0F * static_cast<float>(frame.seconds);
      ImGui::ProgressBar(part, ImVec2(-1, 0), SafeText(text, 120).c_str());
      return;
    }
    if (ImGui::Button("Run")) Start(frame.context, module, std::nullopt);
    ImGui::SameLine();
    if (ImGui::Button("Find NaN")) Start(frame.context, module, debug::NonFiniteKind::kNan);
    ImGui::SameLine();
    if (ImGui::Button("Find infinity"))
      Start(frame.context, module, debug::NonFiniteKind::kInfinity);
    if (platforms_.size() == 1) {
      ImGui::SameLine();
      Label(frame.theme, Color::kTextSecondary,
            "no XLA plugin found: `hloscope doctor` tells how to install one");
    }
  }

  // What is to run starts as soon as the module is read.
  void Start(Context& context, int32_t module, std::optional<debug::NonFiniteKind> find) {
    ExperimentRequest request;
    request.module_index = module;
    request.stage = stage_;
    request.platform = find ? "interpreter" : platform_;
    request.reference = find ? std::string() : reference_;
    request.seed = static_cast<uint64_t>(seed_);
    request.isolate = isolate_;
    request.find = find;
    if (own_bounds_) {
      request.absolute = absolute_;
      request.relative = relative_;
    }
    waiting_ = std::move(request);
    selects_finding_ = find.has_value();
    StartWaiting(context);
  }

  void StartWaiting(Context& context) {
    if (!waiting_) return;
    const Pending<hlo::Module>& read = context.data.Module(waiting_->module_index, waiting_->stage);
    if (read.waiting()) return;
    if (read.ready()) context.experiment.Start(read.value, *waiting_);
    if (read.failed()) {
      context.messages.Post(Severity::kError, "run failed: " + read.error.ToString());
    }
    waiting_.reset();
  }

  // One sentence: what came out.
  static std::string VerdictText(const Experiment& experiment) {
    const debug::RunReport* report = experiment.report();
    if (report == nullptr) return experiment.running() ? "running" : "not run yet";
    if (experiment.request().find) {
      const char* what =
          *experiment.request().find == debug::NonFiniteKind::kNan ? "NaN" : "infinity";
      if (report->first_nonfinite) {
        const debug::NonFinite& first = *report->first_nonfinite;
        return fmt::format("the first {} appears in {} ({}) in {}{}", what, first.instruction,
                           first.opcode, first.computation,
                           first.reaches_output ? "; it reaches an output" : "");
      }
      if (report->error) return report->error->ToString();
      return fmt::format("no {} is made", what);
    }
    if (report->first_divergent) {
      return fmt::format("{} and {} part company first at {}", report->platform, report->reference,
                         report->first_divergent->instruction);
    }
    std::string text(debug::ToString(report->status));
    if (report->error) text += ": " + report->error->ToString();
    return text;
  }

  void DrawOutcome(Frame& frame) {
    Experiment& experiment = frame.context.experiment;
    const debug::RunReport* report = experiment.report();
    if (experiment.module() == nullptr) {
      Sentence(frame,
               "Opening runs nothing. Run compares the two platforms on made-up inputs of this "
               "seed, in child processes "
               "that may crash or hang without harm; Find NaN names the instruction that makes the "
               "first one.");
      return;
    }
    if (report != nullptr) {
      ImGui::PushFont(frame.strong, 0);
      const bool bad =
          report->status != debug::RunStatus::kEqual && report->status != debug::RunStatus::kRan;
      ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[bad ? Color::kBeyondBound : Color::kText]);
      ImGui::PushTextWrapPos(0);
      ImGui::TextUnformatted(SafeText(VerdictText(experiment), 600).c_str());
      ImGui::PopTextWrapPos();
      ImGui::PopStyleColor();
      ImGui::PopFont();
      DrawNonFinite(frame, *report);
      for (const std::string& warning : report->warnings) {
        Label(frame.theme, Color::kWarning, SafeText(warning, 300));
      }
      DrawOutputs(frame, *report);
    }
    DrawFindings(frame, experiment);
  }

  void DrawNonFinite(Frame& frame, const debug::RunReport& report) {
    if (!report.first_nonfinite) return;
    const debug::NonFinite& first = *report.first_nonfinite;
    const Experiment& experiment = frame.context.experiment;
    for (const debug::PathStep& step : first.path) {
      std::string line = "called by " + step.instruction;
      if (step.iteration) line += fmt::format(" in iteration {}", *step.iteration);
      Label(frame.theme, Color::kTextSecondary, SafeText(line));
    }
    for (const debug::OperandReport& operand : first.operands) {
      std::string value = operand.value.value_or("");
      if (operand.range) {
        value = fmt::format("{} to {}", operand.range->low, operand.range->high);
      }
      Fact(frame, SafeText(operand.instruction, 30), SafeText(operand.shape + "  " + value));
    }
    if (!first.source.empty()) Fact(frame, "source line", first.source);
    // Found once, it is selected once; the button brings it back.
    const bool is_new = std::exchange(selects_finding_, false);
    if (ImGui::SmallButton("Select it") || is_new) {
      SelectNamed(frame.context, experiment, first.instruction, first.computation);
    }
  }

  static void SelectNamed(Context& context, const Experiment& experiment, std::string_view name,
                          std::string_view computation) {
    const hlo::Module& module = *experiment.module();
    for (uint32_t i = 0; i < module.instructions().size(); ++i) {
      const hlo::InstructionId id(i);
      if (module.name(id) != name) continue;
      if (!computation.empty() && module[module[module[id].computation].name] != computation)
        continue;
      context.navigation.Select(Selection::OfInstruction(experiment.request().module_index,
                                                         experiment.request().stage, id));
      return;
    }
  }

  static void DrawOutputs(Frame& frame, const debug::RunReport& report) {
    const bool compared = std::ranges::any_of(report.outputs, &debug::RunOutput::compared);
    if (!compared ||
        !ImGui::BeginTable("##outputs", 6, ImGuiTableFlags_SizingFixedFit | ImGuiTableFlags_RowBg))
      return;
    for (const char* title : {"result", "shape", "mismatched", "max error", "relative", "ULP"}) {
      ImGui::TableSetupColumn(title);
    }
    ImGui::TableHeadersRow();
    constexpr size_t kMostShown = 12;
    for (size_t i = 0; i < std::min(report.outputs.size(), kMostShown); ++i) {
      const debug::LeafComparison& leaf = report.outputs[i].comparison;
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      Label(fmt::format("{{{}}}", fmt::join(leaf.index, ",")));
      ImGui::TableNextColumn();
      Label(hlo::ToString(leaf.shape, false));
      ImGui::TableNextColumn();
      RightLabel(frame.theme, leaf.equal() ? Color::kText : Color::kBeyondBound,
                 fmt::format("{} of {}", CountText(leaf.mismatched), CountText(leaf.elements)));
      ImGui::TableNextColumn();
      RightLabel(ErrorText(leaf.max_abs_error));
      ImGui::TableNextColumn();
      RightLabel(ErrorText(leaf.max_rel_error));
      ImGui::TableNextColumn();
      RightLabel(UlpText(leaf.max_ulp));
    }
    ImGui::EndTable();
    if (report.outputs.size() > kMostShown) {
      Sentence(frame, fmt::format("and {} more results", report.outputs.size() - kMostShown));
    }
  }

  void DrawFindings(Frame& frame, Experiment& experiment) {
    if (experiment.findings().empty()) {
      if (experiment.report() != nullptr && !experiment.request().find) {
        Sentence(frame, experiment.request().reference.empty()
                            ? "nothing to compare: no reference platform selected"
                            : "no instruction was checked separately");
      }
      return;
    }
    ImGui::Checkbox("differences only", &only_differences_);
    std::vector<size_t> rows;
    for (size_t i = 0; i < experiment.findings().size(); ++i) {
      if (!only_differences_ || experiment.findings()[i].verdict >= Verdict::kBeyond)
        rows.push_back(i);
    }
    if (rows.empty()) {
      Sentence(frame, "no instruction differs when checked separately");
      return;
    }
    DrawTable(frame, experiment, rows);
  }

  static void DrawTable(Frame& frame, const Experiment& experiment,
                        const std::vector<size_t>& rows) {
    constexpr ImGuiTableFlags kFlags =
        ImGuiTableFlags_ScrollY | ImGuiTableFlags_RowBg | ImGuiTableFlags_SizingFixedFit;
    if (!ImGui::BeginTable("##findings", 7, kFlags)) return;
    ImGui::TableSetupScrollFreeze(0, 1);
    ImGui::TableSetupColumn("instruction", ImGuiTableColumnFlags_WidthStretch);
    for (const char* title : {"opcode", "verdict", "mismatched", "max error", "relative", "ULP"}) {
      ImGui::TableSetupColumn(title);
    }
    ImGui::TableHeadersRow();
    ImGuiListClipper clipper;
    clipper.Begin(static_cast<int>(rows.size()));
    while (clipper.Step()) {
      for (int r = clipper.DisplayStart; r < clipper.DisplayEnd; ++r) {
        DrawFinding(frame, experiment, experiment.findings()[rows[static_cast<size_t>(r)]]);
      }
    }
    ImGui::EndTable();
  }

  static void DrawFinding(Frame& frame, const Experiment& experiment, const Finding& finding) {
    Context& context = frame.context;
    const hlo::Module& module = *experiment.module();
    const int32_t stage = experiment.request().stage;
    ImGui::TableNextRow();
    ImGui::TableNextColumn();
    ImGui::PushID(static_cast<int>(finding.instruction.index));
    const bool selected = context.navigation.InstructionIn(stage) == finding.instruction;
    if (Row(frame, "##finding", selected, false)) {
      context.navigation.Select(
          Selection::OfInstruction(experiment.request().module_index, stage, finding.instruction));
    }
    if (!finding.note.empty() && ImGui::IsItemHovered()) {
      ImGui::SetTooltip("%s", SafeText(finding.note, 800).c_str());
    }
    ImGui::SameLine();
    FittedLabel(module.name(finding.instruction));
    ImGui::TableNextColumn();
    Label(frame.theme, Color::kTextSecondary, hlo::ToString(module[finding.instruction].opcode));
    ImGui::TableNextColumn();
    const bool plain = finding.verdict == Verdict::kSameBits;
    Label(frame.theme, plain ? Color::kTextSecondary : ColorOf(finding.verdict),
          ToString(finding.verdict));
    const bool compared = finding.verdict != Verdict::kFailed;
    ImGui::TableNextColumn();
    RightLabel(compared ? CountText(finding.mismatched) : "");
    ImGui::TableNextColumn();
    RightLabel(compared ? ErrorText(finding.max_abs_error) : "");
    ImGui::TableNextColumn();
    RightLabel(compared ? ErrorText(finding.max_rel_error) : "");
    ImGui::TableNextColumn();
    RightLabel(compared ? UlpText(finding.max_ulp) : "");
    ImGui::PopID();
  }

  std::vector<std::string> platforms_;
  std::string platform_, reference_ = "interpreter";
  std::optional<ExperimentRequest> waiting_;  // for its module to be read
  int stage_ = 0, seed_ = 0;
  bool isolate_ = true, own_bounds_ = false, only_differences_ = false, selects_finding_ = false;
  double absolute_ = 1e-4, relative_ = 1e-4;
};

}  // namespace

std::unique_ptr<View> MakeDivergenceView() { return std::make_unique<DivergenceView>(); }

}  // namespace hloscope::viewer
