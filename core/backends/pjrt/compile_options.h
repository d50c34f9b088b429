// CompileOptions: what a plugin is told beside the program.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hloscope::replay::pjrt {

// How XLA partitions a module.
struct Partitioning {
  bool spmd = false;
  bool shardy = false;  // by Shardy's annotations
  // Parameters and results whose sharding it may choose: one value for all, or one for each; empty:
  // none. XLA reads these here and not in the module.
  std::vector<bool> to_parameters, to_results;

  bool LeavesOpen() const {
    return std::ranges::count(to_parameters, true) + std::ranges::count(to_results, true) > 0;
  }
};

struct CompileOptions {
  int64_t replicas = 1, partitions = 1;
  std::vector<int64_t> devices;  // by replica · partitions + partition; empty: the plugin's choice
  Partitioning partitioning;
  // Layouts of the arguments and of the result, as ShapeProtos; empty: the defaults. XLA reads
  // these here and not in the module.
  std::vector<std::string> argument_layouts;
  std::string result_layout;
  bool backend_only = false;  // the module is optimised: no passes
  // Flags of XLA by name, without dashes; the plugin reads each value by its flag's type.
  std::vector<std::pair<std::string, std::string>> flags;
  // xla.DebugOptions in wire format, for what is not in flags; empty: the plugin's defaults.
  std::string debug_options;
};

// CompileOptionsProto in wire format (XLA: pjrt/proto/compile_options.proto).
std::string Serialize(const CompileOptions& options);

}  // namespace hloscope::replay::pjrt
