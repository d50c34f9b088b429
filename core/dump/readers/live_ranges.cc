// -live-range.txt, the peak, and what both kinds of buffer assignments share.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "core/base/checked.h"
#include "core/dump/readers/buffer_reader.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

std::optional<int32_t> TakePoint(std::string_view& text) {
  auto number = TakeNumber(text);
  if (!number || *number < 0 || *number > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(*number);
}

// "fusion.1{0,1}:3-12"
std::optional<LiveRanges::Range> ReadRange(std::string_view line) {
  size_t colon = line.rfind("}:");
  size_t brace = colon == std::string_view::npos ? colon : line.rfind('{', colon);
  if (brace == std::string_view::npos) return std::nullopt;
  LiveRanges::Range range;
  range.instruction = line.substr(0, brace);
  range.index = line.substr(brace, colon + 1 - brace);
  line.remove_prefix(colon + 2);
  auto start = TakePoint(line);
  if (!start || !TakeWord(line, "-")) return std::nullopt;
  auto end = TakePoint(line);
  const bool is_one =
      IsPrintable(range.instruction) && range.instruction.find_first_of(" {}") == std::string::npos;
  if (!end || !line.empty() || !is_one) return std::nullopt;
  range.start = *start;
  range.end = *end;
  return range;
}

// Instruction and shape index as one key.
std::string KeyOf(std::string_view instruction, std::span<const int64_t> index) {
  std::string key(instruction);
  for (int64_t k : index) key += "," + std::to_string(k);
  return key;
}

void AddBytes(int64_t& sum, int64_t bytes) { sum = CheckedAdd(sum, bytes).value_or(INT64_MAX); }

// The most bytes alive at once. Values that live at one place at one time are one buffer under
// several names (operand and result of a loop, say): the largest counts.
class Peak {
 public:
  explicit Peak(BufferTable& table) : table_(table) {}

  void Find() {
    std::vector<Event> events;
    for (size_t k = 0; k < table_.values.size(); ++k) {
      const BufferValue& value = table_.values[k];
      if (value.live_start == kUnknownPoint || value.live_end < value.live_start) continue;
      events.push_back({value.live_start, 1, static_cast<int32_t>(k)});
      events.push_back({value.live_end, -1, static_cast<int32_t>(k)});
    }
    // Those that begin at a point live together with those that end there.
    std::ranges::sort(events, {},
                      [](const Event& e) { return std::tuple(e.point, -e.sign, e.value); });
    int64_t live = 0;
    for (const Event& event : events) {
      live += Change(event);
      if (event.sign < 0 || live <= table_.live_peak_bytes) continue;
      table_.live_peak_bytes = live;
      table_.live_peak_point = event.point;
    }
    if (!events.empty()) ListHolders();
  }

 private:
  struct Event {
    int32_t point, sign, value;
  };
  using Slot = std::pair<int32_t, int64_t>;  // allocation and offset

  static Slot SlotOf(const BufferValue& value) { return {value.allocation, value.offset}; }

  // By how much a slot grows or shrinks.
  int64_t Change(const Event& event) {
    const BufferValue& value = table_.values[static_cast<size_t>(event.value)];
    std::multiset<int64_t>& sizes = slots_[SlotOf(value)];
    int64_t before = sizes.empty() ? 0 : *sizes.rbegin();
    if (event.sign > 0) {
      sizes.insert(value.size);
    } else {
      sizes.erase(sizes.find(value.size));
    }
    return (sizes.empty() ? 0 : *sizes.rbegin()) - before;
  }

  void ListHolders() {
    std::map<Slot, int32_t> largest;
    for (size_t k = 0; k < table_.values.size(); ++k) {
      const BufferValue& value = table_.values[k];
      bool there = value.live_start != kUnknownPoint &&
                   value.live_start <= table_.live_peak_point &&
                   value.live_end >= table_.live_peak_point;
      if (!there) continue;
      auto [at, is_new] = largest.try_emplace(SlotOf(value), static_cast<int32_t>(k));
      if (table_.values[static_cast<size_t>(at->second)].size < value.size)
        at->second = static_cast<int32_t>(k);
    }
    for (const auto& [slot, value] : largest) table_.live_peak_values.push_back(value);
    std::ranges::stable_sort(table_.live_peak_values, std::greater(),
                             [&](int32_t k) { return table_.values[static_cast<size_t>(k)].size; });
  }

  BufferTable& table_;
  std::map<Slot, std::multiset<int64_t>> slots_;
};

}  // namespace

LiveRanges ReadLiveRanges(std::string_view text) {
  LiveRanges live;
  LineReader lines(text);
  std::string_view line;
  enum class Section : uint8_t { kNone, kProgram, kRanges } section = Section::kNone;
  size_t most_gaps = text.size() / std::string_view("0:a\n").size();
  auto lose = [&] {
    if (live.lost_lines++ == 0) live.first_lost_line = lines.number();
  };
  while (lines.Next(line)) {
    line = Trim(line);
    if (line == "InstructionSequence:") {
      section = Section::kProgram;
    } else if (line == "BufferLiveRange:") {
      section = Section::kRanges;
    } else if (line.starts_with("Live ranges at ")) {
      live.complete = true;
      break;
    } else if (section == Section::kProgram) {
      const auto number = TakePoint(line);
      const size_t next = live.program.size();
      const size_t at = number ? static_cast<size_t>(*number) : 0;
      // Numbers follow on from 0, but for lines that are lost: as many as the text could hold.
      if (number && at >= next && at - next <= most_gaps && TakeWord(line, ":")) {
        most_gaps -= at - next;
        live.program.resize(at);
        live.program.emplace_back(line);
      } else if (!line.empty()) {
        lose();
      }
    } else if (section == Section::kRanges) {
      if (auto range = ReadRange(line)) {
        live.ranges.push_back(*std::move(range));
      } else if (!line.empty()) {
        lose();
      }
    }
  }
  return live;
}

void ApplyLiveRanges(const LiveRanges& live, BufferTable& table) {
  table.program = live.program;
  std::unordered_map<std::string, const LiveRanges::Range*> ranges;
  for (const LiveRanges::Range& range : live.ranges)
    ranges.try_emplace(KeyOf(range.instruction, ParseShapeIndex(range.index)), &range);
  for (BufferValue& value : table.values) {
    auto found = ranges.find(KeyOf(value.instruction, value.shape_index));
    if (found == ranges.end()) continue;
    value.live_start = found->second->start;
    value.live_end = found->second->end;
  }
  Peak(table).Find();
}

void FinishBuffers(BufferTable& table) {
  std::vector<int32_t> order(table.allocations.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(
      order, {}, [&](int32_t k) { return table.allocations[static_cast<size_t>(k)].index; });
  std::vector<int32_t> position(order.size());
  std::vector<BufferAllocation> sorted;
  for (size_t k = 0; k < order.size(); ++k) {
    auto from = static_cast<size_t>(order[k]);
    position[from] = static_cast<int32_t>(k);
    sorted.push_back(std::move(table.allocations[from]));
  }
  table.allocations = std::move(sorted);
  for (BufferValue& value : table.values)
    value.allocation = position[static_cast<size_t>(value.allocation)];
  std::ranges::stable_sort(table.values, {}, [](const BufferValue& v) {
    return std::tuple(v.allocation, v.offset, v.id);
  });
  for (const BufferAllocation& allocation : table.allocations) {
    AddBytes(table.total_bytes, allocation.size);
    if (allocation.is_constant) AddBytes(table.constant_bytes, allocation.size);
    if (allocation.parameter_number >= 0) AddBytes(table.parameter_bytes, allocation.size);
    if (allocation.maybe_live_out) AddBytes(table.live_out_bytes, allocation.size);
    if (allocation.is_preallocated_temp) AddBytes(table.temporary_bytes, allocation.size);
  }
}

std::string_view ToString(AllocationKind kind) {
  switch (kind) {
    case AllocationKind::kTemporary:
      return "temporary";
    case AllocationKind::kParameter:
      return "parameter";
    case AllocationKind::kResult:
      return "result";
    case AllocationKind::kConstant:
      return "constant";
    case AllocationKind::kThreadLocal:
      return "thread local";
  }
  return {};
}

AllocationKind KindOf(const BufferAllocation& allocation) {
  if (allocation.is_thread_local) return AllocationKind::kThreadLocal;
  if (allocation.is_constant) return AllocationKind::kConstant;
  if (allocation.parameter_number >= 0) return AllocationKind::kParameter;
  return allocation.maybe_live_out ? AllocationKind::kResult : AllocationKind::kTemporary;
}

}  // namespace hloscope::dump
