// The strip and the names above what shows one pass.
#include "viewer/views/change_head.h"

#include <imgui/imgui.h>

#include <algorithm>
#include <cmath>

#include "viewer/facts/comparison.h"
#include "viewer/facts/pass_ranking.h"
#include "viewer/facts/selection_summary.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/marks.h"
#include "viewer/model/messages.h"
#include "viewer/model/navigation.h"
#include "viewer/model/requests.h"
#include "viewer/model/second_dump.h"
#include "viewer/model/stage_columns.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

constexpr float kMinColumn = 2;  // logical pixels of a stage on the strip

// The changes of all stages, where finding them takes no while; null: not known by now.
const PassRanking* RankingIn(Context& context, int32_t module, int32_t stages) {
  if (stages < 2 || !MayReadAllStages(context, module)) return nullptr;
  const Pending<PassRanking>& ranking = RankingOf(context, module, AnnotationsIn(context));
  return ranking.ready() ? ranking.value.get() : nullptr;
}
// What is known of one stage; null: nothing by now.
const analysis::ChangeCounts* CountsOf(Context& context, const PassRanking* ranking, int32_t module,
                                       int32_t stage) {
  if (ranking != nullptr) return &ranking->counts[static_cast<size_t>(stage)];
  // Of many stages only those near the one in view are compared.
  constexpr int32_t kNear = 24;
  if (stage == 0 || std::abs(stage - context.navigation.stage()) > kNear) return nullptr;
  const Pending<analysis::PassChanges>& changes = ShownChanges(context, module, stage);
  return changes.ready() ? &changes->counts : nullptr;
}

struct ChangeColumn {
  ImVec2 at, size;
};

// The mark of the stages [first, last), which share a column: as high as the largest change.
void DrawTick(Frame& frame, ImDrawList* draw, const ChangeColumn& box, int32_t first, int32_t last,
              const PassRanking* ranking, int32_t module) {
  Context& context = frame.context;
  const float x = box.at.x, step = box.size.x, gap = step > 6 ? 1.0f : 0.0f;
  const int32_t shown = ShownChangeStage(context);
  if (first <= shown && shown < last)
    draw->AddRectFilled(box.at, ImVec2(x + step, box.at.y + box.size.y),
                        frame.theme[Color::kSelected]);
  const analysis::ChangeCounts* most = nullptr;
  const auto size = [](const analysis::ChangeCounts& c) {
    return c.added + c.removed + c.rewritten + c.moved;
  };
  bool is_touched = false;
  for (int32_t s = first; s < last; ++s) {
    is_touched |= context.navigation.counterparts().TouchedInto(s);
    const analysis::ChangeCounts* counts = CountsOf(context, ranking, module, s);
    if (counts != nullptr && (most == nullptr || size(*counts) > size(*most))) most = counts;
  }
  const float bottom = box.at.y + box.size.y - 6 * frame.scale;
  float top = bottom;
  auto stack = [&](int64_t count, Color color) {
    if (count <= 0) return;
    float tall = std::min(8.0f, 2.0f + std::log2(static_cast<float>(count))) * frame.scale;
    draw->AddRectFilled(ImVec2(x + gap, top - tall), ImVec2(x + step - gap, top),
                        frame.theme[color]);
    top -= tall;
  };
  if (most != nullptr) {
    stack(most->added, Color::kAdded);
    stack(most->removed, Color::kRemoved);
    stack(most->rewritten + most->moved, Color::kRewritten);
  }
  if (is_touched)
    draw->AddRectFilled(ImVec2(x + gap, bottom + 2 * frame.scale),
                        ImVec2(x + step - gap, bottom + 5 * frame.scale),
                        frame.theme[Color::kAccent]);
}

// A strip with one mark for each stage, as high as what it changed; dragging goes through them.
void DrawScrubber(Frame& frame, int32_t module) {
  Context& context = frame.context;
  auto stages = static_cast<int32_t>(
      context.document.dump()->modules()[static_cast<size_t>(module)].stages.size());
  ImVec2 at = ImGui::GetCursorScreenPos();
  float width = ImGui::GetContentRegionAvail().x, height = 34 * frame.scale;
  ImGui::InvisibleButton("##scrubber", ImVec2(std::max(1.0f, width), height));
  const StageColumns columns(at.x, width, stages, kMinColumn * frame.scale);
  const int32_t under = columns.StageAt(ImGui::GetIO().MousePos.x);
  const int32_t shown = ShownChangeStage(context);
  if (ImGui::IsItemActive() && under != shown) {
    hlo::InstructionId id = context.navigation.InstructionIn(under);
    context.navigation.Select(id.valid() ? Selection::OfInstruction(module, under, id)
                                         : Selection::OfStage(module, under));
  }
  const dump::ModuleEntry& entry = context.document.dump()->modules()[static_cast<size_t>(module)];
  Help(fmt::format("{} of {}: {}", under + 1, stages,
                   entry.stages[static_cast<size_t>(under)].name));
  ImDrawList* draw = ImGui::GetWindowDrawList();
  draw->AddRectFilled(at, ImVec2(at.x + width, at.y + height), frame.theme[Color::kCanvas],
                      3 * frame.scale);
  const PassRanking* ranking = RankingIn(context, module, stages);
  for (int32_t c = 0; c < columns.columns; ++c) {
    const ChangeColumn box{{columns.Left(columns.First(c)), at.y}, {columns.ColumnWidth(), height}};
    DrawTick(frame, draw, box, columns.First(c), columns.First(c + 1), ranking, module);
  }
}

// The left side: the previous stage, unless another was chosen; the second dump is at the right.
void DrawAgainst(Frame& frame, int32_t module, int32_t stage) {
  Context& context = frame.context;
  const Comparison chosen = ChosenComparison(context);
  const auto& stages = context.document.dump()->modules()[static_cast<size_t>(module)].stages;
  ImGui::AlignTextToFramePadding();
  const std::string here = SafeText(stages[static_cast<size_t>(stage)].name, 70);
  const std::string other =
      chosen.is_set() ? SafeText(ComparisonText(context, chosen), 70) : "previous stage";
  if (chosen.is_set() || stage > 0) {
    Label(frame.theme, Color::kTextSecondary, chosen.second != 0 ? here : other);
    ImGui::SameLine();
    Label(frame.theme, Color::kTextSecondary, "→");
    ImGui::SameLine();
  }
  Label(chosen.second != 0 ? other : here);
  ImGui::SameLine();
  CommandButton(frame, Command::kCompare, "Compare with …");
  if (!chosen.is_set()) return;
  ImGui::SameLine();
  if (ImGui::Button("Previous stage")) context.marks.Of<Comparison>() = {};
  Help("compare with the previous stage");
}

}  // namespace

std::optional<StagePair> DrawChangeHead(Frame& frame) {
  Context& context = frame.context;
  if (!ShowDump(frame)) return {};
  const int32_t module = context.navigation.module(), stage = ShownChangeStage(context);
  if (module < 0 || stage < 0) {
    Sentence(frame, "no module in this dump");
    return {};
  }
  DrawScrubber(frame, module);
  DrawAgainst(frame, module, stage);
  const Comparison chosen = ChosenComparison(context);
  if (!chosen.is_set() && stage == 0) {
    Sentence(frame, "first stage: select a later one, press ], or compare with another");
    return {};
  }
  if (chosen == Comparison{.module = module, .stage = stage}) {
    Sentence(frame, "same stage on both sides: select another stage or module");
    return {};
  }
  const Pending<analysis::PassChanges>& changes =
      chosen.is_set() ? CompareStages(context, chosen, module, stage)
                      : ShownChanges(context, module, stage);
  if (!ShowPending(frame, changes, "the changes")) return {};
  StagePair pair;
  pair.module_before = pair.module = module;
  pair.before = pair.after = stage;
  pair.changes = changes.value;
  if (chosen.second != 0) {
    pair.module = chosen.module;
    pair.after = chosen.stage;
    pair.second = chosen.second;
  } else if (chosen.is_set()) {
    pair.module_before = chosen.module;
    pair.before = chosen.stage;
  } else {
    pair.before = context.data.Provenance(module)->lineage().Neighbour(stage, -1);
  }
  DumpData& later = chosen.second != 0 ? context.second.data() : context.data;
  const Pending<hlo::Module>& before = context.data.Module(pair.module_before, pair.before);
  const Pending<hlo::Module>& after = later.Module(pair.module, pair.after);
  if (!ShowPending(frame, before, "previous stage") || !ShowPending(frame, after, "the stage"))
    return {};
  pair.text_before = before.value;
  pair.text_after = after.value;
  return pair;
}

void DrawIgnoreMetadata(Frame& frame) {
  SameLineIfRoom(CheckboxWidth("Ignore metadata"));
  ImGui::Checkbox("Ignore metadata", &frame.context.marks.Of<ChangeFilter>().ignores_metadata);
  Help(
      "ignore differences only in backend_config and frontend_attributes; metadata={…} is always "
      "ignored");
}

void SelectInPair(Context& context, const StagePair& pair, bool is_after, hlo::InstructionId id) {
  if (is_after && pair.second != 0) {
    context.messages.Post(Severity::kNote,
                          std::string(pair.text_after->name(id)) + " is only in the second dump");
    return;
  }
  if (is_after)
    return context.navigation.Select(Selection::OfInstruction(pair.module, pair.after, id));
  const Selection earlier = Selection::OfInstruction(pair.module_before, pair.before, id);
  if (pair.second == 0 && pair.module_before == pair.module) {
    Follow(context, {.selection = earlier, .view = {}, .stage = pair.after});
  } else {
    context.navigation.Select(earlier);
  }
}

}  // namespace hloscope::viewer
