#include "core/analysis/memory/memory_what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "core/base/checked.h"
#include "core/hlo/analysis/users.h"
#include "core/hlo/opcode.h"

namespace hloscope::analysis {
namespace {

using dump::AllocationKind;
using dump::BufferTable;
using dump::BufferValue;
using hlo::InstructionId;
using hlo::Opcode;

constexpr std::array<std::string_view, kMemoryChangeCount> kNames = {"donate", "keep in bf16",
                                                                     "rematerialize", "drop"};

// Changes of one value are one.
HeapSimulation::Change& ChangeOf(int32_t v, const BufferValue& value,
                                 std::vector<HeapSimulation::Change>& heap) {
  const auto at = std::ranges::find(heap, v, &HeapSimulation::Change::value);
  return at != heap.end()
             ? *at
             : heap.emplace_back(
                   v, std::vector<HeapSimulation::Interval>{{value.live_start, value.live_end}});
}

}  // namespace

std::string_view ToString(MemoryChange change) { return kNames[static_cast<size_t>(change)]; }

// Where a value that is computed again lives, and how long what it is made of has to.
struct MemoryWhatIf::Again {
  std::vector<HeapSimulation::Interval> lives;
  int32_t at = -1;                // the point at which it is computed again
  std::vector<int32_t> operands;  // temporaries, in BufferTable::values
};

MemoryWhatIf::MemoryWhatIf(std::shared_ptr<const hlo::Module> module,
                           std::shared_ptr<const BufferTable> table, std::string_view device)
    : module_(std::move(module)), table_(std::move(table)), heap_(*module_, *table_, device) {
  now_ = heap_.Bytes().value_or(-1);
  if (module_->header().is_scheduled) donations_ = DonationsOf(*module_);
  const hlo::Computation& entry = (*module_)[module_->entry_id()];
  for (uint32_t k = 0; k < entry.instruction_count; ++k) {
    const InstructionId id(entry.first_instruction + k);
    by_name_.emplace(module_->name(id), id);
  }
  for (size_t t = 0; t < table_->program.size(); ++t)
    times_.emplace(table_->program[t], static_cast<int32_t>(t));
  for (size_t v = 0; v < table_->values.size(); ++v) {
    const BufferValue& value = table_->values[v];
    if (value.shape_index.empty()) values_.emplace(value.instruction, static_cast<int32_t>(v));
  }
}

AllocationKind MemoryWhatIf::KindOf(int32_t value) const {
  const int32_t allocation = table_->values[static_cast<size_t>(value)].allocation;
  return dump::KindOf(table_->allocations[static_cast<size_t>(allocation)]);
}

std::vector<int32_t> MemoryWhatIf::Holders(size_t most) const {
  std::vector<int32_t> values = table_->live_peak_values;
  if (values.empty()) {
    for (size_t v = 0; v < table_->values.size(); ++v) values.push_back(static_cast<int32_t>(v));
  }
  const auto at = [&](int32_t v) -> const BufferValue& {
    return table_->values[static_cast<size_t>(v)];
  };
  std::erase_if(values, [&](int32_t v) {
    return at(v).allocation < 0 || at(v).size <= 0 || at(v).shape.starts_with('(');
  });
  std::ranges::stable_sort(values, std::greater<>(), [&](int32_t v) { return at(v).size; });
  std::set<std::pair<int32_t, int64_t>> places;
  std::erase_if(values,
                [&](int32_t v) { return !places.emplace(at(v).allocation, at(v).offset).second; });
  if (values.size() > most) values.resize(most);
  return values;
}

// A value with those on the same bytes of which one begins where another ends, or before: it is
// updated in place.
std::vector<int32_t> MemoryWhatIf::SamePlace(int32_t value) const {
  const BufferValue& of = table_->values[static_cast<size_t>(value)];
  std::vector<int32_t> same;
  for (size_t v = 0; v < table_->values.size(); ++v) {
    const BufferValue& other = table_->values[v];
    if (other.allocation == of.allocation && other.offset == of.offset && other.size == of.size)
      same.push_back(static_cast<int32_t>(v));
  }
  if (KindOf(value) != AllocationKind::kTemporary) return same;
  std::ranges::sort(same, {},
                    [&](int32_t v) { return table_->values[static_cast<size_t>(v)].live_start; });
  std::vector<int32_t> run;
  int32_t end = -1;
  for (const int32_t v : same) {
    const BufferValue& other = table_->values[static_cast<size_t>(v)];
    if (!run.empty() && other.live_start > end) {
      if (std::ranges::count(run, value) > 0) break;
      run.clear();
    }
    end = run.empty() ? other.live_end : std::max(end, other.live_end);
    run.push_back(v);
  }
  return run;
}

// The last value in the allocation of a result.
bool MemoryWhatIf::IsResult(int32_t value) const {
  const BufferValue& of = table_->values[static_cast<size_t>(value)];
  return std::ranges::none_of(table_->values, [&](const BufferValue& other) {
    return other.allocation == of.allocation && other.live_start > of.live_start;
  });
}

const Donation* MemoryWhatIf::DonationOf(int32_t value) const {
  const BufferValue& of = table_->values[static_cast<size_t>(value)];
  const dump::BufferAllocation& allocation =
      table_->allocations[static_cast<size_t>(of.allocation)];
  const auto found = std::ranges::find_if(donations_, [&](const Donation& donation) {
    return donation.parameter == allocation.parameter_number &&
           donation.parameter_index == allocation.parameter_shape_index;
  });
  return found == donations_.end() ? nullptr : &*found;
}

// Of the value in bf16; -1: it is no wider float.
int64_t MemoryWhatIf::NarrowBytes(int32_t value) const {
  const BufferValue& of = table_->values[static_cast<size_t>(value)];
  if (of.shape.starts_with("f32[")) return of.size / 2;
  return of.shape.starts_with("f64[") ? of.size / 4 : -1;
}

std::string MemoryWhatIf::WhyNotAgain(int32_t value, Again& again) const {
  const BufferValue& of = table_->values[static_cast<size_t>(value)];
  const int32_t peak = table_->live_peak_point;
  const auto found = by_name_.find(of.instruction);
  if (found == by_name_.end() || !of.shape_index.empty() || of.live_start < 0)
    return "it is not a value of the entry computation by itself";
  if (SamePlace(value).size() > 1) return "it is updated in place";
  const hlo::Module& module = *module_;
  if (module[found->second].opcode == Opcode::kWhile) return "it is the state of a loop";
  int32_t before = of.live_start, after = INT32_MAX;
  // Views are read for it.
  std::vector<InstructionId> views = {found->second};
  for (size_t i = 0; i < views.size(); ++i) {
    for (const InstructionId user : hlo::UsersOf(module).users(views[i])) {
      const Opcode opcode = module[user].opcode;
      if (opcode == Opcode::kBitcast) {
        views.push_back(user);
        continue;
      }
      const auto at = times_.find(module.name(user));
      if (at == times_.end() || opcode == Opcode::kTuple)
        return "it is a part of a tuple, whose readers are not known";
      (at->second <= peak ? before : after) =
          at->second <= peak ? std::max(before, at->second) : std::min(after, at->second);
    }
  }
  if (before >= peak) return "it is written or read at the peak";
  if (after > of.live_end) return "it is not read after the peak";
  again.at = after - 1;
  again.lives = {{of.live_start, before}, {again.at, of.live_end}};
  for (InstructionId operand : module.operands(found->second)) {
    while (module[operand].opcode == Opcode::kBitcast) operand = module.operands(operand)[0];
    const Opcode opcode = module[operand].opcode;
    if (opcode == Opcode::kParameter || opcode == Opcode::kConstant) continue;
    const auto at = values_.find(module.name(operand));
    if (at == values_.end()) {
      return fmt::format("where its operand {} is kept is not known", module.name(operand));
    }
    if (KindOf(at->second) == AllocationKind::kTemporary) again.operands.push_back(at->second);
  }
  return {};
}

std::string MemoryWhatIf::WhyNot(const ValueChange& change) const {
  const auto v = static_cast<size_t>(change.value);
  if (v >= table_->values.size() || table_->values[v].allocation < 0)
    return "there is no such value";
  const AllocationKind kind = KindOf(change.value);
  const bool is_temporary = kind == AllocationKind::kTemporary;
  if (is_temporary && now_ < 0) {
    return table_->live_peak_bytes < 0
               ? "the dump has no live ranges"
               : fmt::format("more than {} temporaries, or one whose life is not known",
                             HeapSimulation::kMaxBuffers);
  }
  // Other values may be in the memory of a result before it is written.
  if (kind == AllocationKind::kResult && !IsResult(change.value))
    return "it is in the memory of a result";
  Again again;
  switch (change.change) {
    case MemoryChange::kDonate:
      if (kind != AllocationKind::kParameter) return "it is not an argument";
      return DonationOf(change.value) != nullptr
                 ? ""
                 : "it is donated already, or no result of as many bytes is written after its last "
                   "use";
    case MemoryChange::kBf16:
      return NarrowBytes(change.value) >= 0 ? "" : "it is not f32 or f64";
    case MemoryChange::kRematerialize:
      return is_temporary ? WhyNotAgain(change.value, again)
                          : fmt::format("it is a {}", dump::ToString(kind));
    case MemoryChange::kDrop:
      return kind == AllocationKind::kResult ? "it is a result" : "";
  }
  return {};
}

void MemoryWhatIf::ChangeHeap(const ValueChange& change,
                              std::vector<HeapSimulation::Change>& heap) const {
  const auto change_of = [&](int32_t v) -> HeapSimulation::Change& {
    return ChangeOf(v, table_->values[static_cast<size_t>(v)], heap);
  };
  if (change.change == MemoryChange::kRematerialize) {
    Again again;
    if (!WhyNotAgain(change.value, again).empty()) return;
    change_of(change.value).lives = again.lives;
    for (const int32_t operand : again.operands) {
      auto& lives = change_of(operand).lives;
      if (!lives.empty()) lives.back().end = std::max(lives.back().end, again.at);
    }
    return;
  }
  for (const int32_t v : SamePlace(change.value)) {
    change.change == MemoryChange::kDrop ? change_of(v).lives.clear()
                                         : void(change_of(v).size = NarrowBytes(v));
  }
}

int64_t MemoryWhatIf::PeakWith(std::span<const ValueChange> changes) const {
  std::vector<HeapSimulation::Change> heap;
  std::vector<Donation> donations;
  int64_t saved = 0;
  const auto save = [&](int64_t bytes) { saved = CheckedAdd(saved, bytes).value_or(INT64_MAX); };
  // Sizes of values in allocations that are no heap.
  std::map<int32_t, std::map<int32_t, int64_t>> narrowed;
  // Values are dropped last: what another change makes of them does not matter then.
  std::vector<ValueChange> ordered(changes.begin(), changes.end());
  std::ranges::stable_sort(ordered, {}, &ValueChange::change);
  for (const ValueChange& change : ordered) {
    if (!WhyNot(change).empty()) continue;
    if (change.change == MemoryChange::kDonate) {
      // To a result of other bytes nothing is donated.
      const int64_t bytes = DonationOf(change.value)->bytes;
      const int32_t own = table_->values[static_cast<size_t>(change.value)].allocation;
      if (std::ranges::any_of(ordered, [&](const ValueChange& other) {
            if (other.change == MemoryChange::kDonate || !WhyNot(other).empty()) return false;
            const int32_t of = table_->values[static_cast<size_t>(other.value)].allocation;
            return of == own || (KindOf(other.value) == AllocationKind::kResult &&
                                 table_->allocations[static_cast<size_t>(of)].size == bytes);
          })) {
        continue;
      }
      donations.push_back(*DonationOf(change.value));
      save(donations.back().bytes);
    } else if (KindOf(change.value) == AllocationKind::kTemporary) {
      ChangeHeap(change, heap);
    } else {
      const bool is_result = KindOf(change.value) == AllocationKind::kResult;
      for (const int32_t v : is_result ? std::vector{change.value} : SamePlace(change.value)) {
        narrowed[table_->values[static_cast<size_t>(v)].allocation][v] =
            change.change == MemoryChange::kDrop ? 0 : std::max<int64_t>(NarrowBytes(v), 0);
      }
    }
  }
  for (const auto& [allocation, sizes] : narrowed) {
    int64_t needed = 0;
    for (size_t v = 0; v < table_->values.size(); ++v) {
      const BufferValue& value = table_->values[v];
      if (value.allocation != allocation) continue;
      const auto size = sizes.find(static_cast<int32_t>(v));
      const int64_t bytes = size == sizes.end() ? value.size : size->second;
      if (bytes > 0) needed = std::max(needed, CheckedAdd(value.offset, bytes).value_or(INT64_MAX));
    }
    save(table_->allocations[static_cast<size_t>(allocation)].size - needed);
  }
  if (!donations.empty()) save(-GrowthOfTemporaries(*module_, *table_, donations));
  if (!heap.empty()) save(now_ - heap_.Bytes(heap).value_or(now_));
  return table_->total_bytes - saved;
}

}  // namespace hloscope::analysis
