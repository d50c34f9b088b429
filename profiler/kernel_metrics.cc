// Metrics as arguments and back, and together.
#include "profiler/kernel_metrics.h"

#include <algorithm>
#include <string>

namespace hloscope::profiler {

bool KernelMetrics::any() const {
  return std::ranges::any_of(kMetricRows,
                             [&](const MetricRow& row) { return (this->*row.field).has_value(); });
}

void AppendMetrics(const KernelMetrics& metrics, std::vector<Argument>& arguments) {
  for (const MetricRow& row : kMetricRows) {
    if (const auto& value = metrics.*row.field)
      arguments.push_back({std::string(row.name), *value});
  }
}

std::optional<KernelMetrics> MetricsOf(std::span<const Argument> arguments) {
  std::optional<KernelMetrics> metrics;
  for (const Argument& argument : arguments) {
    const auto row = std::ranges::find(kMetricRows, argument.name, &MetricRow::name);
    if (row == kMetricRows.end()) continue;
    if (!metrics) metrics.emplace();
    (*metrics).*row->field = NumberOf(argument);
  }
  return metrics;
}

void MetricSums::Add(const KernelMetrics& metrics, int64_t duration) {
  ++launches_;
  for (size_t i = 0; i < kMetricRows.size(); ++i) {
    const auto& value = metrics.*kMetricRows[i].field;
    if (!value) continue;
    const double weight = kMetricRows[i].kind == MetricKind::kSum
                              ? 1
                              : static_cast<double>(std::max<int64_t>(duration, 1));
    auto& sum = sums_.*kMetricRows[i].field;
    sum = sum.value_or(0) + *value * weight;
    weights_[i] += weight;
  }
}

KernelMetrics MetricSums::all() const {
  KernelMetrics all = sums_;
  for (size_t i = 0; i < kMetricRows.size(); ++i) {
    auto& sum = all.*kMetricRows[i].field;
    if (sum && kMetricRows[i].kind == MetricKind::kShare) *sum /= weights_[i];
  }
  return all;
}

}  // namespace hloscope::profiler
