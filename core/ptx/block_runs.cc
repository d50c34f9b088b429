// Blocks in flight: their memory, what their threads find in it when they start, and the threads of
// the host that run them.
#include "core/ptx/block_runs.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>

#include "core/base/jobs.h"
#include "core/ptx/checks/kernel_facts.h"
#include "core/ptx/checks/shuffle_order.h"
#include "core/ptx/loop_lines.h"
#include "core/ptx/machine/observer.h"

namespace hloscope::ptx {
namespace {

constexpr uint64_t kNoBlock = std::numeric_limits<uint64_t>::max();
constexpr size_t kMaxConditionLines = 8;

// Bytes whose first is at a multiple of 64, as vectors are.
class AlignedBytes {
 public:
  void Resize(size_t bytes, std::byte value) {
    bytes_.assign(bytes + kAlign, value);
    skipped_ = (kAlign - reinterpret_cast<uintptr_t>(bytes_.data()) % kAlign) % kAlign;
  }
  std::byte* data() { return bytes_.data() + skipped_; }

 private:
  static constexpr size_t kAlign = 64;
  std::vector<std::byte> bytes_;
  size_t skipped_ = 0;
};

// The memory of one block in flight; used again for the next of its rank.
struct Context {
  AlignedBytes registers, constants;
  std::vector<std::byte> shared, local;
  Block block;
  Executions executions;
  TrafficCounter traffic;
  std::array<uint8_t, kLanes> warp_order, lane_order;  // of the block, of atomics: where shuffled
  Observer* const observer;

  Context(size_t instructions, Observer* watching)
      : executions(instructions), traffic(watching), observer(watching) {}
};

// How many warps a multiprocessor holds (CUDA C++ Programming Guide, compute capabilities).
uint32_t MostWarps(uint32_t sm) {
  if (sm == 75) return 32;
  return sm == 86 || sm == 87 || sm == 89 || sm >= 120 ? 48 : 64;
}

uint64_t RoundUp(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

size_t Dimension(Special special, Special of_x) {
  return static_cast<size_t>(special) - static_cast<size_t>(of_x);
}

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
    case Special::kCtaidY:
    case Special::kCtaidZ:
      return block[Dimension(special, Special::kCtaidX)];
    case Special::kNctaidX:
    case Special::kNctaidY:
    case Special::kNctaidZ:
      return plan.grid[Dimension(special, Special::kNctaidX)];
    case Special::kClusterIdX:
    case Special::kClusterIdY:
    case Special::kClusterIdZ: {
      const size_t i = Dimension(special, Special::kClusterIdX);
      return block[i] / plan.cluster[i];
    }
    case Special::kClusterCountX:
    case Special::kClusterCountY:
    case Special::kClusterCountZ: {
      const size_t i = Dimension(special, Special::kClusterCountX);
      return plan.grid[i] / plan.cluster[i];
    }
    case Special::kInClusterX:
    case Special::kInClusterY:
    case Special::kInClusterZ: {
      const size_t i = Dimension(special, Special::kInClusterX);
      return block[i] % plan.cluster[i];
    }
    case Special::kClusterSizeX:
    case Special::kClusterSizeY:
    case Special::kClusterSizeZ:
      return plan.cluster[Dimension(special, Special::kClusterSizeX)];
    case Special::kClusterRank:
      return block[0] % plan.cluster[0] +
             plan.cluster[0] *
                 (block[1] % plan.cluster[1] + plan.cluster[1] * (block[2] % plan.cluster[2]));
    case Special::kClusterBlocks:
      return static_cast<uint32_t>(plan.cluster_blocks);
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
    case Special::kNwarpid:
      return MostWarps(plan.target);
    case Special::kDynamicSharedSize:
      return static_cast<uint32_t>(plan.shared_bytes - plan.kernel->static_shared_bytes);
    case Special::kTotalSharedSize:
      return static_cast<uint32_t>(RoundUp(plan.shared_bytes, plan.target < 80 ? 256 : 128));
  }
  return 0;
}

class Runner {
 public:
  Runner(const LaunchPlan& plan, const LaunchOptions& options, std::vector<Observer*> observers)
      : plan_(plan),
        options_(options),
        observers_(std::move(observers)),
        shuffles_blocks_(options.shuffle && !options.only_block &&
                         !FactsOf(*plan.kernel).orders_blocks) {
    if (observers_.empty()) observers_.resize(plan.in_flight, options.observer);
  }

  Result<BlockRuns> Run() {
    HLOSCOPE_TRY(RunBlocks());
    return std::move(result_);
  }

 private:
  void Prepare(Context& context, Cluster& cluster) {
    const Kernel& kernel = *plan_.kernel;
    context.registers.Resize(kernel.register_bytes * plan_.warps, std::byte{0xff});
    context.constants.Resize(kernel.constants.size(), std::byte{0});
    if (!kernel.constants.empty())
      std::memcpy(context.constants.data(), kernel.constants.data(), kernel.constants.size());
    context.shared.assign(plan_.shared_bytes, std::byte{0xff});
    context.local.resize(kernel.local_bytes * plan_.threads);
    Block& block = context.block;
    block.cluster = &cluster;
    block.rank = static_cast<uint32_t>(cluster.blocks.size());
    cluster.blocks.push_back(&block);
    block.memory = &plan_.memory;
    block.shared = context.shared;
    block.local = context.local.data();
    block.local_bytes = kernel.local_bytes;
    block.stack_begin = kernel.stack_begin;
    block.target = plan_.target;
    block.observer = options_.count_traffic ? &context.traffic : context.observer;
    block.warps.resize(plan_.warps);
    for (uint64_t i = 0; i < plan_.warps; ++i) {
      Warp& warp = block.warps[i];
      warp.registers = context.registers.data() + i * kernel.register_bytes;
      warp.constants = context.constants.data();
      warp.block = &block;
      warp.first_thread = static_cast<uint32_t>(i * kLanes);
      warp.first_in_cluster = static_cast<uint32_t>((block.rank * plan_.warps + i) * kLanes);
      warp.kept.resize(kernel.kept_accesses);
      WriteSpecials(warp, {}, false);
    }
    if (!options_.shuffle) return;
    context.lane_order = ShuffledLanes(*options_.shuffle);
    block.lane_order = context.lane_order.data();
    block.warp_order = context.warp_order.data();
  }

  // Those that depend on the block, or the others.
  void WriteSpecials(Warp& warp, const std::array<uint32_t, 3>& block_at, bool of_block) {
    for (const auto& [special, offset] : plan_.kernel->specials) {
      if (DependsOnBlock(special) != of_block) continue;
      uint32_t value = 0;
      for (uint32_t l = 0; l < kLanes; ++l) {
        if (l == 0 || !of_block)
          value = SpecialValue(special, warp.first_thread + l, block_at, plan_);
        std::memcpy(warp.registers + offset + 4 * l, &value, 4);
      }
    }
  }

  // Registers start at 0, shared and local memory as poison: a run never depends on the block
  // before. Registers that are written before they are read may hold anything where nobody looks.
  void ClearRegisters(Warp& warp, bool is_watched) {
    if (is_watched) {
      uint64_t end = plan_.kernel->register_bytes;
      for (const auto& [special, offset] : plan_.kernel->specials)
        end = std::min<uint64_t>(end, offset);
      std::memset(warp.registers, 0, end);
      return;
    }
    for (const ByteRange& range : plan_.kernel->cleared)
      std::memset(warp.registers + range.offset, 0, range.bytes);
  }

  void Start(Context& context, uint64_t cluster_index) {
    Block& block = context.block;
    const std::array<uint32_t, 3> block_at = plan_.BlockAt(cluster_index, block.rank);
    const uint64_t block_index = block.index = plan_.IndexOf(block_at);
    std::fill_n(context.shared.begin(), block.shared_written, std::byte{0xff});
    block.shared_written = 0;
    std::ranges::fill(context.local, std::byte{0xff});
    block.fault.reset();
    block.tensor_memory.reset();
    block.live_threads = static_cast<uint32_t>(plan_.threads);
    for (uint64_t i = 0; options_.shuffle && i < plan_.warps; ++i) {
      context.warp_order[i] = static_cast<uint8_t>(
          ShuffledIndex(i, plan_.warps, Mixed(*options_.shuffle) ^ block_index));
    }
    for (uint64_t i = 0; i < plan_.warps; ++i) {
      Warp& warp = block.warps[i];
      ClearRegisters(warp, context.observer != nullptr);
      const uint64_t lanes = std::min<uint64_t>(plan_.threads - i * kLanes, kLanes);
      warp.live = lanes == kLanes ? kAllLanes : (1u << lanes) - 1;
      warp.carry = 0;
      std::ranges::fill(warp.stack, plan_.kernel->local_bytes);
      for (LaneBytes& kept : warp.kept) kept.is_known = false;
      warp.groups.assign(1, {0, warp.live});
      WriteSpecials(warp, block_at, true);
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

  // Clusters of the next of so many parts; who watches them has watched none of later ones.
  void RunNextPart(int64_t parts) {
    std::unique_lock lock(mutex_);
    const int64_t part = next_part_++;
    Observer* const observer = observers_.back();
    observers_.pop_back();
    lock.unlock();
    RunRange(PartOf(static_cast<int64_t>(plan_.clusters()), parts, part), observer);
  }

  // Who watches one block alone is told of no other of its cluster.
  bool IsWatched(const Block& block, uint64_t cluster_index) const {
    return !options_.only_block.has_value() ||
           plan_.BlockAt(cluster_index, block.rank) == *options_.only_block;
  }

  void RunRange(IndexRange range, Observer* observer) {
    Cluster cluster;
    std::vector<std::unique_ptr<Context>> contexts;
    std::vector<Executions*> executions;
    for (uint64_t rank = 0; rank < plan_.cluster_blocks; ++rank) {
      contexts.push_back(std::make_unique<Context>(plan_.kernel->instructions.size(), observer));
      Prepare(*contexts.back(), cluster);
      executions.push_back(&contexts.back()->executions);
    }
    const Continue go_on = [this](uint64_t steps) { return GoOn(steps); };
    for (int64_t i = range.begin; i < range.end; ++i) {
      auto index = static_cast<uint64_t>(i);
      if (stopped_by_ != 0 || index > first_fault_) break;
      if (shuffles_blocks_) index = ShuffledIndex(index, plan_.clusters(), *options_.shuffle);
      cluster.phase = cluster.arrived = 0;
      for (const auto& context : contexts) {
        Start(*context, index);
        if (plan_.cluster_blocks > 1 && !IsWatched(context->block, index))
          context->block.observer = nullptr;
      }
      for (const auto& context : contexts) {
        if (context->observer != nullptr && context->block.observer != nullptr)
          context->observer->Starts(context->block, context->block.index);
      }
      const Block* const stopped = RunCluster(*plan_.executable, cluster, executions, go_on);
      if (stopped != nullptr) {
        NoteStop(index, *stopped);
        break;
      }
      const auto faulty = std::ranges::find_if(
          cluster.blocks, [](const Block* block) { return block->fault.has_value(); });
      if (faulty != cluster.blocks.end()) {
        NoteFault(index, **faulty);
        break;
      }
    }
    const std::scoped_lock lock(mutex_);
    observers_.push_back(observer);
    for (const auto& context : contexts) {
      result_.executions.Add(context->executions);
      result_.padding_reads += context->block.padding_reads;
      result_.counts.Add(context->block.counts);
      result_.counts.traffic.Add(context->traffic.traffic());
    }
  }

  void NoteFault(uint64_t cluster, const Block& block) {
    const std::scoped_lock lock(mutex_);
    if (cluster >= first_fault_) return;
    first_fault_ = cluster;
    result_.fault = block.fault;
    result_.fault_block = block.index;
  }

  void NoteStop(uint64_t cluster, const Block& block) {
    const std::scoped_lock lock(mutex_);
    if (cluster >= stopped_cluster_) return;
    stopped_cluster_ = cluster;
    stopped_block_ = block.index;
    stopped_pc_ = block.pc;
  }

  // Where the first block stood that was not finished, and the loops around it by the lines of the
  // branches that end them, and of what these decide by.
  std::string WhereStopped() const {
    if (stopped_cluster_ == kNoBlock) return "";
    const std::vector<Instruction>& code = plan_.kernel->instructions;
    std::string loops;
    for (uint32_t pc = stopped_pc_; pc < code.size(); ++pc) {
      if (code[pc].operation != Operation::kBra || code[pc].target > stopped_pc_) continue;
      loops += (loops.empty() ? ", in a loop that ends at line " : ", in one at line ") +
               std::to_string(code[pc].position.line);
      const std::vector<uint32_t> lines = LinesOfCondition(*plan_.kernel, pc, kMaxConditionLines);
      for (size_t i = 0; i < lines.size(); ++i) {
        loops += (i == 0 ? " (its condition comes from line " : ", line ") +
                 std::to_string(lines[i]) + (i + 1 == lines.size() ? ")" : "");
      }
    }
    const std::array<uint32_t, 3> at = Unflattened(stopped_block_, plan_.grid);
    return " in block (" + std::to_string(at[0]) + ", " + std::to_string(at[1]) + ", " +
           std::to_string(at[2]) + ") near line " +
           std::to_string(code[stopped_pc_].position.line) + loops;
  }

  Status RunBlocks() {
    result_.executions = Executions(plan_.kernel->instructions.size());
    if (options_.only_block.has_value()) {
      const auto& at = *options_.only_block;
      const auto& size = plan_.cluster;
      const auto index = static_cast<int64_t>(
          at[0] / size[0] +
          uint64_t{plan_.grid[0] / size[0]} *
              (at[1] / size[1] + uint64_t{plan_.grid[1] / size[1]} * (at[2] / size[2])));
      RunRange({index, index + 1}, observers_.back());
    } else if (plan_.in_flight == 1) {
      RunNextPart(1);
    } else {
      const auto parts = static_cast<int64_t>(std::min(plan_.clusters(), plan_.in_flight * 4));
      HLOSCOPE_TRY(SharedJobs(static_cast<int>(plan_.in_flight)).ParallelFor(parts, [&](int64_t) {
        RunNextPart(parts);
      }));
    }
    if (stopped_by_ == 0) return {};
    static constexpr const char* kReasons[] = {"", "the step limit was exceeded",
                                               "stopped on request", "its deadline passed"};
    const bool is_cancelled = stopped_by_ == 2;
    return std::unexpected(
        Error{is_cancelled ? ErrorClass::kCancelled : ErrorClass::kDeadlineExceeded,
              "kernel " + plan_.kernel->name + ": " + kReasons[stopped_by_] + WhereStopped(),
              {},
              "raise the limit, or run fewer blocks"});
  }

  const LaunchPlan& plan_;
  const LaunchOptions& options_;
  std::vector<Observer*> observers_;  // those that watch no block now
  int64_t next_part_ = 0;
  bool shuffles_blocks_;
  std::atomic<uint64_t> steps_ = 0;
  std::atomic<int> stopped_by_ = 0;
  std::atomic<uint64_t> first_fault_ = kNoBlock;  // its cluster
  uint64_t stopped_cluster_ = kNoBlock, stopped_block_ = 0;
  uint32_t stopped_pc_ = 0;
  std::mutex mutex_;
  BlockRuns result_;
};

}  // namespace

Result<BlockRuns> RunBlocks(const LaunchPlan& plan, const LaunchOptions& options,
                            std::vector<Observer*> observers) {
  return Runner(plan, options, std::move(observers)).Run();
}

}  // namespace hloscope::ptx
