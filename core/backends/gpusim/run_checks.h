// RunChecks: what a run on the simulated GPU is checked for, over all its launches.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/ptx/checks/shadow_memory.h"
#include "core/ptx/ptx.h"
#include "core/replay/capture/run_stream.h"
#include "core/replay/run_options.h"

namespace hloscope::replay {

// The instruction that a kernel is launched for, and what it calls the kernel's arguments: "operand
// dot.3", "result 1".
struct LaunchedFor {
  std::string instruction;
  std::function<std::string(size_t)> name_of;
  size_t results =
      SIZE_MAX;  // arguments behind so many are no results, and may depend on the order
};

class RunChecks {
 public:
  explicit RunChecks(const RunOptions& options)
      : races_(options.checks.races),
        uninitialised_(options.checks.uninitialised),
        shuffle_(options.checks.shuffle) {}

  // What others than kernels do to memory. An allocation is written by nobody at first.
  void Allocated(std::span<const std::byte> memory);
  void Written(std::span<const std::byte> memory);
  void Copied(const std::byte* from, const std::byte* to, uint64_t bytes);

  // Launches a kernel for an instruction and keeps what is found; a fault of memory too. With a
  // seed it runs twice, the first time in order, on the same memory: where the two differ, results
  // depend on the order.
  Result<ptx::LaunchResult> Launch(const LaunchedFor& launched, const ptx::Module& module,
                                   const ptx::LaunchRequest& request, ptx::LaunchOptions options);
  bool shuffles() const { return shuffle_.has_value(); }
  // Keeps where the arguments' memory is not what `in_order` says, by argument.
  using Bytes = std::vector<std::byte>;
  void KeepDifference(const LaunchedFor& launched, const ptx::LaunchRequest& request,
                      const std::vector<Bytes>& in_order);
  // Result `number` of the run is in `memory`; what of it nobody wrote is a finding.
  void CheckResult(const std::string& instruction, size_t number,
                   std::span<const std::byte> memory);

  // Each once.
  const std::vector<RunFinding>& Findings() const { return findings_; }
  // The findings, and what was shuffled.
  void Tell(RunStream& stream) const;
  // Those of another device too.
  void Add(const RunChecks& other);

 private:
  void Keep(RunFinding finding);

  bool races_, uninitialised_;
  std::optional<uint64_t> shuffle_;
  std::shared_ptr<ptx::ShadowMemory> shadow_;
  std::vector<RunFinding> findings_;
  // By kind, instruction, kernel, file and lines, memory.
  using Key =
      std::tuple<std::string, std::string, std::string, std::string, int64_t, int64_t, std::string>;
  std::map<Key, size_t> found_;
  int64_t shuffled_ = 0;
  // Findings whose lines were looked for: a block runs again for each.
  static constexpr int kMaxReported = 8;
  int lines_told_ = 0;
};

}  // namespace hloscope::replay
