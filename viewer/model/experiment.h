// Experiment: what the divergence lab runs, in workers and on a thread of its own, and what came
// out of it. All functions are for the main thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/debug/run/run_module.h"
#include "core/hlo/module.h"
#include "core/replay/workers/worker_pool.h"
#include "viewer/model/captured_values.h"
#include "viewer/model/retained_files.h"
#include "viewer/model/run_profiles.h"
#include "viewer/model/stage_again.h"
#include "viewer/model/verdict_table.h"

namespace hloscope::viewer {

// What is to run, by default every instruction of the entry by itself first.
struct ExperimentRequest : debug::RunSpec {
  ExperimentRequest() {
    compare.isolate = compare.statistics = true;
    budget.seconds = 120;
  }

  StageAnchor place;                      // what is to run, for those who show it
  int32_t module_index = -1, stage = -1;  // that in this reading of the dump; -1: not there
  bool record = false;                    // a profile of the run
};

// "seed 3", "inputs from a.npz": what a run is given.
std::string InputsText(const debug::RunSpec& request);

// How one instruction did.
struct Finding {
  hlo::InstructionId instruction;  // of the module that ran
  Verdict verdict = Verdict::kFailed;
  double max_abs_error = 0, max_rel_error = 0;
  uint64_t max_ulp = 0;
  int64_t elements = 0, mismatched = 0;
  std::string note;  // the error, or what it takes to differ
};

// The values of one instruction on both sides.
struct CapturedPair {
  hlo::InstructionId instruction;
  std::vector<hlo::Literal> reference_leaves, actual_leaves;  // arrays, tuples flattened
  std::vector<ElementCounts> counts;                          // of elements, by leaf of both
  debug::BoundsRequest bounds;                                // by which they compare
  std::string note;                                           // why a side has none
  double seconds = 0;                                         // that finding them took
};

class Experiment {
 public:
  // `wake` is called from any thread when there is news; `worker_program` serves as a worker;
  // profiles of runs, and what was compiled, go below `state_folder`.
  explicit Experiment(std::function<void()> wake, std::string worker_program = kThisProgram,
                      std::string state_folder = {});
  // Stops what runs and waits for it; nothing else here waits.
  ~Experiment();
  Experiment(const Experiment&) = delete;
  Experiment& operator=(const Experiment&) = delete;

  // Runs the module; what ran before is stopped and forgotten.
  void Start(std::shared_ptr<const hlo::Module> module, const ExperimentRequest& request);
  // Finds the values of an instruction on the inputs of the last run, on the interpreter and, from
  // the same operands, on its platform. Not while something runs.
  void Capture(hlo::InstructionId instruction);
  void Cancel();
  // Takes over news; true if there was any. Once a frame.
  bool Update();
  // Forgets everything, as when another dump is opened.
  void Reset();
  /// What ran, or runs, of the dump: with its module.
  using Stage = std::pair<StageAnchor, std::shared_ptr<const hlo::Module>>;
  std::vector<Stage> stages() const;
  /// Another reading of the dump is shown: `again` has each of stages(), in their order.
  void Rebase(std::span<const StageAgain> again);

  bool running() const { return running_; }
  double seconds() const;  // that what runs has taken, or took
  // "running on interpreter (12 of 40 instructions)".
  std::string doing() const;
  const ExperimentRequest& request() const { return request_; }
  const hlo::Module* module() const { return module_.get(); }
  std::span<const Finding> findings() const { return findings_; }  // in the order they came
  // Results of instructions that are not in module() any more since the dump was read again.
  int64_t lost_findings() const { return lost_; }
  const Finding* Of(hlo::InstructionId instruction) const;
  int64_t expected_findings() const { return expected_; }  // instructions of the entry to come
  const debug::RunReport* report() const { return report_ ? &*report_ : nullptr; }
  // How many elements of each of its outputs are NaN on the platform.
  std::span<const int64_t> output_nans() const { return output_nans_; }
  // Where it runs: others who run something take their workers from here.
  const std::shared_ptr<replay::WorkerPool>& workers() const { return workers_; }
  // Others, at most that many, for modules that are not saved when a worker crashes on them.
  std::shared_ptr<replay::WorkerPool> MakeWorkers(int most) const;
  const std::string& program() const { return program_; }  // that serves as a worker
  // Where dumps of what our own compiler made go.
  const std::shared_ptr<RetainedFiles>& compilations() const { return compilations_; }
  const CapturedPair* captured() const { return captured_ ? &*captured_ : nullptr; }
  // What the instructions of that stage held in its last run; null: it was not run, or long ago.
  const RunValues* ValuesOf(int32_t module_index, int32_t stage) const;
  uint64_t runs() const { return runs_; }  // that ended with values
  // The profile of the last run, or why there is none, once it is written; then nullopt.
  std::optional<Result<RunProfile>> TakeProfile() { return std::exchange(profile_, std::nullopt); }

 private:
  struct News {
    std::mutex mutex;
    std::vector<Finding> findings;
    std::optional<debug::RunReport> report;
    std::vector<int64_t> output_nans;
    std::optional<CapturedPair> captured;
    std::optional<RunValues> values;
    std::optional<Result<RunProfile>> profile;
    std::optional<replay::RunProgress> progress;
    bool finished = false;
  };
  using Job = std::function<void(News& news, const std::stop_token& stop)>;
  void Begin(std::string doing, Job job);
  debug::RunSpec MakeRequest() const;
  void Clear();
  void Keep(RunValues values);
  void Add(Finding finding, const MovedIds& moved);
  void MoveCaptured(const MovedIds& moved);
  static void MoveValues(const StageAgain& again, RunValues& values);

  std::function<void()> wake_;
  std::string program_;
  std::shared_ptr<replay::WorkerPool> workers_;
  ExperimentRequest request_;
  std::shared_ptr<const hlo::Module> module_;
  MovedIds moved_;  // from the module that the run was given to module_, which was read since
  std::shared_ptr<News> news_;
  bool running_ = false;
  std::string doing_;
  std::chrono::steady_clock::time_point started_, ended_;
  std::vector<Finding> findings_;
  std::unordered_map<uint32_t, size_t> by_instruction_;
  int64_t expected_ = 0, lost_ = 0;
  std::optional<debug::RunReport> report_;
  std::vector<int64_t> output_nans_;
  std::optional<CapturedPair> captured_;
  std::vector<RunValues> values_;  // of stages, the newest last
  uint64_t runs_ = 0;
  std::shared_ptr<RunProfiles> profiles_;
  std::shared_ptr<RetainedFiles> compilations_;
  std::optional<Result<RunProfile>> profile_;
  std::optional<replay::RunProgress> progress_;  // of what runs
  // Stopped runs may take a while to end: they are joined when they have ended.
  struct Running {
    std::shared_ptr<News> news;
    std::jthread thread;
  };
  void Retire();
  // Last: threads end before what they use.
  std::vector<Running> retired_;
  Running now_;
};

}  // namespace hloscope::viewer
