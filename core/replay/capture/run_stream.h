// RunStream: everything a run tells, as it comes, the same from this process and from a worker.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/literal.h"
#include "core/replay/capture/algorithm_record.h"
#include "core/replay/capture/capture_plan.h"
#include "core/runtime/recording.h"
#include "core/runtime/value.h"
#include "profiler/launch_figures.h"

namespace hloscope::replay {

// Flattened leaf number `leaf` of the result on `device` (by list of Placement): its value, or why
// it has none.
struct LeafResult {
  int64_t device = 0, leaf = 0;
  Result<hlo::Literal> value = hlo::Literal();
};

// A leaf that the capture plan wants.
struct CapturedValue {
  ValueKey key;
  CapturedForm value;
};

// What a search has found: how it is written is the search's own; values are shared, not copied.
struct SearchFinding {
  std::string name, fields;
  std::vector<runtime::Value> values = {};
  // Whose instructions it names, where another module ran than the one that was given.
  std::shared_ptr<const hlo::Module> module = nullptr;
};

struct RunWarning {
  std::string text;
};

// An instruction that something else than the platform ran.
struct RunFallback {
  std::string instruction, opcode, reason, detail;
  int64_t bytes_moved = 0;
  double time_us = 0;
};

// Behind a run of a platform that compiles: how often what ran, and what of it the evaluator ran.
struct RunExecuted {
  struct Evaluated {
    std::string opcode;
    int64_t count = 0;
    std::string reason;
  };
  // Of kernels that a library of the device could compute instead.
  struct Choice {
    std::string opcode, library;
    std::string reason;  // why our own kernel ran; empty: the library did
    int64_t count = 0;
    AlgorithmRecord way = {};
  };
  // Of all devices. A collective between devices is that alone, whatever carried it out.
  int64_t kernels = 0, library_calls = 0, copies = 0, collectives = 0, evaluated = 0;
  std::vector<Evaluated> evaluated_ops = {};
  std::vector<Choice> choices = {};
  // The same for a bundle, a row of a table of choices each (libraries/autotune_table.h).
  std::vector<std::string> choice_rows = {};
  // Where the devices of a run are GPUs: how many devices, on how many GPUs, of how many that there
  // are. 0: they are not, or there is one device.
  struct Placement {
    int64_t devices = 0, gpus = 0, gpus_there = 0;
  };
  Placement placement = {};
};

// Something that took time and is no instruction. Times here and below are of the steady clock,
// which all processes of a machine share.
struct TraceSlice {
  std::string name, lane;  // what it was; where it ran
  int64_t start_ns = 0, duration_ns = 0;
};

// Slices that mean something to whoever works out times: a run as a whole, in the lane of each
// device; its instructions lie inside. profiler/executor_events.def and work_segments.cc have the
// same words.
inline constexpr std::string_view kRunSlice = "run of the module";
inline constexpr std::string_view kWaitSlice = "wait for other devices";
inline constexpr std::string_view kSetUpSlice = "set-up of the run";
inline constexpr std::string_view kEndSlice = "end of the run";
// Lanes: of a device, with its number behind; of all devices of a program; of what goes to them and
// comes back.
inline constexpr std::string_view kDeviceLane = "device ";
inline constexpr std::string_view kProgramLane = "program";
inline constexpr std::string_view kTransferLane = "transfers";

// A kernel as it is launched. `file`: of its PTX.
struct TracedKernel {
  std::string name, file;
  int64_t line = 0;
  std::array<uint32_t, 3> blocks = {}, threads = {};
  int64_t static_shared_bytes = 0, dynamic_shared_bytes = 0;
};

// A step that was the launch of a kernel on a simulated device, and what it was counted to do.
struct TracedLaunch {
  uint64_t step = 0;    // of the recording
  uint32_t kernel = 0;  // of TraceSteps::kernels
  profiler::ModelBound bound = profiler::ModelBound::kNone;
  // By the model of TraceSteps::model_device, and with all units at their peaks.
  double model_us = 0, model_peak_us = 0;
  profiler::LaunchFigures figures;
  // Of all launches of the step's instruction in the run, told with one of them: how often which
  // line was executed, as an argument of profiler/ptx_lines.h; empty: not counted.
  std::string lines = {};
};

// When the instructions of one device ran.
struct TraceSteps {
  int64_t device = 0;
  runtime::DeviceRecording steps;
  // Whose instructions they are, where a compiler rewrote the module: its number among those of the
  // process that ran it, and with the first steps told of it the module. 0: the one that was given.
  uint64_t module_number = 0;
  std::shared_ptr<const hlo::Module> module = nullptr;
  // Loops of it that ran as one function each, so that nothing is told of what is in them.
  std::vector<hlo::InstructionId> whole_loops = {};
  // Of a simulated device; the times are then those of the simulation.
  std::vector<TracedKernel> kernels = {};
  std::vector<TracedLaunch> launches = {};  // of ascending step
  std::string model_device = {};            // empty: not known
};

// Values of a quantity over time: nanoseconds and value.
struct TraceSamples {
  std::string name, unit;
  std::vector<std::pair<int64_t, double>> samples;
};

// How far it is: `done` of `total` of what `what` says ("results read back").
struct RunProgress {
  std::string what;
  int64_t done = 0, total = 0;
};

// Something wrong in what ran that did not end the run, as a checking platform finds it.
struct RunFault {
  ValueKey key;
  Error error;
};

// What a check of a simulated GPU found: threads at instructions of kernels.
struct RunFinding {
  struct Side {
    std::string file, form;  // of PTX; the instruction as written
    int64_t line = 0, column = 0;
    std::array<int64_t, 3> block{}, thread{};
  };
  // "race", "uninitialised", "barrier", "memory", "order"; in words; the instruction that launched
  // the kernel.
  std::string kind, what, instruction, kernel;
  std::optional<Side> at, other;  // of a race: the earlier access
  std::string memory;             // "shared memory", "argument 2"; empty: none
  int64_t byte = 0;               // in it
  int64_t count = 1;              // how often the same was found
};

// The trace that a library's own profiler made of a run, as the bytes of a file of a format that
// the profiler reads.
struct TraceFile {
  std::string bytes;
  int64_t start_ns = 0;  // what its time 0 is; 0: it says so itself, or nobody does
};

using RunEvent = std::variant<LeafResult, CapturedValue, SearchFinding, RunWarning, RunFallback,
                              TraceSlice, TraceSteps, TraceSamples, TraceFile, RunProgress,
                              RunFault, RunExecuted, RunFinding>;

class RunStream {
 public:
  virtual ~RunStream() = default;
  // One at a time, from the thread that runs or, where devices run on threads, from any of them.
  virtual void Take(RunEvent event) = 0;
};

// Tells the phases of a run one behind the other, each until the next or the end.
class PhaseRecorder {
 public:
  PhaseRecorder(bool records, RunStream& stream) : records_(records), stream_(stream) {}
  ~PhaseRecorder() { End(); }
  PhaseRecorder(const PhaseRecorder&) = delete;
  PhaseRecorder& operator=(const PhaseRecorder&) = delete;
  void Enter(std::string_view name, std::string_view lane);

 private:
  void End();

  bool records_;
  RunStream& stream_;
  TraceSlice phase_;  // of no name: none
};

// Tells a leaf of the result in the form that the plan wants it in.
void TellResult(RunStream& stream, const CapturePlan& plan, hlo::InstructionId root,
                LeafResult result);

}  // namespace hloscope::replay
