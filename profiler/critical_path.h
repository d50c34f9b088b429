// CriticalPath: the chain of events that determined how long a stretch of a trace took.
//
// It is walked backwards from the work that ends last. The step before a step is what ends last
// among: the work before it in its lane, the instructions whose values it needs, what launched it,
// and, where neither is known, whatever ended last before it began. So every moment of the range
// lies in one step or is a wait. A shorter step would have made the range shorter, as far as the
// links are right: path_links.def says how sure each kind is. Where an instruction waits for other
// devices, and the device that it waits for is not at it, its event is several steps with waits
// between.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "core/base/jobs.h"
#include "core/base/result.h"
#include "profiler/attribution.h"

namespace hloscope::profiler {

enum class PathLink : uint8_t {
#define PATH_LINK(link, name, certainty, text) link,
#include "profiler/path_links.def"
#undef PATH_LINK
};
inline constexpr size_t kPathLinks = 0
#define PATH_LINK(...) +1
#include "profiler/path_links.def"
#undef PATH_LINK
    ;
std::string_view ToString(PathLink link);
std::string_view CertaintyOf(PathLink link);  // "sure", "likely" or "unsure"
std::string_view ExplanationOf(PathLink link);

// A stretch of an event: what of it lies on the path.
struct PathStep {
  EventId event;
  int64_t begin = 0, end = 0;
  int64_t wait = 0;  // from the end of the step before, or the beginning of the range
  PathLink link = PathLink::kFirst;
  int64_t duration() const { return end - begin; }
};

// The steps of one instruction, or of the events of one name that belong to none.
struct PathTime {
  Target target;
  NameId name;
  int64_t count = 0, busy = 0, wait = 0;
  EventId longest;
};

struct CriticalPath {
  TimeRange range;
  std::vector<PathStep> steps;  // in order of time
  int64_t busy = 0;             // inside steps
  int64_t wait = 0;             // all else of the range
  int64_t last_wait = 0;        // of that, behind the last step
  std::array<int64_t, kPathLinks> links = {};
  std::vector<PathTime> times;  // longest busy first

  double wait_share() const {
    const int64_t length = range.length();
    return length <= 0 ? 0 : static_cast<double>(wait) / static_cast<double>(length);
  }
};

// In `range`, or from the first work to the last. No steps where nothing in it is work. kCancelled
// where `stop` was requested. Takes n log n steps of the events.
Result<CriticalPath> FindCriticalPath(const Attribution& attribution,
                                      std::optional<TimeRange> range, Jobs& jobs,
                                      const std::stop_token& stop = {});

}  // namespace hloscope::profiler
