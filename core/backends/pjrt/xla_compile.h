// Letting the real XLA compile a module, on a described device or the plugin's own, in a child that
// leaves XLA's dump directory.
#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/backends/pjrt/compile_options.h"
#include "core/backends/pjrt/debug_options.h"
#include "core/base/result.h"
#include "core/replay/platform_table.h"

namespace hloscope::replay {

struct XlaCompileRequest {
  std::string plugin;          // its file
  std::string module;          // HloModuleProto in wire format, or what `format` says
  std::string format = "hlo";  // or "mlir": StableHLO, text or bytecode
  std::string target;          // a GpuTargetConfigProto as text; empty: the plugin's own devices
  int64_t replicas = 1;
  int64_t partitions = 1;
  pjrt::Partitioning partitioning;
  std::vector<std::string> argument_layouts;  // as in pjrt::CompileOptions
  std::string result_layout;
  std::string dump;  // an existing folder, where the child works; empty: no dump
  pjrt::XlaFlags flags;
  bool optimized_module = false;  // answer with the optimised module
  int64_t memory_bytes = 0;       // that the child may hold; 0: half of the machine's
  bool timers = false;            // XLA logs how long each step took
  std::string log;                // a file for what the child prints; empty: none
};

struct XlaCompileAnswer {
  std::string optimized_module;  // HloModuleProto in wire format, where it was asked for
  double load_ms = 0, compile_ms = 0;
  std::vector<std::pair<std::string, int64_t>> memory;  // bytes by name, where the plugin says them
  std::vector<std::string> warnings;
};

// Compiles in a child. Errors: XLA's own; died, where XLA killed the child, it met the deadline or
// took more memory than it may.
Result<XlaCompileAnswer> CompileWithXla(const XlaCompileRequest& request,
                                        std::chrono::steady_clock::time_point deadline,
                                        const std::stop_token& stop = {});

// The flags that make XLA dump all it can write without slowing down: texts and protos of the
// module, LLVM IR, PTX and Triton fusions, with `passes` also the module around every pass.
pjrt::XlaFlags DumpFlags(Devices devices, bool passes);

}  // namespace hloscope::replay
