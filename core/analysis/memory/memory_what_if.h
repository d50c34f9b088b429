// What a module would need if values that hold memory were treated otherwise. An estimate: the
// temporaries are laid out again, and the program stays as it is.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/analysis/memory/donation.h"
#include "core/analysis/memory/heap_simulation.h"
#include "core/hlo/module.h"

namespace hloscope::analysis {

enum class MemoryChange : uint8_t {
  kDonate,         // a result takes the memory of the argument
  kBf16,           // kept in bf16
  kRematerialize,  // computed again where it is read after the peak
  kDrop,           // not kept at all
};
inline constexpr size_t kMemoryChangeCount = 4;
std::string_view ToString(MemoryChange change);  // "donate", "keep in bf16" …

struct ValueChange {
  int32_t value = -1;  // in BufferTable::values
  MemoryChange change = MemoryChange::kDrop;
  auto operator<=>(const ValueChange&) const = default;
};

class MemoryWhatIf {
 public:
  /// The table has values; the module is its last stage, `device` is ModuleEntry::device.
  MemoryWhatIf(std::shared_ptr<const hlo::Module> module,
               std::shared_ptr<const dump::BufferTable> table, std::string_view device);
  MemoryWhatIf(const MemoryWhatIf&) = delete;
  MemoryWhatIf& operator=(const MemoryWhatIf&) = delete;

  const dump::BufferTable& table() const { return *table_; }
  /// That live at the peak, largest first, each place once; without live ranges all.
  std::vector<int32_t> Holders(size_t most) const;
  /// Why it cannot be done; empty: it can.
  std::string WhyNot(const ValueChange& change) const;
  /// What the run needs with all of these that can be done; table().total_bytes without any.
  int64_t PeakWith(std::span<const ValueChange> changes) const;

 private:
  struct Again;
  dump::AllocationKind KindOf(int32_t value) const;
  std::vector<int32_t> SamePlace(int32_t value) const;
  bool IsResult(int32_t value) const;
  const Donation* DonationOf(int32_t value) const;
  int64_t NarrowBytes(int32_t value) const;
  std::string WhyNotAgain(int32_t value, Again& again) const;
  void ChangeHeap(const ValueChange& change, std::vector<HeapSimulation::Change>& heap) const;

  std::shared_ptr<const hlo::Module> module_;
  std::shared_ptr<const dump::BufferTable> table_;
  HeapSimulation heap_;
  int64_t now_ = -1;  // bytes of temporaries by the simulation; -1: unknown
  std::vector<Donation> donations_;
  std::unordered_map<std::string_view, hlo::InstructionId> by_name_;  // of the entry
  std::unordered_map<std::string_view, int32_t> times_, values_;      // points, whole values
};

}  // namespace hloscope::analysis
