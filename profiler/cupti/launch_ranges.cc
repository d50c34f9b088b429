// The moments of each thread in their order, with the ranges that are open.
#include "profiler/cupti/launch_ranges.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "profiler/annotation_text.h"

namespace hloscope::profiler::cupti {
namespace {

struct Moment {
  uint32_t thread;
  uint64_t time;
  // At one moment what begins comes before what is called, and that before what ends.
  int order;
  const RangeMark* mark;  // null: a call
  uint32_t correlation;
};

}  // namespace

LaunchRanges::LaunchRanges(const ActivityLog& log) {
  std::vector<Moment> moments;
  for (const RangeMark& mark : log.ranges) {
    moments.push_back({mark.thread, mark.time, mark.begins ? 0 : 2, &mark, 0});
  }
  if (moments.empty()) return;
  for (const Activity& activity : log.activities) {
    if (activity.work != Work::kCall) continue;
    moments.push_back({activity.thread, activity.start, 1, nullptr, activity.correlation});
  }
  std::ranges::stable_sort(moments, [](const Moment& a, const Moment& b) {
    return std::tie(a.thread, a.time, a.order) < std::tie(b.thread, b.time, b.order);
  });
  std::vector<const RangeMark*> open;  // the innermost last
  uint32_t thread = 0;
  for (const Moment& moment : moments) {
    if (moment.thread != thread) open.clear();
    thread = moment.thread;
    if (moment.mark != nullptr) {
      if (moment.mark->begins) {
        open.push_back(moment.mark);
      } else {
        std::erase_if(open, [&](const RangeMark* each) { return each->id == moment.mark->id; });
      }
      continue;
    }
    Origin origin;
    for (const RangeMark* range : open) {
      const std::string_view op = AnnotationValue(range->name, "hlo_op");
      const std::string_view module = AnnotationValue(range->name, "hlo_module");
      const int64_t program = NumberIn(AnnotationValue(range->name, "program_id"));
      if (!op.empty()) origin.instruction = op;
      if (!module.empty()) origin.module = module;
      if (program >= 0) origin.program = program;
    }
    // A call of the runtime and the driver's below it have one correlation, as the launch has.
    if (!origin.instruction.empty()) calls_.try_emplace(moment.correlation, std::move(origin));
  }
}

std::optional<Origin> LaunchRanges::Of(uint32_t correlation) const {
  const auto found = calls_.find(correlation);
  return found == calls_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace hloscope::profiler::cupti
