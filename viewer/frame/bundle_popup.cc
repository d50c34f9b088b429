#include "viewer/frame/bundle_popup.h"

#include <fmt/format.h>
#include <imgui/imgui.h>
#include <imgui/misc/cpp/imgui_stdlib.h>

#include <algorithm>
#include <filesystem>

#include "core/base/counted.h"
#include "viewer/lab/failing_run.h"
#include "viewer/lab/reduction.h"
#include "viewer/model/document.h"
#include "viewer/model/navigation.h"
#include "viewer/model/number_text.h"
#include "viewer/model/pass_search.h"
#include "viewer/model/tasks.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using debug::ValuePolicy;

struct PolicyRow {
  ValuePolicy policy;
  const char *label, *help;
};
constexpr PolicyRow kPolicies[] = {
    {ValuePolicy::kNone, "none", "no input, expected or result values"},
    {ValuePolicy::kShapes, "shapes", "shapes only; enough for generated inputs"},
    {ValuePolicy::kStatistics, "statistics", "shapes, ranges, means and NaN counts"},
    {ValuePolicy::kAll, "all", "all values: anyone can replay the run, and read them"}};

void DrawContent(Frame& frame, int32_t module) {
  Context& context = frame.context;
  const auto run = FailingRunOf(context, module);
  Fact(frame, "run",
       run ? SafeText(run->from + ": " + RunText(run->request))
           : "the stage in view on the interpreter; nothing compared yet");
  const Pending<debug::DivergeVerdict>* verdict = VerdictOn(context, module);
  const bool has_verdict = verdict != nullptr && verdict->ready();
  Fact(frame, "verdict", has_verdict ? SafeText((*verdict)->sentence, 120) : "none yet");
  const Reduction* reduction = ReductionOn(context, module);
  const bool is_small = reduction != nullptr && reduction->report.ready() &&
                        reduction->report->status == debug::ReduceStatus::kReduced;
  Fact(frame, "reduced module",
       is_small ? fmt::format("{} of {}", reduction->report->instructions,
                              Counted(reduction->report->instructions_before, "instruction"))
                : "none yet");
}

// A row for each part: its file, its size, what it is.
bool BeginParts(Frame& frame) {
  constexpr ImGuiTableFlags kFlags = ImGuiTableFlags_RowBg | ImGuiTableFlags_ScrollY;
  if (!ImGui::BeginTable("##parts", 3, kFlags)) return false;
  ImGui::TableSetupColumn("part", ImGuiTableColumnFlags_WidthFixed, 190 * frame.scale);
  ImGui::TableSetupColumn("size", ImGuiTableColumnFlags_WidthFixed, 100 * frame.scale);
  ImGui::TableSetupColumn("contents", ImGuiTableColumnFlags_WidthStretch);
  return true;
}

void DrawPart(dump::BundlePart part, const std::string& size, const char* when = "") {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  FittedLabel(dump::FileOf(part));
  ImGui::TableNextColumn();
  RightLabel(size);
  ImGui::TableNextColumn();
  FittedLabel(std::string(dump::Describe(part)) + when);
}

}  // namespace

std::string BundlePopup::DefaultPath(Context& context) {
  const int32_t module = context.navigation.module();
  std::string name = "bug";
  if (context.document.dump().ready() && module >= 0) {
    name = context.document.dump()->modules()[static_cast<size_t>(module)].name;
  }
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '.' && c != '-') c = '_';
  }
  std::error_code error;
  return (std::filesystem::current_path(error) / (name + ".hlob")).string();
}

void BundlePopup::Draw(Frame& frame, const std::string& path, bool entered) {
  Context& context = frame.context;
  const int32_t module = context.navigation.module();
  if (!context.document.dump().ready() || module < 0) {
    return Sentence(frame, "no module is open");
  }
  DrawContent(frame, module);
  DrawOptions(frame);
  DrawButtons(frame, module, path, entered);
  // What is asked for now: what came of it, or what it will be.
  const BundleMaking* last = LastBundle(context);
  BundleOptions now = options_;
  now.path = path;
  if (last != nullptr && last->options == now && !last->made.waiting())
    return DrawMade(frame, *last);
  options_.path = path;
  DrawPlan(frame, module);
}

void BundlePopup::DrawButtons(Frame& frame, int32_t module, const std::string& path, bool entered) {
  Context& context = frame.context;
  const BundleMaking* last = LastBundle(context);
  if (last != nullptr && last->made.waiting()) {
    if (ImGui::Button("Stop")) context.tasks.Cancel(last->made.task);
    Help("stop; no bundle is written");
    ImGui::SameLine();
    return Label(frame.theme, Color::kTextSecondary,
                 "running the module, then replaying the bundle in a clean process …");
  }
  ImGui::PushStyleColor(ImGuiCol_Button, frame.theme[Color::kCanvas]);
  const bool pressed = ImGui::Button("Write the bundle");
  Help("run the module, replay the bundle in a clean process and write it\nEnter");
  ImGui::PopStyleColor();
  if ((pressed || entered) && !path.empty()) {
    options_.path = path;
    MakeBundle(context, module, options_);
  }
  ImGui::SameLine();
  std::error_code error;
  const bool exists = std::filesystem::exists(path, error);
  Label(frame.theme, exists ? Color::kWarning : Color::kTextSecondary,
        exists ? "this file exists and will be overwritten"
               : "Enter: run the module, replay the bundle, write it");
}

void BundlePopup::DrawOptions(Frame& frame) {
  ImGui::AlignTextToFramePadding();
  Label(frame.theme, Color::kTextSecondary, "values");
  for (const PolicyRow& row : kPolicies) {
    ImGui::SameLine(0, 16 * frame.scale);
    if (ImGui::RadioButton(row.label, options_.values == row.policy)) options_.values = row.policy;
    Help(row.help);
  }
  ImGui::SameLine(0, 28 * frame.scale);
  ImGui::Checkbox("omit source locations", &options_.no_source);
  Help("omit file names and line numbers of the source");
  ImGui::SetNextItemWidth(-1);
  ImGui::InputTextWithHint("##note", "note (optional)", &options_.note);
  Help("free-text note for the report");
  if (!ImGui::IsItemActive()) planned_note_ = options_.note;
}

void BundlePopup::DrawPlan(Frame& frame, int32_t module) {
  BundleOptions options = options_;
  options.note = planned_note_;
  const Pending<PlannedFile>& plan = BundlePlanOf(frame.context, module, options);
  ImGui::Separator();
  Title(frame, "Contents");
  if (plan.waiting()) return Sentence(frame, "planning the bundle …");
  if (!ShowPending(frame, plan, "the bundle plan")) return;
  const auto later =
      std::ranges::count_if(plan->parts, [](const PlannedFile::Part& part) { return !part.bytes; });
  ImGui::SameLine();
  Label(frame.theme, Color::kTextSecondary,
        fmt::format("  {}, {} compressed; the run adds {}", BytesText(plan->bytes),
                    BytesText(plan->packed_bytes), Counted(later, "part")));
  Fact(frame, "to redact", RedactedText(plan->redacted));
  for (const std::string& note : plan->notes) {
    Label(frame.theme, Color::kWarning, SafeText(note, 200));
  }
  if (!BeginParts(frame)) return;
  for (const PlannedFile::Part& part : plan->parts) {
    DrawPart(part.part, part.bytes ? BytesText(*part.bytes) : "after the run",
             part.of_run ? ", if the run produces them" : "");
  }
  ImGui::EndTable();
}

void BundlePopup::DrawMade(Frame& frame, const BundleMaking& making) {
  if (making.made.failed()) {
    return Label(frame.theme, Color::kError, SafeText(making.made.error.ToString(), 500));
  }
  if (!making.made.ready()) return;
  const MadeFile& made = *making.made;
  ImGui::Separator();
  Title(frame, SafeText(std::filesystem::path(making.options.path).filename().string(), 80));
  ImGui::SameLine();
  Label(frame.theme, Color::kTextSecondary, " " + MadeText(made));
  Sentence(frame, SafeText(made.manifest.sentence, 300));
  Fact(frame, "redacted", RedactedText(made.manifest.redacted));
  Fact(frame, "replay", SafeText(made.manifest.replay, 200));
  if (!BeginParts(frame)) return;
  for (const dump::BundleFile::Listed& part : made.parts) {
    DrawPart(part.part, BytesText(part.bytes));
  }
  ImGui::EndTable();
}

}  // namespace hloscope::viewer
