// Ranking stages by number, and points by the pipelines that follow them.
#include "core/dump/stage_order.h"

#include <algorithm>
#include <tuple>

#include "core/dump/listing/word_list.h"

namespace hloscope::dump {
namespace {

// Where points that carry no number stand among the numbered passes: before the first pass of any
// of these pipelines.
struct Place {
  std::string_view point, pipelines;
};
constexpr Place kPlaces[] = {
    {"after_spmd_partitioner", "host-compute optimization"},
    {"before_config_assignment", "config-assigner"},
};

constexpr int64_t kNoNumber = INT64_MAX;

// The number of the first pass of one of those pipelines.
int64_t FirstOf(const std::vector<StageEntry>& stages, std::string_view pipelines) {
  int64_t first = kNoNumber;
  for (const StageEntry& stage : stages) {
    StepName step = ParseStep(stage.name);
    if (step.number >= 0 && ListHolds(pipelines, step.pipeline))
      first = std::min(first, step.number);
  }
  return first;
}

// Phase, number, and whether it stands before (0) the pass of that number or is that pass (1).
std::tuple<int, int64_t, int> RankOf(const StageEntry& stage,
                                     const std::vector<StageEntry>& stages) {
  StepName step = ParseStep(stage.name);
  if (step.number >= 0) return {1, step.number, 1};
  StagePhase phase = PhaseOf(stage.name);
  if (phase == StagePhase::kInput) return {0, 0, 0};
  if (phase == StagePhase::kFinal) {
    // XLA:TPU writes several, in this order.
    const bool is_before = stage.name.ends_with("_before_buffer_assignment");
    const bool is_after = stage.name.ends_with("_after_buffer_assignment");
    return {3, 0, is_before ? 0 : is_after ? 1 : stage.name == "after_codegen" ? 3 : 2};
  }
  for (const Place& place : kPlaces) {
    if (stage.name != place.point) continue;
    return {1, FirstOf(stages, place.pipelines), static_cast<int>(&place - kPlaces) - 8};
  }
  return {4, 0, 0};
}

}  // namespace

StagePhase PhaseOf(std::string_view stage) {
  if (stage.starts_with("before_optimization")) return StagePhase::kInput;
  if (ParseStep(stage).number >= 0) return StagePhase::kPass;
  if (stage.find("after_optimization") != std::string_view::npos || stage == "after_codegen")
    return StagePhase::kFinal;
  return StagePhase::kOther;
}

void SortStages(std::vector<StageEntry>& stages) {
  struct Ranked {
    std::tuple<int, int64_t, int> rank;
    StageEntry stage;
  };
  std::vector<Ranked> ranked;
  for (const StageEntry& stage : stages) ranked.push_back({RankOf(stage, stages), stage});
  std::ranges::sort(ranked, {}, [](const Ranked& r) { return std::tie(r.rank, r.stage.name); });
  for (size_t k = 0; k < ranked.size(); ++k) stages[k] = std::move(ranked[k].stage);
}

}  // namespace hloscope::dump
