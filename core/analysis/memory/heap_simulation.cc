// XLA: heap_simulator.cc, GlobalDecreasingSizeBestFitHeap. Buffers are placed by size and by how
// long they live, each in the smallest gap that is free while it lives, and the smaller of the two
// layouts is taken; values that are one buffer are placed as one. Tuples (tables of addresses) have
// allocations of their own, which are put end to end with the heap (buffer_assignment.cc,
// CombineTempAllocations).
#include "core/analysis/memory/heap_simulation.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/analysis/memory/loop_aliases.h"
#include "core/base/checked.h"

namespace hloscope::analysis {
namespace {

using dump::BufferValue;

constexpr int64_t kHostAlignment = 64;
constexpr int64_t kGpuAlignment = 256, kOldGpuAlignment = 128;  // the latter in JAX 0.4

// XLA's kXlaAllocatedBufferAlignBytes of the version that wrote the table, as its offsets show.
int64_t AlignmentOf(const dump::BufferTable& table, std::string_view device) {
  if (device != "gpu") return kHostAlignment;
  const bool is_old = std::ranges::any_of(table.values, [&](const BufferValue& value) {
    return value.allocation >= 0 && value.offset % kGpuAlignment == kOldGpuAlignment &&
           KindOf(table.allocations[static_cast<size_t>(value.allocation)]) ==
               dump::AllocationKind::kTemporary;
  });
  return is_old ? kOldGpuAlignment : kGpuAlignment;
}

int64_t Sum(int64_t a, int64_t b) { return CheckedAdd(a, b).value_or(INT64_MAX); }

}  // namespace

HeapSimulation::HeapSimulation(const hlo::Module& module, const dump::BufferTable& table,
                               std::string_view device)
    : table_(table), alignment_(AlignmentOf(table, device)) {
  temporaries_.resize(table.allocations.size());
  size_t count = 0;
  bool all_live = table.live_peak_bytes >= 0;
  for (size_t v = 0; v < table.values.size(); ++v) {
    const BufferValue& value = table.values[v];
    if (value.allocation < 0) continue;
    const auto allocation = static_cast<size_t>(value.allocation);
    if (KindOf(table.allocations[allocation]) != dump::AllocationKind::kTemporary) continue;
    temporaries_[allocation].push_back(static_cast<int32_t>(v));
    all_live = all_live && value.live_start >= 0 && value.live_end >= value.live_start;
    ++count;
  }
  is_known_ = all_live && count <= kMaxBuffers;
  if (is_known_) aliases_ = LoopAliases(module, table);
}

int64_t HeapSimulation::RoundUp(int64_t bytes) const {
  const int64_t rest = bytes % alignment_;
  return rest == 0 ? bytes : Sum(bytes, alignment_ - rest);
}

std::optional<int64_t> HeapSimulation::Bytes(const std::vector<Change>& changes) const {
  if (!is_known_) return std::nullopt;
  int64_t total = 0;
  for (size_t k = 0; k < temporaries_.size(); ++k) {
    if (!temporaries_[k].empty()) total = Sum(total, BytesOf(static_cast<int32_t>(k), changes));
  }
  return total;
}

int64_t HeapSimulation::BytesOf(int32_t allocation, const std::vector<Change>& changes) const {
  std::vector<Buffer> heap;
  std::map<int64_t, int64_t> tuples;  // sizes by offset
  for (const int32_t v : temporaries_[static_cast<size_t>(allocation)]) {
    const BufferValue& value = table_.values[static_cast<size_t>(v)];
    if (value.shape.starts_with('(')) {
      int64_t& size = tuples[value.offset];
      size = std::max(size, value.size);
      continue;
    }
    const auto change = std::ranges::find(changes, v, &Change::value);
    if (change == changes.end()) {
      heap.push_back({v,
                      value.size,
                      value.offset,
                      value.id,
                      {value.live_start, value.live_end},
                      aliases_[static_cast<size_t>(v)]});
      continue;
    }
    const int64_t size = change->size < 0 ? value.size : change->size;
    for (const Interval& lives : change->lives)
      heap.push_back({v, size, value.offset, value.id, lives, -1});
  }
  // The blocks in the order of XLA's own layout: the last is not rounded up.
  std::vector<std::pair<int64_t, int64_t>> blocks(tuples.begin(), tuples.end());
  if (!heap.empty()) {
    const int64_t base = std::ranges::min(heap, {}, &Buffer::offset).offset;
    blocks.emplace_back(base, std::min(HeapBytes(heap, true), HeapBytes(heap, false)));
  }
  std::ranges::sort(blocks);
  int64_t total = 0;
  for (const auto& [offset, size] : blocks) total = Sum(RoundUp(total), size);
  return total;
}

std::vector<std::vector<size_t>> HeapSimulation::OneBuffers(const std::vector<Buffer>& buffers) {
  std::vector<size_t> order(buffers.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::ranges::sort(order, {}, [&](size_t k) {
    const Buffer& b = buffers[k];
    return std::tuple(b.offset, b.lives.start, b.lives.end, b.id);
  });
  // Values at one place of which one begins where the other ends, and those that a loop carries.
  std::vector<std::vector<size_t>> groups;
  // By alias and offset: the first group that has a value of it.
  std::map<std::pair<int32_t, int64_t>, size_t> by_alias;
  std::vector<size_t> into;  // the group that each is a part of, itself or an earlier one
  const auto end_of = [&](size_t g) {
    while (into[g] != g) g = into[g];
    return g;
  };
  for (size_t i = 0; i < order.size();) {
    const size_t g = groups.size();
    groups.emplace_back();
    into.push_back(g);
    int32_t end = buffers[order[i]].lives.end;
    const int64_t offset = buffers[order[i]].offset;
    for (; i < order.size(); ++i) {
      const Buffer& b = buffers[order[i]];
      if (b.offset != offset || b.lives.start > end) break;
      end = std::max(end, b.lives.end);
      groups[g].push_back(order[i]);
      if (b.alias < 0) continue;
      const size_t one = end_of(by_alias.try_emplace({b.alias, b.offset}, g).first->second),
                   own = end_of(g);
      into[std::max(one, own)] = std::min(one, own);
    }
  }
  for (size_t g = groups.size(); g-- > 0;) {
    std::vector<size_t>& target = groups[end_of(g)];
    if (&target == &groups[g]) continue;
    target.insert(target.end(), groups[g].begin(), groups[g].end());
    groups[g].clear();
  }
  std::erase_if(groups, [](const auto& group) { return group.empty(); });
  return groups;
}

int64_t HeapSimulation::HeapBytes(const std::vector<Buffer>& buffers, bool is_by_size) const {
  // Time counts beginnings and ends: at one instruction all begin before any ends.
  std::vector<std::tuple<int32_t, bool, int64_t, size_t>> events;
  for (size_t k = 0; k < buffers.size(); ++k) {
    events.emplace_back(buffers[k].lives.start, false, buffers[k].id, k);
    events.emplace_back(buffers[k].lives.end, true, buffers[k].id, k);
  }
  std::ranges::sort(events);
  std::vector<std::pair<int64_t, int64_t>> times(buffers.size());
  for (size_t t = 0; t < events.size(); ++t) {
    const auto& [point, is_end, id, k] = events[t];
    (is_end ? times[k].second : times[k].first) = static_cast<int64_t>(t);
  }
  struct Placed {
    std::tuple<int64_t, int64_t, int64_t> key;
    std::vector<Interval> lives;
    int64_t size = 0, offset = 0;
  };
  std::vector<Placed> groups;
  for (const std::vector<size_t>& members : OneBuffers(buffers)) {
    Placed& group = groups.emplace_back();
    int64_t last = 0;
    for (const size_t k : members) last = std::max(last, times[k].second);
    for (const size_t k : members) {
      const Buffer& b = buffers[k];
      const auto [first, own_end] = times[k];
      const auto key = is_by_size ? std::tuple(-b.size, first - own_end, b.id)
                                  : std::tuple(first - last, -b.size, b.id);
      group.key = k == members.front() ? key : std::min(group.key, key);
      group.size = std::max(group.size, b.size);
      group.lives.push_back(b.lives);
    }
  }
  std::ranges::sort(groups, {}, &Placed::key);
  int64_t top = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    Placed& group = groups[g];
    std::vector<std::pair<int64_t, int64_t>> used;
    for (size_t other = 0; other < g; ++other) {
      const bool overlaps = std::ranges::any_of(group.lives, [&](const Interval& x) {
        return std::ranges::any_of(groups[other].lives, [&](const Interval& y) {
          return x.start <= y.end && y.start <= x.end;
        });
      });
      if (overlaps)
        used.emplace_back(groups[other].offset, Sum(groups[other].offset, groups[other].size));
    }
    std::ranges::sort(used);
    int64_t free = 0, best = INT64_MAX;
    for (const auto& [begin, end] : used) {
      const int64_t gap = begin - free;
      if (gap >= group.size && gap < best) {
        best = gap;
        group.offset = free;
      }
      free = std::max(free, RoundUp(end));
    }
    if (best == INT64_MAX) group.offset = free;
    top = std::max(top, Sum(group.offset, group.size));
  }
  return top;
}

}  // namespace hloscope::analysis
