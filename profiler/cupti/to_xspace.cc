#include "profiler/cupti/to_xspace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "core/base/counted.h"
#include "core/hlo/proto/trace_modules.h"
#include "core/hlo/proto/wire_writer.h"
#include "profiler/numbered_texts.h"

namespace hloscope::profiler::cupti {
namespace {

using hlo::WireWriter;
using StatValue = std::variant<int64_t, double, std::string>;

// One plane; its events go to lines as they come.
class PlaneWriter {
 public:
  PlaneWriter(int64_t id, std::string name) : id_(id), name_(std::move(name)) {}

  using Stats = std::vector<std::pair<std::string, StatValue>>;
  void Add(int64_t line_id, const std::string& line_name, const Activity& activity,
           uint64_t origin_ns, const Stats& stats) {
    constexpr int64_t kPicoseconds = 1000;
    const auto [entry, is_new] = lines_.try_emplace(line_id);
    if (is_new) entry->second.name = line_name;
    WireWriter& line = entry->second.events;
    const auto event = line.Open(4);
    line.Int(1, names_.NumberOf(activity.name));
    line.Int(2, static_cast<int64_t>(activity.start - origin_ns) * kPicoseconds);
    const uint64_t end = std::max(activity.end, activity.start);
    line.Int(3, static_cast<int64_t>(end - activity.start) * kPicoseconds);
    for (const auto& [name, value] : stats) {
      const auto stat = line.Open(4);
      line.Int(1, stats_.NumberOf(name));
      if (const auto* real = std::get_if<double>(&value)) line.Double(2, *real);
      if (const auto* number = std::get_if<int64_t>(&value)) line.Int(4, *number);
      if (const auto* text = std::get_if<std::string>(&value)) line.Bytes(5, *text);
      line.Close(stat);
    }
    line.Close(event);
  }

  std::string Written() const {
    WireWriter plane;
    plane.Int(1, id_);
    plane.Bytes(2, name_);
    for (const auto& [id, line] : lines_) {
      WireWriter whole;
      whole.Int(1, id);
      whole.Bytes(2, line.name);
      whole.Raw(line.events.bytes());
      plane.Bytes(3, whole.bytes());
    }
    names_.Write(plane, 4);
    stats_.Write(plane, 5);
    return std::move(plane).Take();
  }

 private:
  struct Line {
    std::string name;
    WireWriter events;
  };
  int64_t id_;
  std::string name_;
  std::map<int64_t, Line> lines_;
  NumberedTexts names_, stats_;
};

bool RunsOnDevice(Work work) {
  return work == Work::kKernel || work == Work::kCopy || work == Work::kFill ||
         work == Work::kGraph;
}

std::optional<Origin> OriginOf(const Activity& activity, const ActivityLog& log,
                               const Origins& origins) {
  std::optional<Origin> origin;
  if (origins.of_external) {
    if (const auto external = log.ExternalOf(activity)) origin = origins.of_external(*external);
  }
  const auto by_call = [&] {
    if (origin || !origins.of_call || !RunsOnDevice(activity.work)) return;
    origin = origins.of_call(activity.correlation);
  };
  if (activity.graph_node == 0) by_call();
  if (!origin && origins.of_kernel && activity.work == Work::kKernel) {
    origin = origins.of_kernel(activity.name);
  }
  by_call();
  return origin;
}

PlaneWriter::Stats StatsOf(const Activity& activity, const std::optional<Origin>& origin,
                           const ActivityLog& log) {
  PlaneWriter::Stats stats;
  if (origin) {
    stats.emplace_back("hlo_op", origin->instruction);
    stats.emplace_back("hlo_module", origin->module);
    if (origin->program >= 0) stats.emplace_back("program_id", origin->program);
  }
  if (activity.correlation != 0) {
    stats.emplace_back("correlation_id", int64_t{activity.correlation});
  }
  if (activity.graph != 0) stats.emplace_back("cuda_graph_id", int64_t{activity.graph});
  if (activity.graph_node != 0) {
    stats.emplace_back("cuda_graph_node_id", static_cast<int64_t>(activity.graph_node));
  }
  switch (activity.work) {
    case Work::kKernel:
      // As XLA's own profiler writes it.
      stats.emplace_back(
          "kernel_details",
          fmt::format("{}static_shared:{} dynamic_shared:{} grid:{} block:{}",
                      activity.registers == 0 ? "" : fmt::format("regs:{} ", activity.registers),
                      activity.static_shared_bytes, activity.dynamic_shared_bytes,
                      fmt::join(activity.grid, ","), fmt::join(activity.block, ",")));
      if (activity.local_bytes > 0) {
        stats.emplace_back("local_bytes_per_thread", int64_t{activity.local_bytes});
      }
      for (const MetricRow& row : kMetricRows) {
        if (activity.metrics < 0) break;
        const auto& value = log.metrics[static_cast<size_t>(activity.metrics)].*row.field;
        if (value) stats.emplace_back(std::string(row.name), *value);
      }
      if (activity.lines >= 0) {
        Argument lines = ArgumentOf(log.lines[static_cast<size_t>(activity.lines)]);
        stats.emplace_back(std::move(lines.name), std::get<std::string>(std::move(lines.value)));
      }
      break;
    case Work::kCopy:
      stats.emplace_back("memcpy_details", activity.detail);
      break;
    case Work::kFill:
      stats.emplace_back("memset_details", activity.detail);
      break;
    default:
      break;
  }
  return stats;
}

std::string StreamName(const Activity& activity) {
  return fmt::format("Stream #{}", activity.stream);
}

std::pair<int64_t, std::string> HostLine(const Activity& activity) {
  switch (activity.work) {
    case Work::kSynchronization:
      return {1, "synchronisation"};
    case Work::kOverhead:
      return {2, "overhead of the profiler and the driver"};
    default:
      return {int64_t{3} + activity.thread, fmt::format("calls of thread {}", activity.thread)};
  }
}

std::vector<std::string> WarningsOf(const ActivityLog& log) {
  std::vector<std::string> all;
  if (log.dropped > 0) {
    all.push_back(
        fmt::format("CUPTI dropped {}: its buffers were full", Counted(log.dropped, "record")));
  }
  if (!log.left_out.empty()) {
    all.push_back(fmt::format("left out, more than a recording keeps: {}", log.LeftOutText()));
  }
  const auto kernels = std::ranges::count(log.activities, Work::kKernel, &Activity::work);
  const auto left_out = log.left_out.find(Work::kKernel);
  const int64_t known =
      kernels + log.dropped + (left_out == log.left_out.end() ? 0 : left_out->second);
  if (known < log.awaited) {
    all.push_back(fmt::format("{} of {} {} no record: CUPTI did not deliver {} in time",
                              log.awaited - known, Counted(log.awaited, "kernel"),
                              VerbFor(log.awaited - known, "has", "have"),
                              VerbFor(log.awaited - known, "it", "them")));
  }
  for (const auto& [kind, count] : log.unknown) {
    all.push_back(fmt::format("{} of CUPTI's kind {} not shown", Counted(count, "record"), kind));
  }
  all.insert(all.end(), log.warnings.begin(), log.warnings.end());
  return all;
}

std::string Written(std::span<const TracedModule> modules) {
  WireWriter plane;
  NumberedTexts names;
  plane.Bytes(2, hlo::kModulePlane);
  for (const TracedModule& module : modules) {
    const auto entry = plane.Open(4);
    plane.Int(1, module.program);
    const auto metadata = plane.Open(2);
    plane.Int(1, module.program);
    plane.Bytes(2, module.name);
    for (const bool is_proto : {false, true}) {
      const auto stat = plane.Open(5);
      plane.Int(1, names.NumberOf(is_proto ? hlo::kModuleStat : hlo::kProgramStat));
      is_proto ? plane.Bytes(6, module.hlo_proto) : plane.Int(4, module.program);
      plane.Close(stat);
    }
    plane.Close(metadata);
    plane.Close(entry);
  }
  names.Write(plane, 5);
  return std::move(plane).Take();
}

}  // namespace

std::string WriteXSpace(const ActivityLog& log, const Origins& origins, uint64_t origin_ns,
                        TraceCounts* counts, std::span<const TracedModule> modules) {
  std::vector<const Activity*> in_order;
  for (const Activity& activity : log.activities) in_order.push_back(&activity);
  std::ranges::stable_sort(in_order, {}, &Activity::start);
  std::map<uint32_t, PlaneWriter> devices;
  PlaneWriter host(0, "/host:CUPTI");
  TraceCounts counted;
  for (const Activity* activity : in_order) {
    const auto origin = OriginOf(*activity, log, origins);
    const PlaneWriter::Stats stats = StatsOf(*activity, origin, log);
    if (!RunsOnDevice(activity->work)) {
      const auto [id, name] = HostLine(*activity);
      host.Add(id, name, *activity, origin_ns, stats);
      continue;
    }
    if (activity->work != Work::kGraph) {
      ++counted.on_device;
      counted.attributed += origin ? 1 : 0;
    }
    PlaneWriter& plane = devices
                             .try_emplace(activity->device, int64_t{activity->device} + 1,
                                          fmt::format("/device:GPU:{}", activity->device))
                             .first->second;
    plane.Add(activity->stream, StreamName(*activity), *activity, origin_ns, stats);
  }
  WireWriter space;
  for (const auto& [device, plane] : devices) space.Bytes(1, plane.Written());
  space.Bytes(1, host.Written());  // what has no plane is no XSpace
  if (!modules.empty()) space.Bytes(1, Written(modules));
  for (const std::string& warning : WarningsOf(log)) space.Bytes(3, warning);
  if (counts != nullptr) *counts = counted;
  return std::move(space).Take();
}

}  // namespace hloscope::profiler::cupti
