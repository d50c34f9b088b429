// KernelMetrics: what counters of a GPU measured of a kernel, as arguments of its event.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "profiler/event_store.h"

namespace hloscope::profiler {

// Bytes, or shares from 0 to 1; nullopt: not measured.
struct KernelMetrics {
#define KERNEL_METRIC(field, name, title, metric, kind, meaning) std::optional<double> field = {};
#include "profiler/kernel_metrics.def"
#undef KERNEL_METRIC

  bool any() const;
};

enum class MetricKind : uint8_t { kSum, kShare };

// A row of kernel_metrics.def. CUPTI's shares are per cent.
struct MetricRow {
  std::optional<double> KernelMetrics::* field;
  std::string_view name, title;
  const char* metric;
  MetricKind kind;
  std::string_view meaning;
};
inline constexpr std::array kMetricRows = {
#define KERNEL_METRIC(field, name, title, metric, kind, meaning) \
  MetricRow{&KernelMetrics::field, name, title, metric, MetricKind::kind, meaning},
#include "profiler/kernel_metrics.def"
#undef KERNEL_METRIC
};

// As arguments; and back, nullopt where there are none.
void AppendMetrics(const KernelMetrics& metrics, std::vector<Argument>& arguments);
std::optional<KernelMetrics> MetricsOf(std::span<const Argument> arguments);

// Of several launches: sums; of shares the mean, each launch counting for as long as it took.
class MetricSums {
 public:
  void Add(const KernelMetrics& metrics, int64_t duration);
  int64_t launches() const { return launches_; }  // that were measured
  KernelMetrics all() const;

 private:
  int64_t launches_ = 0;
  KernelMetrics sums_;
  std::array<double, kMetricRows.size()> weights_{};
};

}  // namespace hloscope::profiler
