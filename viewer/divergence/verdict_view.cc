// Verdict: which pass changed the numbers or where two platforms diverge, what was done there,
// and what was tried; from a file that was opened, or found when a button is pressed.
#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "viewer/divergence/divergence_outcome.h"
#include "viewer/divergence/stage_strip.h"
#include "viewer/facts/error_curve.h"
#include "viewer/graph/graph_legend.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/marks.h"
#include "viewer/model/navigation.h"
#include "viewer/model/pass_search.h"
#include "viewer/model/requests.h"
#include "viewer/widgets/verdict_mark.h"
#include "viewer/widgets/view.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using debug::DivergeTry;
using debug::DivergeVerdict;
using debug::InstructionEdit;
using debug::PassBlame;

const char* Closes(const DivergeTry& attempt) {
  if (!attempt.closes) return "not run";
  if (attempt.is_comparison) return *attempt.closes ? "agrees" : "differs";
  return *attempt.closes ? "yes" : "no";
}

class VerdictView : public View {
 public:
  void Draw(Frame& frame) override {
    Context& context = frame.context;
    if (!ShowDump(frame)) return;
    const int32_t module = context.navigation.module();
    if (module < 0) return Sentence(frame, "no module in this dump");
    const Pending<DivergeVerdict>* verdict = VerdictOn(context, module);
    DrawButtons(frame, module, verdict);
    ImGui::Separator();
    if (verdict == nullptr) {
      return Sentence(frame,
                      "Find the pass evaluates every stage on the same generated inputs, in child "
                      "processes, and names the pass that changed the results; or open a verdict "
                      "of `hloscope diverge --json`.");
    }
    if (verdict->waiting()) return;
    if (verdict->failed()) return DrawFailed(frame, verdict->error);
    if (!ShowPending(frame, *verdict, "the verdict")) return;
    SelectFound(context, module, **verdict);
    DrawVerdict(frame, module, **verdict);
  }

  bool Run(Command command, Frame& frame) override {
    const int32_t module = frame.context.navigation.module();
    if (command != Command::kAskPass || module < 0) return false;
    // What is known already is asked for again by its own button only.
    const Pending<DivergeVerdict>* known = VerdictOn(frame.context, module);
    selects_ = true;
    if (known != nullptr && !known->failed()) return true;
    SearchPass(frame.context, module, static_cast<uint64_t>(seed_));
    return true;
  }

  Result<std::string> Export(ExportFormat format, Context& context) const override {
    const Pending<DivergeVerdict>* verdict = VerdictOn(context, context.navigation.module());
    if (format != ExportFormat::kCsv || verdict == nullptr || !verdict->ready()) {
      return View::Export(format, context);
    }
    const DivergeVerdict& found = **verdict;
    std::string out = fmt::format("kind,what,closes,detail\nverdict,{},,{}\n",
                                  ToString(found.status), CsvCell(found.sentence));
    for (const PassBlame& blame : found.passes) {
      out += fmt::format("pass,{},,{}\n", CsvCell(blame.pass), CsvCell(blame.edit.what));
    }
    for (const DivergeTry& attempt : found.tries) {
      out += fmt::format("try,{},{},{}\n", CsvCell(attempt.what), Closes(attempt),
                         CsvCell(attempt.detail));
    }
    return out;
  }

  std::string State() const override { return seed_ == 0 ? "" : fmt::to_string(seed_); }
  void SetState(std::string_view state) override {
    seed_ = 0;
    std::from_chars(state.data(), state.data() + state.size(), seed_);
  }

  std::string HighlightedItems(Context& context) const override {
    const Pending<DivergeVerdict>* verdict = VerdictOn(context, context.navigation.module());
    if (verdict == nullptr || !verdict->ready()) return {};
    std::string out = (*verdict)->sentence;
    for (const PassBlame& blame : (*verdict)->passes) out += "\n" + blame.pass;
    return out;
  }

 private:
  // What was asked for is selected once it is found, as soon as its stage is read.
  void SelectFound(Context& context, int32_t module, const DivergeVerdict& verdict) {
    if (!selects_) return;
    if (!verdict.passes.empty()) {
      const PassBlame& blame = verdict.passes.front();
      const int32_t after = StageOfFile(*context.document.dump(), module, blame.file_after);
      if (after >= 0 && context.data.Module(module, after).waiting()) return;
      SelectBlame(context, module, blame);
    }
    selects_ = false;
  }

  void DrawButtons(Frame& frame, int32_t module, const Pending<DivergeVerdict>* verdict) {
    if (DrawVerdictProgress(frame, module)) return;
    if (ImGui::Button("Find the pass")) {
      SearchPass(frame.context, module, static_cast<uint64_t>(seed_));
    }
    Help(Command::kAskPass);
    ImGui::SameLine(0, 24 * frame.scale);
    Label(frame.theme, Color::kTextSecondary, "seed");
    ImGui::SameLine();
    ImGui::SetNextItemWidth(110 * frame.scale);
    ImGui::InputInt("##seed", &seed_, 1);
    Help("seed of the generated inputs");
    seed_ = std::max(seed_, 0);
    for (const auto& [label, command] : {std::pair("Show on the graph", Command::kGraphHeat),
                                         std::pair("Reduce the module", Command::kReduce),
                                         std::pair("Create a bundle", Command::kMakeBundle)}) {
      if (verdict == nullptr || !verdict->ready()) return;
      SameLineIfRoom(ButtonWidth(label));
      CommandButton(frame, command, label);
    }
  }

  static void DrawFailed(Frame& frame, const Error& error) {
    if (error.error_class == ErrorClass::kCancelled) return Sentence(frame, "cancelled");
    ErrorSentence(frame, "the run failed", error);
  }

  void DrawVerdict(Frame& frame, int32_t module, const DivergeVerdict& verdict) {
    ImGui::PushFont(frame.strong, 0);
    const bool bad = verdict.status != debug::RunStatus::kEqual;
    ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[bad ? Color::kBeyondBound : Color::kText]);
    ImGui::PushTextWrapPos(0);
    ImGui::TextUnformatted(SafeText(verdict.sentence, 800).c_str());
    ImGui::PopTextWrapPos();
    ImGui::PopStyleColor();
    ImGui::PopFont();
    DrawCompared(frame, verdict);
    DrawStageStrip(frame, module, verdict);
    DrawFacts(frame, verdict);
    DrawPasses(frame, module, verdict);
    DrawTries(frame, verdict);
    for (const std::string& text : verdict.stepped_over) {
      Label(frame.theme, Color::kWarning, SafeText("not evaluated: " + text, 400));
    }
    for (const std::string& text : verdict.warnings) {
      Label(frame.theme, Color::kWarning, SafeText(text, 400));
    }
  }

  // How the values inside it compare, in the words of the error curve.
  void DrawCompared(Frame& frame, const DivergeVerdict& verdict) {
    if (!verdict.walk) return;
    if (counted_ != &verdict) {
      counted_ = &verdict;
      counts_ = CountsOf(CurveOfVerdict(verdict));
    }
    DrawVerdictLegend(frame, counts_, verdict.walk->one_at_a_time ? "instruction" : "value");
  }

  static void DrawFacts(Frame& frame, const DivergeVerdict& verdict) {
    if (verdict.walk) {
      Fact(frame, "platforms",
           SafeText(fmt::format("{} against {}, seed {}", verdict.platform, verdict.reference,
                                verdict.seed)));
      Fact(frame, "values compared",
           verdict.walk->one_at_a_time
               ? CountText(verdict.walk->compared)
               : fmt::format("{}, {} bit-identical", CountText(verdict.walk->compared),
                             CountText(verdict.walk->same_bits)));
    }
    if (verdict.stages > 0) {
      Fact(frame, "stages",
           fmt::format("{}, {} evaluated: the others are identical to their predecessor",
                       verdict.stages, verdict.evaluated));
    }
    if (verdict.cause) Fact(frame, "cause", SafeText(CausePhrase(verdict), 300));
    if (!verdict.cured_by.empty()) {
      Fact(frame, "fixed by", SafeText(debug::CuresPhrase(verdict.cured_by), 400));
    }
    if (verdict.confirmed) {
      Fact(frame, "confirmed",
           !*verdict.confirmed      ? "no"
           : verdict.passes.empty() ? "yes, by an experiment or by running the kernel alone"
                                    : "yes, by disabling the pass or by running it alone");
    }
    if (!verdict.kernel.empty()) Fact(frame, "kernel", SafeText(verdict.kernel));
    if (!verdict.first_bad.empty()) Fact(frame, "first bad version", SafeText(verdict.first_bad));
  }

  static void DrawPasses(Frame& frame, int32_t module, const DivergeVerdict& verdict) {
    if (verdict.passes.empty()) return DrawEdit(frame, verdict.edit);
    Title(frame, verdict.passes.size() == 1 ? "Pass that changed the results"
                                            : "Passes that changed the results");
    const int32_t stage = frame.context.navigation.stage();
    for (size_t i = 0; i < verdict.passes.size(); ++i) {
      const PassBlame& blame = verdict.passes[i];
      ImGui::PushID(static_cast<int>(i));
      const int32_t after = StageOfFile(*frame.context.document.dump(), module, blame.file_after);
      if (after >= 0) frame.context.data.Module(module, after);  // for a click
      const bool shown = after == stage;
      DrawBlame(frame, module, blame, shown);
      ImGui::PopID();
    }
  }

  static void DrawBlame(Frame& frame, int32_t module, const PassBlame& blame, bool shown) {
    const std::string title =
        fmt::format("{}  in {}{}", SafeText(blame.pass, 60),
                    blame.pipeline.empty() ? "the pipeline" : SafeText(blame.pipeline, 60),
                    blame.restores ? "  (restores the results)" : "");
    if (ImGui::Selectable(title.c_str(), shown)) SelectBlame(frame.context, module, blame);
    Help("go to this stage, also on the screen Passes");
    ImGui::Indent(14 * frame.scale);
    if (blame.place) {
      Fact(frame, "instruction",
           SafeText(blame.place->instruction + "  in " + blame.place->computation));
      if (!blame.place->calls.empty()) Fact(frame, "call path", SafeText(blame.place->calls));
    }
    Fact(frame, "results",
         blame.within_bounds ? OtherValuesPhrase(blame.worst) : ErrorPhrase(blame.worst));
    ImGui::SameLine(0, 16 * frame.scale);
    VerdictLabel(frame, VerdictOf(blame.worst));
    DrawEdit(frame, blame.edit);
    ImGui::Unindent(14 * frame.scale);
  }

  // What it was and what it became, as lines of HLO.
  static void DrawEdit(Frame& frame, const InstructionEdit& edit) {
    if (!edit.what.empty()) Fact(frame, "edit", SafeText(edit.what, 400));
    ImGui::PushFont(frame.mono, 0);
    ImGui::PushTextWrapPos(0);
    for (const auto& [color, sign, line] : {std::tuple(Color::kRemoved, "- ", &edit.before),
                                            std::tuple(Color::kAdded, "+ ", &edit.after)}) {
      if (line->empty()) continue;
      ImGui::PushStyleColor(ImGuiCol_Text, frame.theme[color]);
      ImGui::TextUnformatted((sign + SafeText(*line, 1000)).c_str());
      ImGui::PopStyleColor();
    }
    ImGui::PopTextWrapPos();
    ImGui::PopFont();
  }

  static void DrawTries(Frame& frame, const DivergeVerdict& verdict) {
    if (verdict.tries.empty()) return;
    Title(frame, "Experiments");
    if (!ImGui::BeginTable("##tries", 3, ImGuiTableFlags_RowBg)) return;
    const float answer = ImGui::CalcTextSize("differs").x;
    ImGui::TableSetupColumn("tried", ImGuiTableColumnFlags_WidthStretch, 3);
    ImGui::TableSetupColumn("fixes it", ImGuiTableColumnFlags_WidthFixed,
                            std::max(answer, ImGui::CalcTextSize("fixes it").x));
    ImGui::TableSetupColumn("figures", ImGuiTableColumnFlags_WidthStretch, 4);
    static constexpr std::array kHelp = {"what was changed in the run",
                                         "whether the platforms agree after this change",
                                         "remaining errors"};
    HeaderRow(kHelp);
    for (const DivergeTry& attempt : verdict.tries) {
      ImGui::TableNextRow();
      ImGui::TableNextColumn();
      FittedLabel(attempt.what);
      ImGui::TableNextColumn();
      const bool closes = attempt.closes.value_or(false);
      Label(frame.theme, closes ? Color::kAccent : Color::kTextSecondary, Closes(attempt));
      ImGui::TableNextColumn();
      FittedLabel(attempt.detail);
    }
    ImGui::EndTable();
  }

  int seed_ = 0;
  const DivergeVerdict* counted_ = nullptr;  // whose values these are
  VerdictCounts counts_;
  bool selects_ = false;  // what is found
};

}  // namespace

std::unique_ptr<View> MakeVerdictView() { return std::make_unique<VerdictView>(); }

}  // namespace hloscope::viewer
