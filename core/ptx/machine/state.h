// What a running kernel consists of: memory windows, a block, its warps and the groups of lanes
// that share a pc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ptx/ir/program.h"
#include "core/ptx/machine/run_counts.h"

namespace hloscope::ptx {

inline constexpr uint32_t kLanes = 32;
inline constexpr uint32_t kAllLanes = 0xffffffffu;

// The bytes behind the addresses of one window. Reads from `bytes` up to `padded` give poison
// (0xff), beyond are faults.
struct Window {
  std::byte* data = nullptr;
  uint64_t bytes = 0;
  uint64_t padded = 0;
  bool writable = true;
};

struct RawFault {
  std::string what;
  uint32_t pc = 0;
  uint32_t thread = 0;  // in its block
  uint64_t address = 0;
  bool has_address = false;
};

// Windows that all blocks of a launch share: arguments, variables of the module, parameters.
struct LaunchMemory {
  std::vector<Window> arguments;
  std::vector<Window> variables;
  Window parameters;
};

enum class GroupState : uint8_t { kRuns, kWaitsForLanes, kWaitsAtBarrier, kWaitsForWarps };

struct Group {
  uint32_t pc = 0;
  uint32_t mask = 0;
  GroupState state = GroupState::kRuns;
  uint32_t barrier = 0;  // which one it waits at, and for how many threads (0: all of the block)
  uint32_t threads = 0;
};

// Where the lanes of an access find their bytes, all inside one window.
struct LaneBytes {
  std::byte* base =
      nullptr;          // of the first lane where the lanes are a row, else of the least address
  bool is_row = false;  // one lane lies behind the other without gaps
  bool is_known = false;
  uint64_t row_step = 0, low = 0;
  uint64_t addresses[kLanes];  // where the lanes are no row

  std::byte* At(uint32_t lane) const {
    return base + (is_row ? lane * row_step : addresses[lane] - low);
  }
};

struct Block;
struct Cluster;
class Observer;
class TensorMemory;

struct Warp {
  std::byte* registers = nullptr;
  const std::byte* constants = nullptr;
  Block* block = nullptr;
  uint32_t first_thread = 0;      // in its block
  uint32_t first_in_cluster = 0;  // the same where the warps of all blocks of a cluster are counted
  uint32_t live = 0;              // lanes that have not returned
  uint32_t carry = 0;             // the carry flag of each lane
  uint64_t stack[kLanes];         // in local memory: where what alloca has given out begins
  std::vector<Group> groups;      // sorted by pc
  // What accesses whose addresses stay the same have found in this block: Instruction::kept.
  std::vector<LaneBytes> kept;
  std::byte sink[512];  // what is written to `_`
};

// Blocks that run together. Addresses of .shared::cluster have the rank of a block, and one, from
// bit kRankShift on; those without it are of the block that uses them.
inline constexpr uint32_t kRankShift = 24;
inline constexpr uint64_t kRankMask = uint64_t{0xff} << kRankShift;
inline constexpr uint32_t kMaxClusterBlocks = 16;
struct Cluster {
  std::vector<Block*> blocks;  // by rank
  // barrier.cluster: the phases that have ended, and the threads that have arrived for the next.
  uint64_t phase = 0;
  uint32_t arrived = 0;
};

struct Block {
  const LaunchMemory* memory = nullptr;
  Cluster* cluster = nullptr;
  uint32_t rank = 0;   // in it
  uint64_t index = 0;  // in the grid
  std::span<std::byte> shared;
  uint64_t shared_written = 0;  // bytes from its start that may have been written
  std::byte* local = nullptr;   // local_bytes for each thread
  uint64_t local_bytes = 0, stack_begin = 0;
  std::vector<Warp> warps;
  uint32_t live_threads = 0;
  uint32_t target = 90;        // sm number
  uint64_t padding_reads = 0;  // bytes read as poison
  uint32_t pc = 0;             // of the instruction in execution
  std::optional<RawFault> fault;
  // In what order warps take turns, and lanes in atomics; null: by their number.
  const uint8_t* warp_order = nullptr;
  const uint8_t* lane_order = nullptr;
  Observer* observer = nullptr;  // told of every instruction and access; may be null
  uint64_t barrier_changes = 0;  // of mbarriers
  RunCounts counts;
  std::shared_ptr<TensorMemory> tensor_memory;  // made by the first tcgen05.alloc
  std::vector<std::byte> scratch;               // of the instruction in execution

  // Notes the first fault; the block stops after the instruction in execution.
  void Fail(std::string what, uint32_t thread, std::optional<uint64_t> address = {});
};

using Step = void (*)(Warp& warp, const Instruction& instruction, const Slot* slots, uint32_t mask);

}  // namespace hloscope::ptx
