// The critical path as lines and as JSON.
#include "app/reports/critical_path_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/reports/profile_report.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"

namespace hloscope::app {
namespace {

using profiler::Attribution;
using profiler::CriticalPath;
using profiler::PathLink;
using profiler::PathStep;
using profiler::PathTime;

constexpr size_t kMaxSteps = 10'000;

std::string PathName(const Attribution& attribution, const profiler::Target& target,
                     profiler::NameId name) {
  if (!target.valid()) return std::string(attribution.store().text(name));
  return std::string(attribution.modules()[target.module].module->name(target.instruction));
}

double Microseconds(int64_t picoseconds) { return static_cast<double>(picoseconds) / 1e6; }

// "120 data links (certain), 40 lane links (likely)": what its links are, those there are none of
// left out.
std::string LinksText(const CriticalPath& path) {
  std::string out;
  for (size_t k = 1; k < profiler::kPathLinks; ++k) {
    if (path.links[k] == 0) continue;
    const auto link = static_cast<PathLink>(k);
    out += FormatText("{}{} {} {} ({})", out.empty() ? "" : ", ", path.links[k], ToString(link),
                      VerbFor(path.links[k], "link", "links"), CertaintyOf(link));
  }
  return out;
}

}  // namespace

std::string CriticalPathText(const Attribution& attribution, const CriticalPath& path, size_t top) {
  if (path.steps.empty()) return {};
  std::string out = FormatText("critical path: {} in {}, of {}; waits {:.1f} %\n",
                               DurationText(path.busy), Counted(path.steps.size(), "step"),
                               DurationText(path.range.length()), 100 * path.wait_share());
  if (const std::string links = LinksText(path); !links.empty()) {
    out += FormatText("  found backwards from the work that ends last, by {}\n", links);
  }
  out += FormatText("{:>7} {:>10} {:>8} {:>10}  on the path\n", "share", "busy", "steps",
                    "wait before");
  // Instructions of one name are told apart by their modules.
  const std::vector<std::string> labels = ModuleLabels(attribution);
  std::map<std::string, int> rows;
  for (const PathTime& time : path.times) ++rows[PathName(attribution, time.target, time.name)];
  const double length = static_cast<double>(std::max<int64_t>(path.range.length(), 1));
  for (const PathTime& time : std::span(path.times).first(std::min(top, path.times.size()))) {
    std::string name = PathName(attribution, time.target, time.name);
    if (rows[name] > 1 && time.target.valid()) name = labels[time.target.module] + ":" + name;
    if (name.size() > 60) name = name.substr(0, 57) + "...";
    out += FormatText("{:>5.1f} % {:>10} {:>8} {:>10}  {}\n",
                      100 * static_cast<double>(time.busy) / length, DurationText(time.busy),
                      time.count, DurationText(time.wait), name);
  }
  if (top < path.times.size())
    out += FormatText("{:>10} more (--top {})\n", path.times.size() - top, path.times.size());
  return out;
}

void AppendCriticalPath(const Attribution& attribution, const CriticalPath& path,
                        JsonWriter& json) {
  const profiler::EventStore& store = attribution.store();
  json.Key("critical_path").BeginArray();
  const size_t shown = std::min(path.steps.size(), kMaxSteps);
  for (const PathStep& step : std::span(path.steps).first(shown)) {
    const profiler::Target target = attribution.TargetOf(step.event);
    json.BeginObject();
    if (target.valid()) {
      json.Field("module", attribution.modules()[target.module].name);
      json.Field("instruction", PathName(attribution, target, {}));
    }
    json.Field("name", store.text(store.name(step.event)))
        .Field("start_us", Microseconds(step.begin - store.range().begin))
        .Field("duration_us", Microseconds(step.duration()))
        .Field("wait_us", Microseconds(step.wait))
        .Field("link", ToString(step.link))
        .EndObject();
  }
  json.EndArray().Key("critical_path_sums").BeginObject();
  json.Field("begin_us", Microseconds(path.range.begin - store.range().begin))
      .Field("length_us", Microseconds(path.range.length()))
      .Field("busy_us", Microseconds(path.busy))
      .Field("wait_us", Microseconds(path.wait))
      .Field("last_wait_us", Microseconds(path.last_wait))
      .Field("steps", path.steps.size())
      .Field("left_out", path.steps.size() - shown);
  json.Key("links").BeginObject();
  for (size_t k = 0; k < profiler::kPathLinks; ++k)
    json.Field(ToString(static_cast<PathLink>(k)), path.links[k]);
  json.EndObject().EndObject();
}

}  // namespace hloscope::app
