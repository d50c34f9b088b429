// Executions in order of time, freed from drift, then batch by batch.
#include "profiler/typical_times.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hloscope::profiler {
namespace {

constexpr size_t kMaxBatches = 40, kMaxWindows = 64;
constexpr double kMaxResemblance = 0.9;

// The logarithms of an instruction's executions, in order of time.
struct Series {
  std::vector<double> logs;
  std::vector<uint32_t> windows;  // which stretch of the recording each began in
};

std::vector<Series> SeriesOf(const Attribution& attribution,
                             const std::vector<Execution>& executions) {
  std::vector<Series> all(attribution.times().size());
  std::vector<double> counts(all.size(), 0);
  for (const Execution& e : executions) ++counts[e.time];
  std::erase(counts, 0);
  // Stretches of equally many executions, so long that most instructions occur in each.
  const auto wanted = static_cast<size_t>(Median(std::move(counts)));
  const size_t windows = std::clamp<size_t>(wanted, 1, kMaxWindows);
  for (size_t k = 0; k < executions.size(); ++k) {
    const Execution& e = executions[k];
    all[e.time].logs.push_back(std::log(std::max(static_cast<double>(e.self), kClockTick)));
    all[e.time].windows.push_back(static_cast<uint32_t>(k * windows / executions.size()));
  }
  return all;
}

// What the executions of most instructions in a window have in common, each against its own median.
void TakeOutDrift(std::vector<Series>& all) {
  std::vector<std::vector<double>> by_window(kMaxWindows);
  for (const Series& series : all) {
    if (series.logs.size() < kFewestSamples) continue;
    const double middle = Median(series.logs);
    for (size_t first = 0; first < series.logs.size();) {
      size_t last = first;
      std::vector<double> away;
      for (; last < series.logs.size() && series.windows[last] == series.windows[first]; ++last)
        away.push_back(series.logs[last] - middle);
      by_window[series.windows[first]].push_back(Median(std::move(away)));
      first = last;
    }
  }
  std::vector<double> factors(kMaxWindows, 0), known;
  for (size_t w = 0; w < kMaxWindows; ++w) {
    if (by_window[w].size() < kFewestForSpeed) continue;
    factors[w] = Median(std::move(by_window[w]));
    known.push_back(factors[w]);
  }
  const double usual = Median(std::move(known));
  for (double& factor : factors) factor = factor == 0 ? 0 : factor - usual;
  for (Series& series : all) {
    for (size_t k = 0; k < series.logs.size(); ++k) series.logs[k] -= factors[series.windows[k]];
  }
}

std::vector<double> BatchesOf(const std::vector<double>& logs) {
  const size_t count = std::min(logs.size(), kMaxBatches);
  std::vector<double> batches;
  for (size_t b = 0; b < count; ++b) {
    const size_t first = b * logs.size() / count, last = (b + 1) * logs.size() / count;
    batches.push_back(std::accumulate(logs.begin() + static_cast<int64_t>(first),
                                      logs.begin() + static_cast<int64_t>(last), 0.0) /
                      static_cast<double>(last - first));
  }
  return batches;
}

}  // namespace

Result<std::vector<Estimate>> TypicalTimes(const Attribution& attribution, Jobs& jobs,
                                           const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto executions, attribution.Executions(jobs, stop));
  std::vector<Series> all = SeriesOf(attribution, executions);
  TakeOutDrift(all);
  std::vector<Estimate> out(all.size());
  std::vector<double> resemblances;
  for (size_t k = 0; k < all.size(); ++k) {
    const std::vector<double> batches = BatchesOf(all[k].logs);
    out[k] = TrimmedMean(batches);
    if (out[k].freedom > 0) resemblances.push_back(Autocorrelation(batches));
    // No clock tells less than a tick.
    if (batches.empty()) continue;
    out[k].variance += std::pow(kClockTick / std::exp(out[k].value), 2) / 12;
  }
  // Of all instructions together: of one alone it is hardly known.
  const double resemblance = std::clamp(Median(std::move(resemblances)), 0.0, kMaxResemblance);
  for (Estimate& typical : out) typical.variance *= (1 + resemblance) / (1 - resemblance);
  return out;
}

}  // namespace hloscope::profiler
