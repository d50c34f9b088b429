// ShadowMemory: what the launches of a run did to the memory that they share: which of its bytes
// nobody wrote yet, and who accessed each part last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/ptx/checks/byte_set.h"
#include "core/ptx/checks/cells.h"
#include "core/ptx/checks/kernel_facts.h"

namespace hloscope::ptx {

// For one run at a time. Not for several threads: each of them may have a copy (CopyFor).
class ShadowMemory {
 public:
  // Memory that was allocated for one purpose or many; its bytes count as never written.
  struct Region {
    const std::byte* data = nullptr;
    uint64_t bytes = 0;
    ByteSet unwritten;
    CellTable cells;

    uint64_t OffsetOf(const std::byte* at) const { return static_cast<uint64_t>(at - data); }
  };

  Region& Add(std::span<const std::byte> memory, bool written = false);
  uint64_t bytes() const { return bytes_; }  // of all regions
  // The one that holds all of `memory`; null: none does.
  Region* Find(std::span<const std::byte> memory);

  // What was done to memory by others than kernels. Memory of no region is no concern.
  void Written(std::span<const std::byte> memory);
  void Copied(const std::byte* from, const std::byte* to, uint64_t bytes);
  // The first byte of `memory` that nobody wrote, by its place in it; nullopt: all are written.
  std::optional<uint64_t> FirstUnwritten(std::span<const std::byte> memory);

  // Worked out once for each kernel, which has to stay where it is.
  const KernelFacts& FactsOf(const Kernel& kernel);

  // A copy for the blocks that thread `thread` of a launch runs: it has the bytes of `memory` that
  // nobody wrote, and its own accesses. Of other memory it says nothing. Keep: what is written in
  // the copy is.
  ShadowMemory& CopyFor(size_t thread, std::span<const std::span<const std::byte>> memory);
  void Keep(ShadowMemory& copy, std::span<const std::span<const std::byte>> memory);

  // Kernels whose launches had to be undone (ThreadCheckers).
  void NoteUndone(const Kernel& kernel) { undone_.insert(&kernel); }
  bool IsUndone(const Kernel& kernel) const { return undone_.contains(&kernel); }

  uint32_t interval = 0;  // the last that was given out: see Clocks

 private:
  std::deque<Region> regions_;
  uint64_t bytes_ = 0;
  std::unordered_map<const Kernel*, KernelFacts> facts_;
  std::unordered_set<const Kernel*> undone_;
  std::vector<std::unique_ptr<ShadowMemory>> copies_;  // by thread; used again
};

}  // namespace hloscope::ptx
