// What is counted while blocks run.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ptx/ir/accesses.h"

namespace hloscope::ptx {

inline constexpr uint64_t kSectorBytes = 32;  // of global memory

// What accesses cost on a GPU in addition to their bytes: sectors of global memory, turns of the
// banks of shared memory.
struct Traffic {
  uint64_t global_read_sectors = 0, global_written_sectors = 0;
  uint64_t shared_read_conflicts = 0, shared_written_conflicts = 0;
  std::vector<uint64_t> read_bytes, written_bytes;  // by argument

  void AddSectors(AccessMode mode, uint64_t sectors);
  // Of the argument whose window `address` names, if it is one.
  void AddBytes(AccessMode mode, uint64_t address, uint64_t bytes);
  void Add(const Traffic& other);
};

// What a block does and only its run knows how much of: products of wgmma and tcgen05, accesses
// whose row of accesses.def says ByRun().
struct RunCounts {
  uint64_t products_tf32 = 0, products_16bit = 0, products_8bit = 0, products_4bit = 0;
  uint64_t global_read_bytes = 0, global_written_bytes = 0;
  uint64_t shared_read_bytes = 0, shared_written_bytes = 0;
  uint64_t local_bytes = 0;
  Traffic traffic;

  void Add(const RunCounts& other);
};

}  // namespace hloscope::ptx
