#include "viewer/facts/memory/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "core/base/checked.h"

namespace hloscope::viewer {
namespace {

using dump::BufferTable;
using dump::BufferValue;

int64_t Saturating(int64_t a, int64_t b) {
  return CheckedAdd(a, b).value_or(b > 0 ? INT64_MAX : INT64_MIN);
}

bool IsPlaced(const BufferTable& table, const BufferValue& v) {
  return v.offset >= 0 && v.size > 0 && v.allocation >= 0 &&
         static_cast<size_t>(v.allocation) < table.allocations.size();
}

// Allocations from the bottom: temporaries, then parameters, results, constants, thread local ones.
std::vector<AllocationPlace> Places(const BufferTable& table, int64_t& height) {
  std::vector<AllocationPlace> places;
  for (size_t a = 0; a < table.allocations.size(); ++a) {
    const dump::BufferAllocation& allocation = table.allocations[a];
    places.push_back(
        {static_cast<int32_t>(a), 0, std::max<int64_t>(allocation.size, 0), KindOf(allocation)});
  }
  std::ranges::stable_sort(places, [](const AllocationPlace& a, const AllocationPlace& b) {
    return a.kind != b.kind ? a.kind < b.kind : a.size > b.size;
  });
  height = 0;
  for (AllocationPlace& place : places) {
    place.bottom = height;
    height = Saturating(height, place.size);
  }
  return places;
}

// Marks boxes that share bytes with another: at the same time, or one after the other.
void MarkSharing(const BufferTable& table, std::vector<MemoryBox>& boxes) {
  std::vector<size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {},
                    [&](size_t i) { return std::tuple(boxes[i].bottom, boxes[i].first, i); });
  // Neighbours in order of place are looked at; so many of one place are as good as all.
  constexpr size_t kNear = 64;
  for (size_t i = 0; i < order.size(); ++i) {
    MemoryBox& a = boxes[order[i]];
    for (size_t k = i + 1; k < order.size() && k < i + kNear; ++k) {
      MemoryBox& b = boxes[order[k]];
      if (b.bottom >= a.bottom + a.size) break;
      if (table.values[static_cast<size_t>(a.value)].id ==
          table.values[static_cast<size_t>(b.value)].id)
        continue;
      const bool is_same_time = a.first <= b.last && b.first <= a.last;
      (is_same_time ? a.aliases : a.shares_place) = true;
      (is_same_time ? b.aliases : b.shares_place) = true;
    }
  }
}

// Bytes at every point: the union of the places of those that live, so that aliases count once.
std::vector<int64_t> LiveBytes(const std::vector<MemoryBox>& boxes, size_t points) {
  std::vector<std::vector<std::pair<size_t, bool>>> changes(points + 1);
  for (size_t i = 0; i < boxes.size(); ++i) {
    changes[static_cast<size_t>(boxes[i].first)].emplace_back(i, true);
    changes[static_cast<size_t>(boxes[i].last) + 1].emplace_back(i, false);
  }
  // Where at least one lives: coverage counted on the edges of places.
  std::map<int64_t, int64_t> cover;  // from this byte on, so many
  cover[0] = 0;
  int64_t live = 0;
  auto split = [&](int64_t at) {
    auto next = cover.lower_bound(at);
    return next != cover.end() && next->first == at
               ? next
               : cover.emplace(at, std::prev(next)->second).first;
  };
  std::vector<int64_t> bytes(points, 0);
  for (size_t p = 0; p < points; ++p) {
    for (const auto& [box, begins] : changes[p]) {
      split(boxes[box].bottom);
      auto end = split(boxes[box].bottom + boxes[box].size);
      for (auto at = cover.find(boxes[box].bottom); at != end; ++at) {
        const int64_t length = std::next(at)->first - at->first;
        if (begins && at->second++ == 0) live = Saturating(live, length);
        if (!begins && --at->second == 0) live = Saturating(live, -length);
      }
    }
    bytes[p] = live;
  }
  return bytes;
}

}  // namespace

MemoryPlan PlanOf(const BufferTable& table) {
  MemoryPlan plan;
  plan.places = Places(table, plan.height);
  std::vector<int64_t> bottoms(table.allocations.size(), 0);
  std::vector<AllocationKind> kinds(table.allocations.size());
  for (const AllocationPlace& place : plan.places) {
    bottoms[static_cast<size_t>(place.allocation)] = place.bottom;
    kinds[static_cast<size_t>(place.allocation)] = place.kind;
  }
  plan.has_lives = !table.program.empty() && std::ranges::any_of(table.values, [](const auto& v) {
    return v.live_start >= 0;
  });
  const auto points = plan.has_lives ? static_cast<int32_t>(table.program.size()) : 1;
  for (size_t v = 0; v < table.values.size(); ++v) {
    const BufferValue& value = table.values[v];
    if (!IsPlaced(table, value)) {
      ++plan.unplaced;
      continue;
    }
    const auto a = static_cast<size_t>(value.allocation);
    const std::optional<int64_t> bottom = CheckedAdd(bottoms[a], value.offset);
    const int32_t first = plan.has_lives ? value.live_start : 0;
    const int32_t last = plan.has_lives ? std::min(value.live_end, points - 1) : 0;
    const bool is_known = first >= 0 && first < points && last >= first;
    if (!is_known || !bottom || !CheckedAdd(*bottom, value.size)) {
      ++plan.unplaced;
      continue;
    }
    plan.boxes.push_back({static_cast<int32_t>(v), first, last, *bottom, value.size, kinds[a]});
  }
  MarkSharing(table, plan.boxes);
  if (!plan.has_lives) {
    // Nothing says that they live at once.
    for (MemoryBox& box : plan.boxes) {
      box.shares_place |= box.aliases;
      box.aliases = false;
    }
  }
  plan.live = LiveBytes(plan.boxes, static_cast<size_t>(points));
  for (size_t p = 0; p < plan.live.size(); ++p) {
    if (plan.live[p] <= plan.peak && plan.peak_point >= 0) continue;
    plan.peak = plan.live[p];
    plan.peak_point = static_cast<int32_t>(p);
  }
  return plan;
}

std::vector<int32_t> LiveAt(const BufferTable& table, int32_t point) {
  std::vector<int32_t> values;
  for (size_t v = 0; v < table.values.size(); ++v) {
    const BufferValue& value = table.values[v];
    const bool lives =
        value.live_start >= 0 && value.live_start <= point && point <= value.live_end;
    if (lives) values.push_back(static_cast<int32_t>(v));
  }
  auto at = [&](int32_t v) -> const BufferValue& { return table.values[static_cast<size_t>(v)]; };
  std::ranges::stable_sort(values, std::greater<>(), [&](int32_t v) { return at(v).size; });
  // Several positions of one value, or values on the same bytes.
  std::set<std::pair<int32_t, int64_t>> seen;
  std::erase_if(values,
                [&](int32_t v) { return !seen.emplace(at(v).allocation, at(v).offset).second; });
  return values;
}

std::vector<Growth> GrowthOf(const BufferTable& table, const BufferTable& other) {
  using Key = std::pair<std::string, std::vector<int64_t>>;
  std::map<Key, Growth> growth;
  for (size_t v = 0; v < table.values.size(); ++v) {
    const BufferValue& value = table.values[v];
    if (value.instruction.empty()) continue;
    Growth& g = growth[{value.instruction, value.shape_index}];
    g.instruction = value.instruction;
    g.shape = value.shape;
    g.size = value.size;
    g.value = static_cast<int32_t>(v);
  }
  for (const BufferValue& value : other.values) {
    if (value.instruction.empty()) continue;
    Growth& g = growth[{value.instruction, value.shape_index}];
    g.instruction = value.instruction;
    g.other_shape = value.shape;
    g.other_size = value.size;
  }
  std::vector<Growth> sorted;
  for (auto& [key, g] : growth) {
    if (g.size != g.other_size) sorted.push_back(std::move(g));
  }
  std::ranges::stable_sort(sorted, std::greater<>(),
                           [](const Growth& g) { return Saturating(g.size, -g.other_size); });
  return sorted;
}

}  // namespace hloscope::viewer
