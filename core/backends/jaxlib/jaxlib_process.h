// JaxlibProcess: a child Python that compiles and runs modules with its own jaxlib.
//
// The child is a worker that speaks frames as ours do (workers/worker_protocol.h), but of one kind:
// a kTask holds JSON and data, a kTaskDone the same; jaxlib_child.py answers each in order. What is
// in its JSON is taken for what it is: a stranger's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/backends/jaxlib/find_jaxlib.h"
#include "core/base/result.h"
#include "core/hlo/literal.h"
#include "core/replay/workers/worker_process.h"

namespace hloscope::replay {

struct JaxlibStart {
  JaxlibPlace place;
  std::vector<std::pair<std::string, std::string>> flags;  // of XLA: name without dashes, value
  int64_t devices = 1;                                     // simulated ones, on the CPU
  std::string folder =
      {};  // that the child works in, where relative paths in flags lead; empty: any
};

// What the child says of itself.
struct JaxlibFacts {
  std::string version;   // of jaxlib: "0.10.2"
  std::string python;    // "3.11.7"
  std::string platform;  // of its client: "cpu"
  int64_t devices = 0;
  std::string note;  // what somebody should know of that choice; may be empty
};

struct JaxlibCompileRequest {
  std::string_view module;   // HloModuleProto, ids in one row
  std::string_view options;  // CompileOptionsProto
  int64_t devices = 1;
  bool optimized_module = false;  // answer with it
  bool trace = false;             // its profiler runs too
};

// What the profiler of the child recorded: an XSpace, whose times count from `start_ns` of the
// steady clock; or a note why there is none. Both empty: none was asked for.
struct JaxlibTrace {
  std::string bytes, note;
  int64_t start_ns = 0;
};

struct JaxlibProgram {
  uint64_t id = 0;
  double compile_ms = 0;
  std::vector<std::pair<std::string, int64_t>> memory;  // bytes by name; empty: not known
  std::string taken;             // the module before all passes, as it came out of StableHLO
  std::string optimized_module;  // HloModuleProto
  std::vector<std::string> warnings;
  JaxlibTrace trace;
};

// A program in MLIR, text or bytecode, whose main function takes the index of a platform first
// where `platform_index` is one, then arguments of these dimensions; nullopt: as its type says.
struct JaxlibTranslateRequest {
  std::string_view code;
  std::vector<std::optional<std::vector<int64_t>>> dimensions;
  std::optional<int32_t> platform_index;
};

// Row-major arrays of each device.
using DeviceArrays = std::vector<std::vector<hlo::Literal>>;

struct JaxlibResults {
  double run_us = 0;  // from arguments resident to results ready
  DeviceArrays outputs;
  JaxlibTrace trace;
};

class JaxlibProcess {
 public:
  // Starts Python, imports jaxlib, makes its client. Errors: no such program, no jaxlib, input for
  // a flag that this XLA does not know, died.
  static Result<std::unique_ptr<JaxlibProcess>> Start(const JaxlibStart& start,
                                                      const Budget& bounds);

  // Errors: unsupported where this jaxlib cannot take the module as StableHLO; XLA's own; died.
  Result<JaxlibProgram> Compile(const JaxlibCompileRequest& request, const Budget& bounds);
  // The HloModuleProto of a program with the shapes of its arguments refined through all of it, as
  // JAX does before it compiles. Errors: input for shapes that the program does not allow;
  // unsupported for one that this jaxlib cannot read.
  Result<std::string> Translate(const JaxlibTranslateRequest& request, const Budget& bounds);
  // One list of arrays per device; with `trace` its profiler runs too. Errors: XLA's own; died;
  // internal for an answer without sense.
  Result<JaxlibResults> Run(uint64_t program, std::span<const std::vector<hlo::Literal>> arguments,
                            bool trace, const Budget& bounds);
  void Unload(uint64_t program);

  const JaxlibFacts& facts() const { return facts_; }
  bool IsUsable() { return worker_->IsUsable(); }

 private:
  explicit JaxlibProcess(std::unique_ptr<WorkerProcess> worker) : worker_(std::move(worker)) {}
  Status Open(const std::string& folder, const Budget& bounds);

  std::unique_ptr<WorkerProcess> worker_;
  JaxlibFacts facts_;
  uint64_t next_id_ = 1;
};

}  // namespace hloscope::replay
