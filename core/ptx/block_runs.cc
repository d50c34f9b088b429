// Blocks in flight: their memory, what their threads find in it when they start, and the threads of
// the host that run them.
#include "core/ptx/block_runs.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>

#include "core/base/jobs.h"
#include "core/ptx/machine/observer.h"

namespace hloscope::ptx {
namespace {

constexpr uint64_t kNoBlock = std::numeric_limits<uint64_t>::max();

// The memory of one block in flight; used again for the next.
struct Context {
  std::vector<std::byte> registers, shared, local;
  Block block;
  Executions executions;
  TrafficCounter traffic;

  Context(size_t arguments, Observer* observer) : traffic(arguments, observer) {}
};

uint32_t SpecialValue(Special special, uint32_t thread, const std::array<uint32_t, 3>& block,
                      const LaunchPlan& plan) {
  const auto at = Unflattened(thread, plan.block);
  const uint32_t lane = thread % kLanes;
  switch (special) {
    case Special::kTidX:
      return at[0];
    case Special::kTidY:
      return at[1];
    case Special::kTidZ:
      return at[2];
    case Special::kNtidX:
      return plan.block[0];
    case Special::kNtidY:
      return plan.block[1];
    case Special::kNtidZ:
      return plan.block[2];
    case Special::kCtaidX:
      return block[0];
    case Special::kCtaidY:
      return block[1];
    case Special::kCtaidZ:
      return block[2];
    case Special::kNctaidX:
      return plan.grid[0];
    case Special::kNctaidY:
      return plan.grid[1];
    case Special::kNctaidZ:
      return plan.grid[2];
    case Special::kLaneid:
      return lane;
    case Special::kWarpid:
      return thread / kLanes;
    case Special::kLanemaskEq:
      return 1u << lane;
    case Special::kLanemaskLt:
      return (1u << lane) - 1;
    case Special::kLanemaskLe:
      return (2u << lane) - 1;
    case Special::kLanemaskGt:
      return ~((2u << lane) - 1);
    case Special::kLanemaskGe:
      return ~((1u << lane) - 1);
  }
  return 0;
}

class Runner {
 public:
  Runner(const LaunchPlan& plan, const LaunchOptions& options) : plan_(plan), options_(options) {}

  Result<BlockRuns> Run() {
    HLOSCOPE_TRY(RunBlocks());
    return std::move(result_);
  }

 private:
  void Prepare(Context& context) {
    const size_t instructions = plan_.kernel->instructions.size();
    context.registers.resize(plan_.kernel->register_bytes * plan_.warps);
    context.shared.resize(plan_.shared_bytes);
    context.local.resize(plan_.kernel->local_bytes * plan_.threads);
    context.executions.warps.resize(instructions);
    context.executions.lanes.resize(instructions);
    Block& block = context.block;
    block.memory = &plan_.memory;
    block.shared = context.shared;
    block.local = context.local.data();
    block.local_bytes = plan_.kernel->local_bytes;
    block.target = plan_.target;
    block.observer = options_.count_traffic ? &context.traffic : options_.observer;
    block.warps.resize(plan_.warps);
  }

  // Registers start at 0, shared and local memory as poison: a run never depends on the block
  // before.
  void Start(Context& context, const std::array<uint32_t, 3>& block_at) {
    std::ranges::fill(context.registers, std::byte{0});
    std::ranges::fill(context.shared, std::byte{0xff});
    std::ranges::fill(context.local, std::byte{0xff});
    Block& block = context.block;
    block.fault.reset();
    block.tensor_memory.reset();
    block.live_threads = static_cast<uint32_t>(plan_.threads);
    for (uint64_t i = 0; i < plan_.warps; ++i) {
      Warp& warp = block.warps[i];
      warp.registers = context.registers.data() + i * plan_.kernel->register_bytes;
      warp.constants = reinterpret_cast<const std::byte*>(plan_.kernel->constants.data());
      warp.block = &block;
      warp.first_thread = static_cast<uint32_t>(i * kLanes);
      const uint64_t lanes = std::min<uint64_t>(plan_.threads - i * kLanes, kLanes);
      warp.live = lanes == kLanes ? kAllLanes : (1u << lanes) - 1;
      warp.carry = 0;
      warp.groups.assign(1, {0, warp.live});
      for (const auto& [special, offset] : plan_.kernel->specials) {
        for (uint32_t l = 0; l < kLanes; ++l) {
          const uint32_t value = SpecialValue(special, warp.first_thread + l, block_at, plan_);
          std::memcpy(warp.registers + offset + 4 * l, &value, 4);
        }
      }
    }
  }

  bool GoOn(uint64_t steps) {
    const uint64_t all = steps_.fetch_add(steps) + steps;
    if (all > options_.steps) stopped_by_ = 1;
    if (options_.stop.stop_requested()) stopped_by_ = 2;
    if (options_.deadline.has_value() && std::chrono::steady_clock::now() > *options_.deadline)
      stopped_by_ = 3;
    return stopped_by_ == 0;
  }

  void RunRange(IndexRange range) {
    Context context(plan_.memory.arguments.size(), options_.observer);
    Prepare(context);
    const Continue go_on = [this](uint64_t steps) { return GoOn(steps); };
    for (int64_t i = range.begin; i < range.end; ++i) {
      const auto index = static_cast<uint64_t>(i);
      if (stopped_by_ != 0 || index > first_fault_) break;
      Start(context, Unflattened(index, plan_.grid));
      if (options_.observer != nullptr) options_.observer->Starts(context.block, index);
      if (!RunBlock(*plan_.executable, context.block, context.executions, go_on)) break;
      if (context.block.fault.has_value()) {
        NoteFault(index, *context.block.fault);
        break;
      }
    }
    const std::scoped_lock lock(mutex_);
    for (size_t i = 0; i < context.executions.warps.size(); ++i) {
      result_.executions.warps[i] += context.executions.warps[i];
      result_.executions.lanes[i] += context.executions.lanes[i];
    }
    result_.padding_reads += context.block.padding_reads;
    result_.traffic.Add(context.traffic.traffic());
  }

  void NoteFault(uint64_t block, const RawFault& fault) {
    const std::scoped_lock lock(mutex_);
    if (block >= first_fault_) return;
    first_fault_ = block;
    result_.fault = fault;
    result_.fault_block = block;
  }

  Status RunBlocks() {
    result_.executions.warps.resize(plan_.kernel->instructions.size());
    result_.executions.lanes.resize(plan_.kernel->instructions.size());
    result_.traffic = Traffic(plan_.memory.arguments.size());
    if (options_.only_block.has_value()) {
      const auto& at = *options_.only_block;
      const auto index = static_cast<int64_t>(
          at[0] + uint64_t{plan_.grid[0]} * (at[1] + uint64_t{plan_.grid[1]} * at[2]));
      RunRange({index, index + 1});
    } else if (plan_.in_flight == 1) {
      RunRange({0, static_cast<int64_t>(plan_.blocks)});
    } else {
      const auto parts = static_cast<int64_t>(std::min(plan_.blocks, plan_.in_flight * 4));
      HLOSCOPE_TRY(
          SharedJobs(static_cast<int>(plan_.in_flight)).ParallelFor(parts, [&](int64_t part) {
            RunRange(PartOf(static_cast<int64_t>(plan_.blocks), parts, part));
          }));
    }
    if (stopped_by_ == 0) return {};
    static constexpr const char* kReasons[] = {"", "more steps than allowed", "stopped on request",
                                               "its deadline passed"};
    return std::unexpected(Error{ErrorClass::kDied,
                                 "kernel " + plan_.kernel->name + ": " + kReasons[stopped_by_],
                                 {},
                                 "raise the limit, or run fewer blocks"});
  }

  const LaunchPlan& plan_;
  const LaunchOptions& options_;
  std::atomic<uint64_t> steps_ = 0;
  std::atomic<int> stopped_by_ = 0;
  std::atomic<uint64_t> first_fault_ = kNoBlock;
  std::mutex mutex_;
  BlockRuns result_;
};

}  // namespace

Result<BlockRuns> RunBlocks(const LaunchPlan& plan, const LaunchOptions& options) {
  return Runner(plan, options).Run();
}

}  // namespace hloscope::ptx
