#include "viewer/divergence/divergence_settings.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>
#include <string_view>

#include "viewer/model/document.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

bool Simulates(std::string_view platform) {
  const replay::PlatformRow* row = replay::FindPlatform(platform);
  return row != nullptr && row->Has(replay::kSimulatesGpu);
}

// There is room for another name and a choice of that width in the line of the last item.
bool SameLineFits(float width) {
  const float end = ImGui::GetItemRectMax().x + width + ImGui::CalcTextSize("reference").x +
                    4 * ImGui::GetStyle().ItemSpacing.x;
  return end < ImGui::GetCursorScreenPos().x + ImGui::GetContentRegionAvail().x;
}

// The quiet name of the choice that follows it.
void Name(Frame& frame, const char* name, bool same_line) {
  if (same_line) ImGui::SameLine(0, 24 * frame.scale);
  ImGui::AlignTextToFramePadding();
  Label(frame.theme, Color::kTextSecondary, name);
  same_line ? ImGui::SameLine() : ImGui::SameLine(80 * frame.scale);
}

}  // namespace

void DivergenceSettings::Draw(Frame& frame, int32_t module) {
  if (platforms_.empty()) {
    platforms_ = debug::PlatformStates();
    if (platform.empty()) platform = replay::DefaultPlatform().name;
  }
  const dump::ModuleEntry& entry =
      frame.context.document.dump()->modules()[static_cast<size_t>(module)];
  if (entry.stages.empty()) return;
  stage = std::clamp(stage, 0, static_cast<int>(entry.stages.size()) - 1);
  Name(frame, "module", false);
  FittedLabel(entry.name);
  Name(frame, "stage", false);
  ChooseStage(frame, entry);
  Name(frame, "inputs", false);
  inputs.Draw(frame, module, stage);
  Name(frame, "platform", false);
  Choose(frame, "##platform", platform, false);
  Name(frame, "reference", SameLineFits(150 * frame.scale));
  Choose(frame, "##reference", reference, true);
  SameLineIfRoom(CheckboxWidth("check each instruction separately"));
  ImGui::Checkbox("check each instruction separately", &isolate);
  Help(
      "run each instruction alone on both platforms, with the same operands "
      "(--isolate_instructions)");
  SameLineIfRoom(CheckboxWidth("record a profile"));
  ImGui::Checkbox("record a profile", &record);
  Help(Command::kRecordProfile);
  DrawChecks();
  SameLineIfRoom(CheckboxWidth("custom tolerance"));
  ImGui::Checkbox("custom tolerance", &own_bounds);
  Help("set tolerances instead of using those of the element type");
  if (!own_bounds) return;
  Name(frame, "absolute", false);
  ImGui::SetNextItemWidth(110 * frame.scale);
  ImGui::InputDouble("##absolute", &absolute, 0, 0, "%.1e");
  Help("absolute tolerance");
  Name(frame, "relative", true);
  ImGui::SetNextItemWidth(110 * frame.scale);
  ImGui::InputDouble("##relative", &relative, 0, 0, "%.1e");
  Help("relative tolerance");
}

// Checks of a simulated GPU in addition to accesses out of bounds.
void DivergenceSettings::DrawChecks() {
  if (!Simulates(platform)) return;
  SameLineIfRoom(CheckboxWidth("check for races"));
  ImGui::Checkbox("check for races", &check_races);
  Help("report unsynchronised accesses to the same byte (--check race)");
  SameLineIfRoom(CheckboxWidth("check for uninitialised reads"));
  ImGui::Checkbox("check for uninitialised reads", &check_uninitialised);
  Help("report reads of uninitialised memory (--check uninitialised)");
}

void DivergenceSettings::ChooseStage(Frame& frame, const dump::ModuleEntry& entry) {
  ImGui::SetNextItemWidth(std::min(360 * frame.scale, ImGui::GetContentRegionAvail().x));
  const std::string shown = SafeText(entry.stages[static_cast<size_t>(stage)].name, 48);
  const bool is_open = ImGui::BeginCombo("##stage", shown.c_str());
  Help("stage to run: " + entry.stages[static_cast<size_t>(stage)].name);
  if (!is_open) return;
  for (int s = 0; s < static_cast<int>(entry.stages.size()); ++s) {
    const std::string label =
        fmt::format("{}##{}", SafeText(entry.stages[static_cast<size_t>(s)].name, 80), s);
    if (ImGui::Selectable(label.c_str(), s == stage)) stage = s;
  }
  ImGui::EndCombo();
}

void DivergenceSettings::Choose(Frame& frame, const char* name, std::string& value,
                                bool may_be_none) {
  ImGui::SetNextItemWidth(150 * frame.scale);
  const std::string shown = value.empty() ? "none" : SafeText(value, 40);
  const bool is_open = ImGui::BeginCombo(name, shown.c_str());
  Help(may_be_none ? "the platform to compare with" : "the platform that runs the module");
  if (!is_open) return;
  if (may_be_none && ImGui::Selectable("none", value.empty())) value.clear();
  for (const debug::PlatformState& here : platforms_) {
    const std::string& lack = here.missing.empty() ? here.no_device : here.missing;
    ImGui::BeginDisabled(!lack.empty());
    const std::string label =
        lack.empty() ? here.name : fmt::format("{}: {}", here.name, lack.substr(0, lack.find(':')));
    if (ImGui::Selectable(label.c_str(), here.name == value)) value = here.name;
    ImGui::EndDisabled();
    const replay::PlatformRow* row = replay::FindPlatform(here.name);
    Help(lack.empty() && row != nullptr ? row->summary : lack);
  }
  ImGui::EndCombo();
}

ExperimentRequest DivergenceSettings::RequestFor(const Context& context, int32_t module,
                                                 std::optional<debug::NonFiniteKind> find) const {
  ExperimentRequest request;
  request.place = AnchorOfStage(*context.document.dump(), module, stage);
  request.module_index = module;
  request.stage = stage;
  request.test.name = find ? std::string(replay::ReferencePlatform().name) : platform;
  request.reference.name = find ? std::string() : reference;
  request.inputs.seed = inputs.seed();
  request.compare.isolate = isolate;
  request.record = record && !find;
  request.compare.find = find;
  request.checks.races = check_races && Simulates(request.test.name);
  request.checks.uninitialised = check_uninitialised && Simulates(request.test.name);
  if (own_bounds) {
    request.compare.bounds = {absolute, relative};
  }
  return request;
}

}  // namespace hloscope::viewer
