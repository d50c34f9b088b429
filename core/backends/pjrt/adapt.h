// Adapt: the module a plugin is given instead of one it would abort on, and how values go in and
// out of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/backends/pjrt/compile_options.h"
#include "core/base/result.h"
#include "core/hlo/module.h"
#include "core/hlo/sharding/tiling.h"
#include "core/hlo/sharding/topology.h"
#include "core/replay/run_options.h"

namespace hloscope::replay::pjrt {

// A leaf of the parameters: one argument of the plugin's, behind it the live size of each dynamic
// dimension; a token is none.
struct InputLeaf {
  hlo::Shape shape;
  std::vector<int64_t> dynamic_dimensions;
  std::optional<hlo::Tiling> tiling;  // of an array of all partitions together, to be cut
};

// A leaf of the result: the plugin's output `output`, behind it live sizes likewise; -1: a token.
struct OutputLeaf {
  hlo::Shape shape;
  int64_t output = -1;
  std::vector<int64_t> dynamic_dimensions;
  std::optional<hlo::Tiling> tiling;
};

struct Adapted {
  std::shared_ptr<const hlo::Module> module;
  hlo::DeviceCounts counts;   // what the plugin is to compile for
  Partitioning partitioning;  // by SPMD: arrays are cut and put together here
  // That share a list of values: arrays are those of several devices together, or all have the
  // same.
  int64_t devices_per_list = 1;
  std::vector<InputLeaf> inputs;
  std::vector<OutputLeaf> outputs;
  std::vector<std::string> warnings;  // what was adapted, each thing once
};

// How XLA is to partition the module as it is: by what its header and its annotations say.
Partitioning PartitioningOf(const hlo::Module& module, const hlo::Topology& topology);

// Rewrites what XLA would abort on by the steps of adaptations.def. Unsupported: what nobody can
// adapt, by name. Input error: elided constants without fill_elided.
// Without options.platform.run_passes optimised forms stay as they are.
Result<Adapted> Adapt(std::shared_ptr<const hlo::Module> module, const RunOptions& options);

}  // namespace hloscope::replay::pjrt
