// HeapSimulation: the memory of temporaries laid out again, as XLA does it, also under a change.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/dump/readers/buffers.h"
#include "core/hlo/module.h"

namespace hloscope::analysis {

class HeapSimulation {
 public:
  /// Of the temporaries of a table with live ranges; `device` is ModuleEntry::device, `module` the
  /// compiled one.
  HeapSimulation(const hlo::Module& module, const dump::BufferTable& table,
                 std::string_view device);

  /// Part of the time that a value lives; without any it needs no memory.
  struct Interval {
    int32_t start = 0, end = 0;
  };
  struct Change {
    int32_t value = -1;  // in BufferTable::values
    std::vector<Interval> lives;
    int64_t size = -1;  // bytes instead of those that it has; -1: the same
  };
  /// Bytes of the allocations for temporaries; nullopt: no live ranges, or more than kMaxBuffers.
  std::optional<int64_t> Bytes(const std::vector<Change>& changes = {}) const;

  /// Placing buffers takes time quadratic in their number.
  static constexpr size_t kMaxBuffers = 5'000;

 private:
  struct Buffer {
    int32_t value = -1;
    int64_t size = 0, offset = 0, id = 0;
    Interval lives;
    int32_t alias = -1;  // of a value that is as XLA has it: the first of those it is one with
  };
  // Positions of those that are one buffer.
  static std::vector<std::vector<size_t>> OneBuffers(const std::vector<Buffer>& buffers);
  int64_t HeapBytes(const std::vector<Buffer>& buffers, bool is_by_size) const;
  int64_t BytesOf(int32_t allocation, const std::vector<Change>& changes) const;
  int64_t RoundUp(int64_t bytes) const;

  const dump::BufferTable& table_;
  int64_t alignment_ = 1;
  std::vector<std::vector<int32_t>> temporaries_;  // values by allocation
  std::vector<int32_t> aliases_;                   // LoopAliases
  bool is_known_ = false;
};

}  // namespace hloscope::analysis
