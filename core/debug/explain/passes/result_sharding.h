// How the results of partitioned modules lie on devices, which their texts do not say.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/limits.h"
#include "core/hlo/module.h"
#include "core/hlo/sharding.h"

namespace hloscope::debug {

// Of stages of one module, in order: what the last one before partitioning says of its results
// holds for those after it.
class ResultSharding {
 public:
  explicit ResultSharding(const Limits& limits) : devices_(limits.devices) {}

  // With that sharding, so that its results are put together; null where a partitioned module
  // yields parts and nothing says of what.
  std::shared_ptr<const hlo::Module> Complete(std::shared_ptr<const hlo::Module> module);

 private:
  // The sharding of the whole results as it fits that module's parts.
  std::optional<hlo::Sharding> FittingTo(const hlo::Module& module, int64_t partitions) const;

  int64_t devices_;
  std::optional<hlo::Shape> whole_;
  std::vector<std::optional<hlo::Sharding>> leaves_;  // of the whole results
};

}  // namespace hloscope::debug
