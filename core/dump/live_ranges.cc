// -live-range.txt, the peak, and what both kinds of buffer assignments share.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/base/checked.h"
#include "core/dump/buffer_reader.h"
#include "core/dump/line_reader.h"

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
  if (!end) return std::nullopt;
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

// One value holds its bytes of an allocation at a time: those that alias share theirs.
class Peak {
 public:
  explicit Peak(BufferTable& table) : table_(table) {}

  void Find() {
    for (size_t k = 0; k < table_.values.size(); ++k) {
      const BufferValue& value = table_.values[k];
      if (value.live_start == kUnknownPoint || value.live_end < value.live_start) continue;
      events_.push_back({value.live_start, 1, static_cast<int32_t>(k)});
      events_.push_back({value.live_end, -1, static_cast<int32_t>(k)});
    }
    if (events_.empty()) return;
    // Those that begin at a point live together with those that end there.
    std::ranges::sort(events_, [](const Event& a, const Event& b) {
      return std::tuple(a.point, -a.sign, a.value) < std::tuple(b.point, -b.sign, b.value);
    });
    int64_t live = 0;
    for (const Event& event : events_) {
      const int64_t size = table_.values[static_cast<size_t>(event.value)].size;
      live = event.sign > 0 ? CheckedAdd(live, size).value_or(INT64_MAX) : live - size;
      if (event.sign < 0 || live <= table_.live_peak_bytes) continue;
      table_.live_peak_bytes = live;
      table_.live_peak_point = event.point;
    }
    for (size_t k = 0; k < table_.values.size(); ++k) {
      const BufferValue& value = table_.values[k];
      bool there = value.live_start != kUnknownPoint &&
                   value.live_start <= table_.live_peak_point &&
                   value.live_end >= table_.live_peak_point;
      if (there) table_.live_peak_values.push_back(static_cast<int32_t>(k));
    }
    std::ranges::stable_sort(table_.live_peak_values, std::greater(),
                             [&](int32_t k) { return table_.values[static_cast<size_t>(k)].size; });
  }

 private:
  struct Event {
    int32_t point, sign, value;
  };
  BufferTable& table_;
  std::vector<Event> events_;
};

}  // namespace

LiveRanges ReadLiveRanges(std::string_view text) {
  LiveRanges live;
  LineReader lines(text);
  std::string_view line;
  enum class Section : uint8_t { kNone, kProgram, kRanges } section = Section::kNone;
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
      auto number = TakePoint(line);
      // Numbers follow on from 0; anything else would let a file choose our memory.
      if (number && static_cast<size_t>(*number) == live.program.size() && TakeWord(line, ":"))
        live.program.emplace_back(line);
    } else if (section == Section::kRanges) {
      if (auto range = ReadRange(line)) live.ranges.push_back(*std::move(range));
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

}  // namespace hloscope::dump
