// RunRecorder: a profile put together of what runs tell and of what the command itself does, for as
// many modules as one likes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/jobs.h"
#include "core/base/result.h"
#include "core/hlo/module.h"
#include "core/replay/capture/run_stream.h"
#include "profiler/event_store_builder.h"
#include "profiler/profile.h"

namespace hloscope::debug {

// What a fact about a fallback begins with; behind it the instruction.
inline constexpr std::string_view kFallbackFact = "on the host: ";

class RunRecorder {
 public:
  // Of all runs together, executions of instructions that are told one by one.
  static constexpr int64_t kMaxSteps = 2'000'000;

  explicit RunRecorder(int64_t most_steps = kMaxSteps);
  ~RunRecorder();
  RunRecorder(const RunRecorder&) = delete;
  RunRecorder& operator=(const RunRecorder&) = delete;

  // A module on a platform, whose runs come. A reference has lanes of its own.
  uint32_t AddProgram(std::shared_ptr<const hlo::Module> module, std::string_view platform,
                      bool is_reference);
  // For RunOptions::record_steps of the next run.
  int64_t steps_left() const;
  // A new run of the program begins: what comes is told as of it.
  void BeginRun(uint32_t program) { ++programs_[program].runs; }
  // Takes what belongs to a profile; false for all else.
  bool Take(uint32_t program, replay::RunEvent& event);
  // An instruction of the entry that ran by itself, not in the run. Where nothing tells the times
  // of instructions in the run, they take these.
  void AddAlone(uint32_t program, std::string_view instruction, double run_us);
  // What the command did, in its lane.
  void AddCommand(std::string_view what, int64_t start_ns, int64_t end_ns);
  // Something to be known of the recording.
  void AddFact(std::string key, std::string value) {
    environment_.emplace_back(std::move(key), std::move(value));
  }

  // The profile; the recorder is spent. Errors: more events than a profile holds.
  Result<std::shared_ptr<const profiler::Profile>> Finish(Jobs& jobs);

 private:
  class Arguments;
  struct Alone {
    std::string instruction;
    int64_t start_ns = 0, duration_ns = 0;
  };
  struct Program {
    std::shared_ptr<const hlo::Module> module;
    std::string label;  // "jit_step on interpreter"
    std::string group;
    int64_t number = 0;  // as traces have it
    bool is_reference = false;
    int64_t runs = 0;
    std::map<int64_t, int64_t> traced = {};              // numbers of programs in its own traces
    bool tells_instructions = false, has_steps = false;  // in its runs; of ours
    bool is_simulated = false;                           // kernels on a simulated device
    std::vector<Alone> alone = {};
    std::vector<profiler::OperationId> operations = {};  // by instruction; invalid: none yet
  };

  void AddFallback(const Program& program, const replay::RunFallback& fallback);
  bool AddOnHost(Program& program, const replay::TraceSlice& slice);
  void AddReferencePrograms();
  uint32_t Group(const std::string& name, bool is_device = false);
  profiler::LaneId Lane(const std::string& group, const std::string& lane,
                        profiler::LaneRole role = profiler::LaneRole::kThread,
                        bool is_device = false);
  profiler::OperationId OperationOf(Program& program, hlo::InstructionId id);
  void Add(profiler::LaneId lane, int64_t start_ns, int64_t duration_ns, std::string_view name,
           profiler::OperationId operation = {}, uint64_t where = 0);
  void AddTrace(Program& program, replay::TraceFile file);
  void AddSamples(const Program& program, const replay::TraceSamples& samples);
  void AddSteps(Program& program, replay::TraceSteps steps);
  void TellAlone(Program& program);
  void CountSums(const Program& program, const runtime::DeviceRecording& told);

  int64_t most_steps_, origin_ns_, origin_epoch_ns_;
  profiler::EventStoreBuilder builder_;
  std::shared_ptr<Arguments> arguments_;
  std::map<std::string, uint32_t> groups_;
  std::map<std::pair<std::string, std::string>, profiler::LaneId> lanes_;
  std::map<std::pair<std::string, std::string>, profiler::CounterId> counters_;
  std::vector<Program> programs_;
  std::vector<profiler::EmbeddedModule> traced_modules_;
  int64_t next_number_ = 1;
  std::vector<std::pair<std::string, std::string>> environment_;
  std::vector<std::string> warnings_;
  std::vector<profiler::Loss> losses_;
  Status status_;  // of the first event that could not be added
};

// Notes how long the command was at something, where there is somebody to tell.
class CommandSpan {
 public:
  CommandSpan(RunRecorder* recorder, std::string_view what)
      : recorder_(recorder), what_(what), start_ns_(recorder ? runtime::SteadyNanoseconds() : 0) {}
  ~CommandSpan() {
    if (recorder_ != nullptr) recorder_->AddCommand(what_, start_ns_, runtime::SteadyNanoseconds());
  }
  CommandSpan(const CommandSpan&) = delete;
  CommandSpan& operator=(const CommandSpan&) = delete;

 private:
  RunRecorder* recorder_;
  std::string what_;
  int64_t start_ns_;
};

// Between a run and who wants its values: what belongs to a profile goes to the recorder.
class RecordingStream : public replay::RunStream {
 public:
  RecordingStream(RunRecorder& recorder, uint32_t program, replay::RunStream& next)
      : recorder_(recorder), program_(program), next_(next) {}
  void Take(replay::RunEvent event) override {
    if (!recorder_.Take(program_, event)) next_.Take(std::move(event));
  }

 private:
  RunRecorder& recorder_;
  uint32_t program_;
  replay::RunStream& next_;
};

}  // namespace hloscope::debug
