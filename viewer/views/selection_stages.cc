#include "viewer/views/selection_stages.h"

#include <fmt/format.h>
#include <imgui/imgui.h>

#include <algorithm>

#include "viewer/facts/pass_ranking.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/navigation.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

constexpr size_t kMaxStages = 160;

std::string ShortStage(const dump::ModuleEntry& entry, int32_t stage) {
  const dump::StageEntry& at = entry.stages[static_cast<size_t>(stage)];
  return at.pass.empty() || IsMadeByPass(entry, stage) ? PassName(entry, stage) : at.pipeline;
}

void DrawStep(Frame& frame, const Counterparts& found, const dump::ModuleEntry& entry,
              const StageCounterpart& at, int32_t last, const std::string& name) {
  Context& context = frame.context;
  if (static_cast<size_t>(last) >= entry.stages.size()) return;
  const dump::StageEntry& stage = entry.stages[static_cast<size_t>(at.stage)];
  ImGui::PushID(at.stage);
  if (ImGui::Selectable("##step", context.navigation.stage() == at.stage))
    context.navigation.Select(Selection::OfInstruction(found.module, at.stage, at.instruction));
  Help(fmt::format("{}\n{}\n{}, confidence {:.2f}", stage.name, name, Describe(at.reason),
                   at.confidence));
  ImGui::SameLine(0, 0);
  const Color color = found.TouchedInto(at.stage) ? Color::kAccent : Color::kTextSecondary;
  Label(frame.theme, color, SafeText(ShortStage(entry, at.stage), 22));
  if (last > at.stage) {
    ImGui::SameLine(0, 4 * frame.scale);
    Label(frame.theme, color, fmt::format("+{}", last - at.stage));
  }
  ImGui::SameLine(200 * frame.scale);
  FittedLabel(name);
  ImGui::PopID();
}

}  // namespace

std::string NameInStage(Context& context, const Counterparts& found, const StageCounterpart& at) {
  const auto& module = context.data.Module(found.module, at.stage);
  if (!module.ready() || at.instruction.index >= module->instructions().size()) return "…";
  auto others = std::ranges::count(found.stages, at.stage, &StageCounterpart::stage) - 1;
  std::string name(module->name(at.instruction));
  return others > 0 ? fmt::format("{} and {} more", name, others) : name;
}

void DrawSelectionStages(Frame& frame, const Counterparts& found) {
  Context& context = frame.context;
  if (found.stages.empty() || found.module < 0) return;
  const dump::ModuleEntry& entry =
      context.document.dump()->modules()[static_cast<size_t>(found.module)];
  Section(frame, "In other stages");
  const auto& all = found.stages;
  size_t shown = 0;
  for (size_t i = 0; i < all.size() && shown < kMaxStages; ++shown) {
    size_t end = i;
    std::string name = NameInStage(context, found, all[i]);
    // Stages through which it keeps its name are one line, unless it is the one in view.
    int32_t last = all[i].stage;
    while (end < all.size() &&
           (all[end].stage == last ||
            (all[end].stage == last + 1 && last != context.navigation.stage() &&
             all[end].stage != context.navigation.stage() && !found.TouchedInto(all[end].stage) &&
             NameInStage(context, found, all[end]) == name))) {
      last = all[end].stage;
      ++end;
    }
    DrawStep(frame, found, entry, all[i], last, name);
    i = end;
  }
}

}  // namespace hloscope::viewer
