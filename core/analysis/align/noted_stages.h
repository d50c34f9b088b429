// What the compiler of a dump noted of where the instructions of its stages come from.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/dump/dump_model.h"
#include "core/dump/own_compilation.h"

namespace hloscope::analysis {

// Read when first asked for; thread-safe.
class NotedStages {
 public:
  NotedStages(std::shared_ptr<const dump::DumpModel> model, int32_t module)
      : model_(std::move(model)), module_(module) {}

  // As Lineage::NotedOrigins.
  std::optional<std::vector<hlo::Origin>> Between(int32_t before_stage, const hlo::Module& before,
                                                  int32_t after_stage, const hlo::Module& after);
  // Why what was noted is not used, so that links are guessed; empty where all is well, and where
  // nothing was noted.
  std::vector<std::string> notes() const;

 private:
  const std::vector<dump::StageProvenance>& Read();

  std::shared_ptr<const dump::DumpModel> model_;
  int32_t module_;
  mutable std::mutex mutex_;
  std::optional<std::vector<dump::StageProvenance>> stages_;
  std::vector<std::string> notes_;
};

}  // namespace hloscope::analysis
