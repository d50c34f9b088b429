// BenchRun: platforms take turns, so that what slows the machine down slows all of them.
#include "core/debug/run/bench_run.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/backends/compiled/plan_code.h"
#include "core/backends/make_platform.h"
#include "core/base/machine_memory.h"
#include "core/debug/run/output_judge.h"
#include "core/debug/run/run_inputs.h"
#include "core/hlo/text/text.h"
#include "core/hlo/verify/verifier.h"
#include "core/replay/device_values.h"
#include "core/replay/workers/worker_platform.h"

namespace hloscope::debug {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kCompiles = 3;
constexpr double kSlowCompileMs = 5000;  // is not repeated

// What makes a worker load its compiler.
constexpr std::string_view kSmallModule =
    "HloModule small\nENTRY e {\n x = f32[8] parameter(0)\n ROOT y = f32[8] negate(x)\n}\n";

// Results are dropped unless they are to be kept; one without a value ends the measurement.
class Outcome : public replay::RunStream {
 public:
  explicit Outcome(std::vector<std::string>& warnings, ResultCollector* kept = nullptr)
      : warnings_(warnings), kept_(kept) {}
  void Take(replay::RunEvent event) override {
    if (auto* result = std::get_if<replay::LeafResult>(&event)) {
      if (!result->value && !error_) error_ = result->value.error();
      if (kept_ != nullptr) return kept_->Take(std::move(event));
    }
    const auto* warning = std::get_if<replay::RunWarning>(&event);
    if (warning == nullptr || std::ranges::count(warnings_, warning->text) != 0) return;
    warnings_.push_back(warning->text);
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  std::vector<std::string>& warnings_;
  ResultCollector* kept_;
  std::optional<Error> error_;
};

// One platform's part of the measurement.
class Side {
 public:
  Side(std::string name, std::shared_ptr<const hlo::Module> module, const BenchRequest& request,
       std::stop_token stop)
      : name_(std::move(name)), module_(std::move(module)), options_(request.options) {
    options_.budget.stop = std::move(stop);
    const replay::PlatformRow* const row = replay::FindPlatform(name_);
    if (row == nullptr || !row->Has(replay::kXlaFlags)) options_.platform.xla_flags.clear();
    replay::WorkerPoolOptions workers = request.workers;
    workers.most_workers = 1;
    workers_ = std::make_shared<replay::WorkerPool>(std::move(workers));
  }

  Status WarmUp() {
    HLOSCOPE_ASSIGN_OR_RETURN(platform_, replay::MakePlatform(name_, workers_));
    replay::RunOptions options = options_;
    options.load.fill_elided.reset();
    options.load.module_file.clear();
    // A plan runs without a compiler, where there is none too.
    if (!replay::IsPlanFile(options_.load.module_file)) {
      const hlo::ParseResult small = hlo::ParseText(kSmallModule, options_.limits);
      HLOSCOPE_TRY(platform_->Load(small.module, options));
    }
    const replay::PlatformRow* row = replay::FindPlatform(name_);
    if (row != nullptr && (row->flags & replay::kNeedsPython) != 0) {
      why_no_memory_ = "it runs in another process than the worker";
      return {};
    }
    HLOSCOPE_TRY(ForgetPeak());
    memory_.idle = Peak();
    return {};
  }

  Status Compile() {
    executable_.reset();
    HLOSCOPE_TRY(ForgetPeak());
    const Clock::time_point start = Clock::now();
    HLOSCOPE_ASSIGN_OR_RETURN(executable_, platform_->Load(module_, options_));
    const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
    compile_ms_.push_back(executable_->load_ms().value_or(ms));
    memory_.compile_peak = std::max(memory_.compile_peak, Peak());
    return {};
  }
  bool CompilesAgain() const {
    return std::ssize(compile_ms_) < kCompiles && compile_ms_.back() < kSlowCompileMs;
  }

  Status Run(const RunInputs& inputs, std::vector<std::string>& warnings) {
    HLOSCOPE_ASSIGN_OR_RETURN(const replay::RunResult run, RunInto(Outcome(warnings), inputs));
    run_us_.push_back(run.run_us);
    return {};
  }
  // Around all runs.
  Status BeginRuns() { return ForgetPeak(); }
  void EndRuns() { memory_.run_peak = Peak(); }
  // The results of a run that does not count.
  Result<Leaves> ResultsOf(const RunInputs& inputs, const replay::Placement& placement,
                           std::vector<std::string>& warnings) {
    RunReport untold;
    ResultCollector kept(untold);
    HLOSCOPE_TRY(RunInto(Outcome(warnings, &kept), inputs));
    std::vector<replay::LeafPlacement> places;
    return kept.Gather(placement, places, nullptr);
  }

  BenchFigures Figures() const {
    BenchFigures out;
    out.compile_ms = Median(compile_ms_);
    out.run_us = Median(run_us_);
    out.compiles = std::ssize(compile_ms_);
    out.runs = std::ssize(run_us_);
    out.why_no_memory = why_no_memory_;
    if (why_no_memory_.empty()) out.memory = memory_;
    return out;
  }
  const std::vector<double>& run_us() const { return run_us_; }

 private:
  Result<replay::RunResult> RunInto(Outcome outcome, const RunInputs& inputs) {
    auto run = executable_->Run(inputs.lists, options_, outcome);
    if (run.has_value() && outcome.error()) return std::unexpected(*outcome.error());
    return run;
  }

  Result<std::string> Worker() {
    const replay::WorkerPool::Lease lease = workers_->Take({name_, options_.environment});
    HLOSCOPE_ASSIGN_OR_RETURN(const auto* worker, lease.seat->Worker());
    return std::to_string(worker->pid());
  }
  Status ForgetPeak() {
    if (!why_no_memory_.empty()) return {};
    HLOSCOPE_ASSIGN_OR_RETURN(worker_, Worker());
    if (!ForgetPeakOf(worker_)) why_no_memory_ = "the system keeps one peak for all of a process";
    return {};
  }
  // Of the worker since then; the reason why not where there is none.
  int64_t Peak() {
    const auto peak = PeakBytesOf(worker_);
    if (!peak && why_no_memory_.empty()) why_no_memory_ = "the system does not report the peak";
    return peak.value_or(0);
  }

  std::string name_;
  std::shared_ptr<const hlo::Module> module_;
  replay::RunOptions options_;
  std::shared_ptr<replay::WorkerPool> workers_;
  std::string worker_;  // its process
  std::unique_ptr<replay::Platform> platform_;
  BenchFigures::Memory memory_;
  std::string why_no_memory_;
  std::unique_ptr<replay::Executable> executable_;
  std::vector<double> compile_ms_, run_us_;
};

// Runs each once. The first result of the first side that is not what the second has.
Result<std::optional<LeafComparison>> DifferenceOf(const hlo::Module& module,
                                                   const replay::Placement& placement,
                                                   std::vector<Side>& sides,
                                                   const RunInputs& inputs,
                                                   std::vector<std::string>& warnings) {
  std::vector<Leaves> results;
  for (Side& side : sides) {
    HLOSCOPE_ASSIGN_OR_RETURN(Leaves leaves, side.ResultsOf(inputs, placement, warnings));
    results.push_back(std::move(leaves));
  }
  if (results.size() < 2) return std::nullopt;
  RunReport untold;
  const RunSpec usual;
  return OutputJudge(module, placement, usual, untold).FirstDifference(results[0], results[1]);
}

Status CheckSound(const hlo::Module& module, const Limits& limits) {
  for (const hlo::Diagnostic& diagnostic : hlo::Verify(module, {false, limits})) {
    if (diagnostic.severity == hlo::Severity::kError) {
      return InputError(diagnostic.message, diagnostic.hint);
    }
  }
  return {};
}

Status RunScheduled(std::vector<Side>& sides, const RunInputs& inputs, const BenchRequest& request,
                    std::vector<std::string>& warnings) {
  const Clock::time_point start = Clock::now();
  const auto enough = [&](int64_t runs) {
    if (request.repeats > 0) return runs >= request.repeats;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return runs >= kMinRuns && seconds >= request.seconds;
  };
  for (Side& side : sides) HLOSCOPE_TRY(side.BeginRuns());
  for (int64_t runs = 0; !enough(runs); ++runs) {
    for (Side& side : sides) HLOSCOPE_TRY(side.Run(inputs, warnings));
  }
  for (Side& side : sides) side.EndRuns();
  return {};
}

}  // namespace

Result<BenchReport> BenchRun(const std::shared_ptr<const hlo::Module>& module,
                             const BenchRequest& request, const std::stop_token& stop) {
  HLOSCOPE_TRY(CheckSound(*module, request.options.limits));
  HLOSCOPE_TRY(replay::CheckDeviceCount(*module, request.options.limits));
  const replay::Placement placement(*module, request.options.limits);
  BenchReport report;
  replay::InputOptions how;
  how.seed = request.seed;
  how.limits = request.options.limits;
  how.budget.stop = stop;
  HLOSCOPE_ASSIGN_OR_RETURN(const RunInputs inputs,
                            GenerateInputs(*module, placement, how, report.warnings));
  std::vector<Side> sides;
  sides.emplace_back(request.platform, module, request, stop);
  if (!request.against.empty()) sides.emplace_back(request.against, module, request, stop);
  if (sides.size() > 1 && request.against_itself) {
    sides.emplace_back(request.against, module, request, stop);
  }
  for (Side& side : sides) HLOSCOPE_TRY(side.WarmUp());
  do {
    for (Side& side : sides) HLOSCOPE_TRY(side.Compile());
  } while (std::ranges::all_of(sides, &Side::CompilesAgain));
  HLOSCOPE_ASSIGN_OR_RETURN(report.difference,
                            DifferenceOf(*module, placement, sides, inputs, report.warnings));
  HLOSCOPE_TRY(RunScheduled(sides, inputs, request, report.warnings));
  report.platform = sides[0].Figures();
  if (sides.size() > 1) {
    report.against = sides[1].Figures();
    report.run_ratio = RatioOf(sides[0].run_us(), sides[1].run_us());
  }
  if (sides.size() > 2) report.against_itself = RatioOf(sides[2].run_us(), sides[1].run_us());
  return report;
}

}  // namespace hloscope::debug
