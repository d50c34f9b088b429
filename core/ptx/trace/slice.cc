// A search backwards; the order is that of finishing.
#include "core/ptx/trace/slice.h"

#include <algorithm>
#include <set>

namespace hloscope::ptx {
namespace {

class Slicer {
 public:
  Slicer(const BlockTrace& trace, size_t most) : trace_(trace), most_(most) {}

  Slice Run(StepRef from) {
    Push(from);
    while (!open_.empty()) {
      Node& node = open_.back();
      if (node.next < node.needs.size()) {
        Push(node.needs[node.next++]);
        continue;
      }
      slice_.steps.push_back(node.step);
      open_.pop_back();
    }
    slice_.other_threads.assign(others_.begin(), others_.end());
    return std::move(slice_);
  }

 private:
  struct Node {
    StepRef step;
    std::vector<StepRef> needs;
    size_t next = 0;
  };

  void Push(StepRef step) {
    if (step.thread < 0) return;
    const ThreadTrace* const thread = trace_.Find(step.thread);
    if (thread == nullptr) {
      others_.insert(static_cast<uint32_t>(step.thread));
      return;
    }
    if (!thread->Has(step.step)) return;
    if (seen_.size() >= most_) {
      slice_.complete = false;
      return;
    }
    if (!seen_.insert({step.thread, step.step}).second) return;
    open_.push_back({step, NeedsOf(*thread, thread->at(step.step)), 0});
  }

  std::vector<StepRef> NeedsOf(const ThreadTrace& thread, const TracedStep& step) const {
    std::vector<StepRef> needs;
    for (const TracedValue& value : trace_.ValuesOf(thread, step)) needs.push_back(value.from);
    for (const TracedAccess& access : thread.AccessesOf(step)) needs.push_back(access.from);
    return needs;
  }

  const BlockTrace& trace_;
  size_t most_;
  std::vector<Node> open_;
  std::set<std::pair<int32_t, int64_t>> seen_;
  std::set<uint32_t> others_;
  Slice slice_;
};

}  // namespace

Slice SliceFrom(const BlockTrace& trace, StepRef from, size_t most_steps) {
  return Slicer(trace, most_steps).Run(from);
}

StepRef StoreTo(const BlockTrace& trace, uint32_t thread, uint32_t argument, uint64_t byte) {
  StepRef found;
  const ThreadTrace* const traced = trace.Find(static_cast<int32_t>(thread));
  if (traced == nullptr) return found;
  for (size_t i = 0; i < traced->steps.size(); ++i) {
    for (const TracedAccess& access : traced->AccessesOf(traced->steps[i])) {
      const bool covers = access.writes && access.space == TracedSpace::kArgument &&
                          access.number == argument && access.offset <= byte &&
                          byte < access.offset + access.bytes;
      if (covers) found = {static_cast<int32_t>(thread), traced->first + static_cast<int64_t>(i)};
    }
  }
  return found;
}

}  // namespace hloscope::ptx
