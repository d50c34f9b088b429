// A walk over the ranges of each thread, with those that are open.
#include "profiler/formats/nsight_launches.h"

#include <algorithm>
#include <tuple>

#include "profiler/annotation_text.h"

namespace hloscope::profiler {

void NsightLaunches::AddRange(int64_t thread, int64_t begin, int64_t end, NameId text) {
  const Operation& operation = OperationOf(text);
  if (operation.name.valid() || operation.module.valid())
    ranges_.push_back({thread, begin, end, text});
}

void NsightLaunches::AddCall(int64_t thread, int64_t begin, int64_t correlation) {
  if (!ranges_.empty()) moments_.push_back({thread, begin, KeyOf(thread, correlation), false});
}

void NsightLaunches::AddNode(int64_t thread, int64_t begin, int64_t node) {
  if (!ranges_.empty()) moments_.push_back({thread, begin, KeyOf(thread, node), true});
}

const Operation& NsightLaunches::OperationOf(NameId text) {
  auto [entry, is_new] = operations_.try_emplace(text.index);
  if (!is_new) return entry->second;
  const std::string name(builder_.text(text));  // interning may move it
  Operation& operation = entry->second;
  const std::string_view op = AnnotationValue(name, "hlo_op");
  const std::string_view module = AnnotationValue(name, "hlo_module");
  if (!op.empty()) operation.name = builder_.Name(op);
  if (!module.empty()) operation.module = builder_.Name(module);
  operation.program = NumberIn(AnnotationValue(name, "program_id"));
  return operation;
}

void NsightLaunches::Resolve() {
  std::ranges::stable_sort(ranges_, [](const Range& a, const Range& b) {
    return std::tie(a.thread, a.begin, b.end) < std::tie(b.thread, b.begin, a.end);
  });
  std::ranges::stable_sort(moments_, {},
                           [](const Moment& m) { return std::pair(m.thread, m.begin); });
  std::vector<const Range*> open;  // the innermost last
  size_t next = 0;
  int64_t thread = 0;
  for (const Moment& moment : moments_) {
    if (moment.thread != thread) open.clear();
    thread = moment.thread;
    auto is_before = [&](const Range& r) {
      return std::pair(r.thread, r.begin) <= std::pair(moment.thread, moment.begin);
    };
    for (; next < ranges_.size() && is_before(ranges_[next]); ++next) {
      if (ranges_[next].thread != thread) continue;
      while (!open.empty() && open.back()->end <= ranges_[next].begin) open.pop_back();
      open.push_back(&ranges_[next]);
    }
    while (!open.empty() && open.back()->end < moment.begin) open.pop_back();
    // What an inner range says wins.
    Operation operation;
    for (const Range* range : open) {
      const Operation& said = OperationOf(range->text);
      if (said.name.valid()) operation.name = said.name;
      if (said.module.valid()) operation.module = said.module;
      if (said.program >= 0) operation.program = said.program;
    }
    if (!operation.name.valid()) continue;
    (moment.is_node ? nodes_ : calls_)[moment.key] = builder_.AddOperation(operation);
  }
  std::vector<Range>().swap(ranges_);
  std::vector<Moment>().swap(moments_);
}

OperationId NsightLaunches::OfCall(int64_t process, int64_t correlation) const {
  auto found = calls_.find(KeyOf(process, correlation));
  return found == calls_.end() ? OperationId() : found->second;
}

OperationId NsightLaunches::OfNode(int64_t process, int64_t node) const {
  auto found = nodes_.find(KeyOf(process, node));
  return found == nodes_.end() ? OperationId() : found->second;
}

}  // namespace hloscope::profiler
