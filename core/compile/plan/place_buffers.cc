// PlaceBuffers: how long each buffer is wanted, and where in the arena it lies.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "core/compile/plan/plan_writer.h"

namespace hloscope::compile {

namespace {

// More buffers are placed in the order in which they are made, which takes less time.
constexpr size_t kMaxBySize = 4096;

class Liveness {
 public:
  explicit Liveness(PlanDraft& draft)
      : draft_(draft), plan_(draft.plan), loop_end_(draft.plan.sequences.size()) {
    for (PlannedBuffer& b : plan_.buffers) {
      b.first = std::numeric_limits<int64_t>::max();
      b.last = -1;
    }
  }

  void Find() {
    Number(0);
    Note(0);
    for (const BufferNumber b : plan_.results) Want(b, next_);
    for (const BufferNumber b : plan_.parameters) plan_.buffers[b].first = 0;
    // What turned out to be another needs no memory.
    for (PlannedBuffer& b : plan_.buffers) {
      if (b.last < 0 && b.place == Place::kArena) b.bytes = 0;
    }
  }

 private:
  void Number(SequenceNumber s) {
    for (PlannedStep& step : plan_.sequences[s]) {
      step.number = next_++;
      for (const SequenceNumber inner : step.sequences) Number(inner);
      step.last_number = next_ - 1;
      for (const SequenceNumber inner : step.sequences) loop_end_[inner] = step.last_number;
    }
  }

  void Note(SequenceNumber s) {
    for (const PlannedStep& step : plan_.sequences[s]) {
      if (step.kind == StepKind::kWhile) {
        Use(step.operands[0], step.sequences[0], loop_end_[step.sequences[0]]);
      } else {
        for (const BufferNumber b : step.operands) Use(b, s, step.number);
      }
      for (const SequenceNumber inner : step.sequences) Note(inner);
      const bool is_control = !step.sequences.empty();
      for (const BufferNumber b : step.results) {
        Use(b, s, is_control ? step.last_number : step.number);
      }
    }
  }

  // A loop comes back to what was made outside of it: that is wanted until the loop ends.
  void Use(BufferNumber b, SequenceNumber s, int64_t number) {
    Want(b, number);
    for (; s != draft_.home[b] && s != 0; s = draft_.owners[s].parent) {
      if (draft_.owners[s].is_loop) Want(b, loop_end_[s]);
    }
  }
  void Want(BufferNumber b, int64_t number) {
    plan_.buffers[b].first = std::min(plan_.buffers[b].first, number);
    plan_.buffers[b].last = std::max(plan_.buffers[b].last, number);
  }

  PlanDraft& draft_;
  Plan& plan_;
  std::vector<int64_t> loop_end_;  // by sequence: the last number of what runs it
  int64_t next_ = 0;
};

std::vector<BufferNumber> InArena(const Plan& plan) {
  std::vector<BufferNumber> out;
  for (BufferNumber b = 0; b < plan.buffers.size(); ++b) {
    const PlannedBuffer& buffer = plan.buffers[b];
    if (buffer.place == Place::kArena && buffer.last >= 0 && buffer.bytes > 0) out.push_back(b);
  }
  return out;
}

// Big ones first, each as low as the ones that are wanted at the same time let it.
void PlaceBySize(Plan& plan, std::vector<BufferNumber> order) {
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](BufferNumber b) { return plan.buffers[b].bytes; });
  std::vector<BufferNumber> placed;  // by offset
  for (const BufferNumber b : order) {
    PlannedBuffer& buffer = plan.buffers[b];
    int64_t at = 0;
    for (const BufferNumber other : placed) {
      const PlannedBuffer& it = plan.buffers[other];
      if (it.last < buffer.first || it.first > buffer.last) continue;
      if (at + buffer.bytes <= it.at) break;
      at = std::max(at, AlignedBytes(it.at + it.bytes));
    }
    buffer.at = at;
    plan.arena_bytes = std::max(plan.arena_bytes, AlignedBytes(at + buffer.bytes));
    const auto behind = std::ranges::upper_bound(
        placed, at, {}, [&](BufferNumber other) { return plan.buffers[other].at; });
    placed.insert(behind, b);
  }
}

// Free ranges of the arena, and the end of what is taken.
class FreeRanges {
 public:
  // The smallest that fits, or behind all.
  int64_t Take(int64_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, 0});
    if (fit != by_size_.end()) {
      const auto [size, at] = *fit;
      Remove(at);
      if (size > bytes) Add(at + bytes, size - bytes);
      return at;
    }
    int64_t at = end_;
    if (!by_place_.empty()) {  // the last one reaches to the end
      const auto last = std::prev(by_place_.end());
      if (last->first + last->second == end_) {
        at = last->first;
        Remove(at);
      }
    }
    end_ = at + bytes;
    return at;
  }
  void GiveBack(int64_t at, int64_t bytes) {
    auto next = by_place_.lower_bound(at);
    if (next != by_place_.end() && next->first == at + bytes) {
      bytes += next->second;
      Remove(next->first);
    }
    next = by_place_.lower_bound(at);
    if (next != by_place_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == at) {
        const auto [first, size] = *before;
        Remove(first);
        at = first;
        bytes += size;
      }
    }
    Add(at, bytes);
  }
  int64_t end() const { return end_; }

 private:
  void Add(int64_t at, int64_t bytes) {
    by_place_[at] = bytes;
    by_size_.insert({bytes, at});
  }
  void Remove(int64_t at) {
    by_size_.erase({by_place_[at], at});
    by_place_.erase(at);
  }
  std::map<int64_t, int64_t> by_place_;
  std::set<std::pair<int64_t, int64_t>> by_size_;
  int64_t end_ = 0;
};

// In the order in which they are made, each in the smallest gap there is then.
void PlaceByTime(Plan& plan, std::vector<BufferNumber> order) {
  std::ranges::stable_sort(order, {}, [&](BufferNumber b) { return plan.buffers[b].first; });
  std::vector<BufferNumber> ends = order;
  std::ranges::stable_sort(ends, {}, [&](BufferNumber b) { return plan.buffers[b].last; });
  FreeRanges free;
  size_t done = 0;
  for (const BufferNumber b : order) {
    PlannedBuffer& buffer = plan.buffers[b];
    for (; plan.buffers[ends[done]].last < buffer.first; ++done) {
      const PlannedBuffer& it = plan.buffers[ends[done]];
      free.GiveBack(it.at, AlignedBytes(it.bytes));
    }
    buffer.at = free.Take(AlignedBytes(buffer.bytes));
  }
  plan.arena_bytes = free.end();
}

int64_t MostLive(const Plan& plan, const std::vector<BufferNumber>& buffers) {
  std::map<int64_t, int64_t> change;  // by number of a step
  for (const BufferNumber b : buffers) {
    change[plan.buffers[b].first] += plan.buffers[b].bytes;
    change[plan.buffers[b].last + 1] -= plan.buffers[b].bytes;
  }
  int64_t live = 0, most = 0;
  for (const auto& [number, bytes] : change) most = std::max(most, live += bytes);
  return most;
}

}  // namespace

void PlaceBuffers(PlanDraft& draft) {
  Liveness(draft).Find();
  Plan& plan = draft.plan;
  const std::vector<BufferNumber> buffers = InArena(plan);
  plan.live_bytes = MostLive(plan, buffers);
  if (buffers.size() <= kMaxBySize) {
    PlaceBySize(plan, buffers);
  } else {
    PlaceByTime(plan, buffers);
  }
}

}  // namespace hloscope::compile
