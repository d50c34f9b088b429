// Launches: a plan, its blocks, and what they did: counters and the first fault.
#include <map>
#include <memory>

#include "core/ptx/block_runs.h"
#include "core/ptx/checks/thread_checkers.h"
#include "core/ptx/counting.h"
#include "core/ptx/machine/observer_pair.h"

namespace hloscope::ptx {
namespace {

Fault FaultOf(const LaunchPlan& plan, const std::string& file, const RawFault& raw,
              uint64_t block) {
  const Instruction& in = plan.kernel->instructions[raw.pc];
  Fault fault;
  fault.what = raw.what;
  fault.kernel = plan.kernel->name;
  fault.place = {file, in.position.line, in.position.column};
  fault.form = plan.kernel->forms[raw.pc];
  fault.block = Unflattened(block, plan.grid);
  fault.thread = Unflattened(raw.thread, plan.block);
  if (!raw.has_address) return fault;
  fault.address = raw.address;
  const uint64_t window = raw.address >> kWindowShift;
  if (window >= kFirstArgumentWindow &&
      window - kFirstArgumentWindow < plan.kernel->parameters.size()) {
    fault.argument = static_cast<uint32_t>(window - kFirstArgumentWindow);
  }
  return fault;
}

std::vector<LineCount> LinesOf(const Kernel& kernel, const Executions::Counts& counts) {
  std::map<uint32_t, LineCount> lines;
  for (size_t i = 0; i < counts.warps.size(); ++i) {
    if (counts.warps[i] == 0) continue;
    const uint32_t number = kernel.instructions[i].position.line;
    LineCount& line = lines.try_emplace(number, LineCount{.line = number}).first->second;
    line.warps += counts.warps[i];
    line.lanes += counts.lanes[i];
  }
  std::vector<LineCount> out;
  for (const auto& [number, line] : lines) out.push_back(line);
  return out;
}

CheckedLaunch CheckedOf(const Module& module, const LaunchPlan& plan, const CheckOptions& checks) {
  return {plan.kernel,         module.contents().program.syntax.file,
          plan.grid,           plan.block,
          plan.cluster,        checks.race,
          checks.uninitialised};
}

// On several threads, where that finds nothing: else nothing, and memory is as it was.
Result<std::optional<BlockRuns>> RunOnThreads(const CheckedLaunch& launch,
                                              const LaunchOptions& options, ShadowMemory& shadow,
                                              size_t threads, LaunchPlan& plan) {
  std::stop_source found;
  const std::stop_callback forward(options.stop, [&found] { found.request_stop(); });
  ThreadCheckers checkers(launch, plan.memory, shadow, threads, found);
  LaunchOptions watched = options;
  watched.stop = found.get_token();
  plan.in_flight = threads;
  Result<BlockRuns> runs = RunBlocks(plan, watched, checkers.observers());
  const bool was_stopped = found.stop_requested() && !options.stop.stop_requested();
  if (!runs.has_value() && !was_stopped) return std::unexpected(std::move(runs).error());
  if (!runs.has_value() || runs->fault.has_value() || !checkers.FindNothing()) {
    checkers.Undo();
    return std::nullopt;
  }
  checkers.Keep();
  return *std::move(runs);
}

Result<BlockRuns> RunChecked(const Module& module, const LaunchRequest& request,
                             const LaunchOptions& options, ShadowMemory& shadow, LaunchPlan& plan,
                             std::vector<Finding>& findings) {
  CheckedLaunch launch = CheckedOf(module, plan, options.checks);
  const size_t threads = ThreadCheckers::WorthThreads(launch, plan.memory, shadow, plan.in_flight);
  if (threads > 1) {
    HLOSCOPE_ASSIGN_OR_RETURN(std::optional<BlockRuns> runs,
                              RunOnThreads(launch, options, shadow, threads, plan));
    if (runs.has_value()) return *std::move(runs);
    plan = {};  // the variables of the module are as they were, too
    HLOSCOPE_TRY(MakePlan(module.contents(), request, options, plan));
    launch = CheckedOf(module, plan, options.checks);
  }
  Checker checker(std::move(launch), plan.memory, shadow);
  LaunchOptions watched = options;
  watched.observer = &checker;
  std::optional<ObserverPair> both;
  if (options.observer != nullptr) watched.observer = &both.emplace(*options.observer, checker);
  plan.in_flight = 1;
  Result<BlockRuns> runs = RunBlocks(plan, watched);
  findings = checker.Take();
  return runs;
}

}  // namespace

std::string Fault::ToString() const {
  const auto at = [](const std::array<uint32_t, 3>& v) {
    return "(" + std::to_string(v[0]) + ", " + std::to_string(v[1]) + ", " + std::to_string(v[2]) +
           ")";
  };
  return place.ToString() + ": `" + form + "` " + what + "; kernel " + kernel + ", block " +
         at(block) + ", thread " + at(thread);
}

Result<LaunchResult> Launch(const Module& module, const LaunchRequest& request,
                            const LaunchOptions& options) {
  LaunchPlan plan;
  HLOSCOPE_TRY(MakePlan(module.contents(), request, options, plan));
  ShadowMemory no_memory;
  std::vector<Finding> findings;
  HLOSCOPE_ASSIGN_OR_RETURN(
      const BlockRuns runs,
      !options.checks.any()
          ? RunBlocks(plan, options)
          : RunChecked(module, request, options,
                       options.checks.memory != nullptr ? *options.checks.memory : no_memory, plan,
                       findings));
  LaunchResult result;
  result.findings = std::move(findings);
  const Executions::Counts counts = runs.executions.Sum();
  for (size_t i = 0; i < counts.warps.size(); ++i) {
    Count(plan.kernel->instructions[i], plan.target, counts.warps[i], counts.lanes[i],
          result.counters);
  }
  if (options.count_lines) result.lines = LinesOf(*plan.kernel, counts);
  result.counters.padding_bytes = runs.padding_reads;
  AddRunCounts(runs.counts, result.counters);
  if (options.count_traffic) AddTraffic(runs.counts.traffic, plan.memory, result.counters);
  if (runs.fault.has_value()) {
    result.fault =
        FaultOf(plan, module.contents().program.syntax.file, *runs.fault, runs.fault_block);
  }
  return result;
}

}  // namespace hloscope::ptx
