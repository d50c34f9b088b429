// The origins of a pair of stages out of provenance.txt.
#include "core/analysis/align/noted_stages.h"

#include <fmt/format.h>

#include <utility>

namespace hloscope::analysis {

const std::vector<dump::StageProvenance>& NotedStages::Read() {
  if (!stages_) {
    auto read = dump::ProvenanceOf(*model_, module_);
    if (!read) notes_.push_back(read.error().ToString() + "; links between stages are guessed");
    stages_ = read ? *std::move(read) : std::vector<dump::StageProvenance>();
  }
  return *stages_;
}

std::optional<std::vector<hlo::Origin>> NotedStages::Between(int32_t before_stage,
                                                             const hlo::Module& before,
                                                             int32_t after_stage,
                                                             const hlo::Module& after) {
  const std::lock_guard lock(mutex_);
  const auto& noted = Read();
  if (noted.empty()) return std::nullopt;
  const auto& stages = model_->modules()[static_cast<size_t>(module_)].stages;
  const std::string &from = stages[static_cast<size_t>(before_stage)].name,
                    &to = stages[static_cast<size_t>(after_stage)].name;
  auto origins = dump::OriginsBetween(noted, {from, before}, {to, after});
  if (!origins) {
    notes_.push_back(fmt::format(
        "provenance.txt does not fit the files of {} and {}: links between them are guessed", from,
        to));
  }
  return origins;
}

std::vector<std::string> NotedStages::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

}  // namespace hloscope::analysis
