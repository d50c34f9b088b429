// CompileOptions: what a plugin is told beside the program.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hloscope::replay::pjrt {

struct CompileOptions {
  int64_t replicas = 1, partitions = 1;
  std::vector<int64_t> devices;  // by replica · partitions + partition; empty: the plugin's choice
  bool spmd_partitioning = false;
  bool shardy = false;        // partition by Shardy's notes
  bool backend_only = false;  // the module is optimised: no passes
  // Flags of XLA by name, without dashes; the plugin reads each value by its flag's type.
  std::vector<std::pair<std::string, std::string>> flags;
  // xla.DebugOptions in wire format, for what is not in flags; empty: the plugin's defaults.
  std::string debug_options;
};

// CompileOptionsProto in wire format (XLA: pjrt/proto/compile_options.proto).
std::string Serialize(const CompileOptions& options);

}  // namespace hloscope::replay::pjrt
