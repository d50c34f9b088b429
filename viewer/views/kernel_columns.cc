// Columns of kernels: the content of each, and how it is sorted.
#include "viewer/views/kernel_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "viewer/model/number_text.h"
#include "viewer/model/timeline_camera.h"
#include "viewer/widgets/widgets.h"

namespace hloscope::viewer {
namespace {

using Column = KernelColumn;

std::string ExtentText(const std::optional<dump::Extent3>& extent) {
  if (!extent) return {};
  const auto& [x, y, z] = *extent;
  if (y == 1 && z == 1) return std::to_string(x);
  return z == 1 ? fmt::format("{}×{}", x, y) : fmt::format("{}×{}×{}", x, y, z);
}

std::string Percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

const std::vector<Column>& TimeColumns() {
  static const std::vector<Column> kColumns = {
      {"self", 66, true,
       [](const auto&, const auto& r) {
         return r.count ? TimeText(static_cast<double>(r.self)) : "";
       },
       [](const auto& r) { return static_cast<double>(r.self); },
       "self time: duration of its events without nested instructions"},
      {"share", 54, true,
       [](const auto& s, const auto& r) {
         return r.count ? Percent(static_cast<double>(r.self) /
                                  static_cast<double>(std::max<int64_t>(s.work, 1)))
                        : "";
       },
       [](const auto& r) { return static_cast<double>(r.self); }, "share of the module's time"},
      {"count", 46, true,
       [](const auto&, const auto& r) { return r.count ? CountText(r.count) : ""; },
       [](const auto& r) { return static_cast<double>(r.count); }, "number of events"},
      {"mean", 64, true,
       [](const auto&, const auto& r) { return r.count ? TimeText(r.mean()) : ""; },
       [](const auto& r) { return r.mean(); }, "mean duration of its events"},
      {"max", 70, true,
       [](const auto&, const auto& r) {
         return r.count ? TimeText(static_cast<double>(r.max)) : "";
       },
       [](const auto& r) { return static_cast<double>(r.max); }, "longest event", true},
  };
  return kColumns;
}

// What a launch did on a simulated device, in the mean, and a model of the device it was compiled
// for.
const std::vector<Column>& FigureColumns() {
  static const auto mean = [](const KernelRow& row, uint64_t sum) {
    return row.PerLaunch(static_cast<double>(sum));
  };
  static const auto counted = [](const KernelRow& row, uint64_t sum) {
    return row.sums.launches > 0 ? SiText(mean(row, sum), "") : std::string();
  };
  static const std::vector<Column> kColumns = {
      {"model", 66, true,
       [](const auto&, const auto& r) {
         return r.model_us() > 0 ? TimeText(1e6 * r.model_us()) : std::string();
       },
       [](const auto& r) { return r.sums.model_us; },
       "modelled time per launch: bytes, operations and instructions at peak rate, cold caches; "
       "sorted by total"},
      {"bound by", 92, false, [](const auto&, const auto& r) { return r.sums.bound; }, nullptr,
       "limiting resource in the model"},
      {"instr.", 58, true,
       [](const auto&, const auto& r) { return counted(r, r.sums.figures.warp_instructions); },
       [](const auto& r) { return mean(r, r.sums.figures.warp_instructions); },
       "warp instructions per launch (smsp__inst_executed)"},
      {"lanes", 54, true,
       [](const auto&, const auto& r) {
         return r.sums.launches > 0 ? Percent(r.sums.figures.active_lanes()) : std::string();
       },
       [](const auto& r) { return r.sums.launches > 0 ? r.sums.figures.active_lanes() : -1; },
       "average active lanes per warp; below 100 %: divergence"},
      {"sectors", 58, true,
       [](const auto&, const auto& r) { return counted(r, r.sums.figures.sectors()); },
       [](const auto& r) { return mean(r, r.sums.figures.sectors()); },
       "32-byte sectors of global memory per launch (l1tex__t_sectors_pipe_lsu_mem_global)"},
      {"used", 54, true,
       [](const auto&, const auto& r) {
         return r.sums.figures.sectors() > 0 ? Percent(r.sums.figures.coalesced()) : std::string();
       },
       [](const auto& r) { return r.sums.launches > 0 ? r.sums.figures.coalesced() : -1; },
       "used share of those sectors; below 100 %: not coalesced"},
      {"conflicts", 66, true,
       [](const auto&, const auto& r) { return counted(r, r.sums.figures.conflicts()); },
       [](const auto& r) { return mean(r, r.sums.figures.conflicts()); },
       "shared memory bank conflicts per launch (l1tex__data_bank_conflicts_pipe_lsu_mem_shared)"},
      {"products", 62, true,
       [](const auto&, const auto& r) { return counted(r, r.sums.figures.products()); },
       [](const auto& r) { return mean(r, r.sums.figures.products()); },
       "tensor core multiply-adds per launch"},
      {"flop done", 66, true,
       [](const auto&, const auto& r) { return counted(r, r.sums.figures.flops()); },
       [](const auto& r) { return mean(r, r.sums.figures.flops()); },
       "floating-point operations executed per launch, tensor cores included", true},
      {"touched", 66, true,
       [](const auto&, const auto& r) { return counted(r, r.sums.figures.touched_bytes); },
       [](const auto& r) { return mean(r, r.sums.figures.touched_bytes); },
       "distinct bytes of its arguments read and written per launch", true},
      {"padding", 66, true,
       [](const auto&, const auto& r) { return counted(r, r.sums.figures.padding_bytes); },
       [](const auto& r) { return mean(r, r.sums.figures.padding_bytes); },
       "bytes read past the end of an argument, in its padding to 256", true},
  };
  return kColumns;
}

// GPU performance counters, in the mean of the measured launches.
Column MetricColumn(const char* title, std::optional<double> profiler::KernelMetrics::* field,
                    profiler::MetricKind kind, const char* help) {
  const bool is_share = kind == profiler::MetricKind::kShare;
  const auto mean = [=](const KernelRow& row) -> std::optional<double> {
    const auto value = row.sums.metrics.all().*field;
    if (!value || is_share) return value;
    return *value / static_cast<double>(row.sums.metrics.launches());
  };
  return {title,
          66,
          true,
          [=](const auto&, const auto& r) {
            const auto value = mean(r);
            if (!value) return std::string();
            return is_share ? Percent(*value) : SiText(*value, "B");
          },
          [=](const auto& r) { return mean(r).value_or(-1); },
          help};
}

const std::vector<Column>& MetricColumns() {
  static const std::vector<Column> kColumns = {
#define KERNEL_METRIC(field, name, title, metric, kind, meaning)                   \
  MetricColumn(title, &profiler::KernelMetrics::field, profiler::MetricKind::kind, \
               meaning " per launch (" metric "), from GPU counters in a separate run"),
#include "profiler/kernel_metrics.def"
#undef KERNEL_METRIC
  };
  return kColumns;
}

double Before(const KernelRow& row, bool swapped) {
  return swapped ? row.after_time() : row.before_time();
}
double After(const KernelRow& row, bool swapped) { return Before(row, !swapped); }
double Change(const KernelRow& row, bool swapped) {
  return After(row, swapped) - Before(row, swapped);
}
double Ratio(const KernelRow& row, bool swapped) {
  const double before = Before(row, swapped), after = After(row, swapped);
  if (before > 0) return after / before;
  return after > 0 ? std::numeric_limits<double>::infinity() : 1;
}

std::string RatioText(double ratio) {
  if (std::isinf(ratio)) return "new";
  return ratio == 0 ? "gone" : fmt::format("{:.{}f}×", ratio, ratio < 9.995 ? 2 : 0);
}

// "1.14–1.26×": what the ratio may be, by the noise.
std::string IntervalText(const KernelRow& row, bool swapped) {
  if (!row.ratio) return {};
  const profiler::ChangeRatio ratio = swapped ? row.ratio->Inverse() : *row.ratio;
  return fmt::format("{:.2f}–{}", ratio.low, RatioText(ratio.high));
}
profiler::Verdict VerdictOf(const KernelRow& row, bool swapped) {
  return swapped ? Inverse(row.verdict) : row.verdict;
}

// Two profiles side by side, for the same number of runs.
std::vector<Column> MakeComparison(bool swapped) {
  auto time = [](double picoseconds) { return picoseconds > 0 ? TimeText(picoseconds) : ""; };
  return {
      {"change", 90, true,
       [=](const auto&, const auto& r) {
         const double change = Change(r, swapped);
         if (change == 0) return std::string("0");
         return (change > 0 ? "+" : "") + TimeText(change);
       },
       [=](const auto& r) { return std::abs(Change(r, swapped)); },
       "time saved (-) or added (+); sorted by absolute value"},
      {"ratio", 60, true, [=](const auto&, const auto& r) { return RatioText(Ratio(r, swapped)); },
       [=](const auto& r) { return Ratio(r, swapped); },
       "time after / time before, corrected for the machine's speed where it is known"},
      {"may be", 96, true, [=](const auto&, const auto& r) { return IntervalText(r, swapped); },
       [=](const auto& r) { return r.ratio ? r.ratio->high / r.ratio->low : 0; },
       "confidence interval of the ratio, 99 % over all rows together"},
      {"verdict", 104, false,
       [=](const auto&, const auto& r) { return std::string(ToString(VerdictOf(r, swapped))); },
       nullptr, "slower or faster: significant over all rows together"},
      {"before", 70, true, [=](const auto&, const auto& r) { return time(Before(r, swapped)); },
       [=](const auto& r) { return Before(r, swapped); },
       "typical self time in the first profile, scaled to the same number of runs"},
      {"after", 70, true, [=](const auto&, const auto& r) { return time(After(r, swapped)); },
       [=](const auto& r) { return After(r, swapped); }, "the same for the second profile"},
  };
}

const std::vector<Column>& ComparisonColumns(bool swapped) {
  static const std::vector<Column> kForward = MakeComparison(false),
                                   kBackward = MakeComparison(true);
  return swapped ? kBackward : kForward;
}

const std::vector<Column>& WorkColumns() {
  static const std::vector<Column> kColumns = {
      {"FLOPs", 84, true,
       [](const auto&, const auto& r) {
         return r.instruction.valid() ? SiText(r.cost.flops + r.cost.transcendentals, "FLOP") : "";
       },
       [](const auto& r) { return r.cost.flops + r.cost.transcendentals; },
       "FLOPs of one execution by XLA's cost analysis"},
      {"bytes", 64, true,
       [](const auto&, const auto& r) {
         return r.instruction.valid()
                    ? BytesText(static_cast<int64_t>(std::min(r.cost.bytes(), 9e18)))
                    : "";
       },
       [](const auto& r) { return r.cost.bytes(); }, "bytes read and written by one execution"},
  };
  return kColumns;
}

const std::vector<Column>& RateColumns() {
  static const std::vector<Column> kColumns = {
      {"flop/s", 58, true,
       [](const auto&, const auto& r) {
         return r.flops_per_second() > 0 ? SiText(r.flops_per_second(), "") : "";
       },
       [](const auto& r) { return r.flops_per_second(); }, "at the mean duration"},
      {"B/s", 64, true,
       [](const auto&, const auto& r) {
         return r.bytes_per_second() > 0 ? SiText(r.bytes_per_second(), "B") : "";
       },
       [](const auto& r) { return r.bytes_per_second(); }, "at the mean duration"},
  };
  return kColumns;
}

const std::vector<Column>& LaunchColumns() {
  static const std::vector<Column> kColumns = {
      {"grid", 70, true, [](const auto&, const auto& r) { return ExtentText(r.launch.blocks); },
       nullptr, "blocks per grid"},
      {"block", 66, true, [](const auto&, const auto& r) { return ExtentText(r.launch.threads); },
       nullptr, "threads per block"},
      {"regs", 46, true,
       [](const auto&, const auto& r) { return r.registers ? CountText(*r.registers) : ""; },
       [](const auto& r) { return static_cast<double>(r.registers.value_or(-1)); },
       "registers per thread; from a trace, .maxnreg or a cubin"},
      {"shared", 66, true,
       [](const auto&, const auto& r) { return r.shared_bytes ? BytesText(*r.shared_bytes) : ""; },
       [](const auto& r) { return static_cast<double>(r.shared_bytes.value_or(-1)); },
       "shared memory per block"},
      {"occup.", 64, true,
       [](const auto&, const auto& r) {
         if (r.occupancy < 0) return std::string();
         return (r.is_occupancy_bound ? "≤ " : "") + fmt::format("{:.0f} %", 100 * r.occupancy);
       },
       [](const auto& r) { return r.occupancy; },
       "occupancy: resident threads / maximum per SM; upper bound (≤) if registers are unknown"},
      {"kernel", 190, false, [](const auto&, const auto& r) { return SafeText(r.kernel, 80); },
       nullptr, "kernel symbol"},
  };
  return kColumns;
}

}  // namespace

std::vector<const KernelColumn*> KernelColumnsOf(const KernelSheet& sheet, bool swapped) {
  std::vector<const KernelColumn*> columns;
  auto add = [&](const std::vector<Column>& group) {
    for (const Column& column : group) columns.push_back(&column);
  };
  if (sheet.has_others) {
    add(ComparisonColumns(swapped));
  } else if (sheet.is_simulated) {
    add(FigureColumns());
  }
  if (sheet.has_times && !sheet.has_others) add(TimeColumns());
  if (sheet.has_metrics && !sheet.has_others) add(MetricColumns());
  add(WorkColumns());
  if (sheet.has_times && !sheet.has_others && !sheet.is_simulated) add(RateColumns());
  const bool has_launch = std::ranges::any_of(
      sheet.rows, [](const KernelRow& r) { return r.launch.known() || !r.kernel.empty(); });
  if (has_launch) add(LaunchColumns());
  return columns;
}

bool IsWorkColumn(const KernelColumn* column) {
  return std::ranges::any_of(WorkColumns(), [&](const Column& c) { return &c == column; });
}

}  // namespace hloscope::viewer
