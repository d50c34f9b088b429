// Launches: a plan, its blocks, and what they did: counters and the first fault.
#include <map>
#include <memory>

#include "core/ptx/block_runs.h"
#include "core/ptx/checks/checker.h"
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
  std::optional<Checker> checker;
  std::optional<ObserverPair> both;
  LaunchOptions watched = options;
  if (options.checks.any()) {
    checker.emplace(CheckedLaunch{plan.kernel, module.contents().program.syntax.file, plan.grid,
                                  plan.block, options.checks.race, options.checks.uninitialised},
                    plan.memory,
                    options.checks.memory != nullptr ? *options.checks.memory : no_memory);
    watched.observer = &*checker;
    if (options.observer != nullptr) watched.observer = &both.emplace(*options.observer, *checker);
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const BlockRuns runs, RunBlocks(plan, watched));
  LaunchResult result;
  if (checker.has_value()) result.findings = checker->Take();
  const Executions::Counts counts = runs.executions.Sum();
  for (size_t i = 0; i < counts.warps.size(); ++i) {
    Count(plan.kernel->instructions[i], plan.target, counts.warps[i], counts.lanes[i],
          result.counters);
  }
  if (options.count_lines) result.lines = LinesOf(*plan.kernel, counts);
  result.counters.padding_bytes = runs.padding_reads;
  AddLateCounts(runs.late_counts, result.counters);
  if (options.count_traffic) AddTraffic(runs.traffic, plan.memory, result.counters);
  if (runs.fault.has_value()) {
    result.fault =
        FaultOf(plan, module.contents().program.syntax.file, *runs.fault, runs.fault_block);
  }
  return result;
}

}  // namespace hloscope::ptx
