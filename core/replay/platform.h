// Platform and Executable: the one interface behind which every way of running a module stands, in
// this process or another. RunOptions go in, RunStream brings what comes out.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/literal.h"
#include "core/hlo/module.h"
#include "core/replay/capture/run_stream.h"
#include "core/replay/platform_table.h"
#include "core/replay/run_options.h"

namespace hloscope::replay {

// The summary of a run.
struct RunResult {
  double run_us = 0;  // from inputs resident to results ready
  int64_t peak_bytes = 0;
  bool ended_by_plan = false;  // the capture plan had what it wanted: there are no results
  int64_t executions = 0;      // of the instruction that CapturePlan::until names
};

// What Load made of a module, to be kept and run as often as one likes.
class Executable {
 public:
  virtual ~Executable() = default;
  // Runs once. `inputs` has one list per device (replica · partitions + partition), or per replica
  // where the module is unpartitioned (Placement::lists): the leaves of all parameters in order;
  // the stream gets results by the same numbers. Errors: the inputs do not fit the parameters, the
  // platform cannot serve the capture plan (unsupported), the run was stopped or met a limit
  // (died), no memory. Leaves that could not be computed are not an error here but in the stream.
  virtual Result<RunResult> Run(std::span<const std::vector<hlo::Literal>> inputs,
                                const RunOptions& options, RunStream& stream) = 0;
  // What loading took the platform where it runs in another process; else it is known already.
  virtual std::optional<double> load_ms() const { return std::nullopt; }
  // Parts of the last loading, where it was to be recorded; the second call has none.
  virtual std::vector<TraceSlice> TakeLoadSlices() { return {}; }
};

class Platform {
 public:
  virtual ~Platform() = default;
  virtual std::string_view name() const = 0;
  // Makes a module ready to run; an unsupported error names what this platform cannot do.
  virtual Result<std::unique_ptr<Executable>> Load(std::shared_ptr<const hlo::Module> module,
                                                   const RunOptions& options) = 0;
};

/// Makes a platform by name: core/backends/make_platform.h.
using PlatformMaker = Result<std::unique_ptr<Platform>> (*)(std::string_view name);

// Unsupported, by the platform's name, where it cannot serve the plan.
Status CheckCapture(const PlatformRow& platform, const CapturePlan& plan);

// The shapes of the entry's parameters, in order.
std::vector<hlo::Shape> ParameterShapes(const hlo::Module& module);

}  // namespace hloscope::replay
