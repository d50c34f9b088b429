// Recording: when each instruction of a run ran, where it was asked for; StepRecorder writes down
// what one device does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::runtime {

struct Frame;
class RunState;

// Nanoseconds of the steady clock, which all processes of a machine share.
int64_t SteadyNanoseconds();

// A call on the way to an instruction. The first of a recording is the entry, which nobody calls.
struct CallPath {
  static constexpr int64_t kSummed = -1;
  uint32_t parent = 0;  // index, smaller than its own
  hlo::InstructionId caller;
  int64_t iteration = 0;  // kSummed: all that were not told one by one
};

// An instruction that ran; an invalid one: the device waited for others. What an instruction takes
// begins where the step before it ended, so gathering its operands and freeing what it used last
// are its own.
struct RecordedStep {
  hlo::InstructionId instruction;
  uint32_t path = 0;  // index of the call it ran in
  int64_t start_ns = 0, duration_ns = 0;
};

// The step `step` stands for many executions of its instruction inside the call of its path, and
// lasts as long as these took outside other instructions.
struct SummedSteps {
  uint64_t step = 0;
  int64_t count = 0, total_ns = 0, min_ns = 0, max_ns = 0;
};

struct LiveBytes {
  int64_t time_ns = 0, bytes = 0;
};

struct DeviceRecording {
  std::vector<CallPath> paths;
  std::vector<RecordedStep> steps;  // inner ones before what contains them
  std::vector<SummedSteps> sums;    // of ascending step
  std::vector<LiveBytes> live;      // of all devices, sampled
  int64_t lost = 0, lost_ns = 0;    // executions that not even sums have, and their time
};

// The nanoseconds that taking down one step takes on this machine, which are part of the time of
// its instruction: measured at each call, in about a millisecond.
double MeasuredStepCost();

// A device's first turn, and when it had nothing more to do; 0: it never ran.
struct DeviceSpan {
  int64_t begun_ns = 0, ended_ns = 0;
};

struct Recording {
  // Steps and calls told one by one, of all devices together; what comes later is summed by
  // instruction, but for the entry's own.
  int64_t most_steps = 0;
  std::vector<DeviceRecording> devices;
  std::vector<DeviceSpan> spans;  // by device
};

// Used by its device's thread only. Takes one look at the clock for each instruction, no lock.
class StepRecorder {
 public:
  StepRecorder(size_t instructions, int64_t most_steps, const RunState& run, DeviceRecording& out);

  // Around each computation that runs.
  void Enter(std::span<const Frame> frames);
  void Leave();
  // The instruction at hand has ended, well or not.
  void Ended(hlo::InstructionId id);
  // The device had to let others run.
  void Waited(int64_t start_ns, int64_t end_ns);

 private:
  struct Level {
    uint32_t path = 0;
    uint32_t newest_call = 0;  // the path of the last call made here; 0: none
    int64_t entered = 0;
    int64_t step_start = 0, inside = 0;  // of the step at hand; what calls and waits took of it
    bool is_told = true;                 // the step at hand will be
  };
  struct Sum {
    int64_t count = 0, total = 0, self = 0, min = 0, max = 0;
  };

  bool has_room() const { return out_.steps.size() + out_.paths.size() < most_; }
  uint32_t PathOf(Level& caller, const Frame& frame);
  void Add(hlo::InstructionId id, int64_t start, int64_t duration, int64_t self);
  void TellSums(hlo::InstructionId caller, const Level& level, int64_t end);
  void SampleLive(int64_t now);

  const RunState& run_;
  DeviceRecording& out_;
  size_t most_;
  std::vector<Level> levels_;
  std::vector<Sum> sums_;                   // by instruction; empty until they are needed
  std::vector<hlo::InstructionId> summed_;  // those with a sum, in the order they first ran
  int64_t sums_start_ = 0;                  // when the first of them did
  size_t instructions_;
  int64_t next_sample_ = 0, sample_interval_ = 50'000;
};

}  // namespace hloscope::runtime
