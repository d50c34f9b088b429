// Trimmed means, Student's t by the incomplete beta function, and moderated variances.
#include "profiler/sample_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hloscope::profiler {
namespace {

constexpr double kTrimmedShare = 0.2;
constexpr double kMaxFreedom = 1e6;  // as good as the normal distribution
constexpr int kHalvings = 200;       // of an interval of doubles

// The continued fraction of the incomplete beta function, by Lentz's method.
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300, kPrecision = 1e-14;
  constexpr int kMaxTerms = 500;
  const auto away_from_zero = [](double v) { return std::abs(v) < kTiny ? kTiny : v; };
  double c = 1, d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= kMaxTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double step = 1;
    for (const double term : {even, odd}) {
      d = 1 / away_from_zero(1 + term * d);
      c = away_from_zero(1 + term / c);
      step = c * d;
      fraction *= step;
    }
    if (std::abs(step - 1) < kPrecision) break;
  }
  return fraction;
}

// The regularised incomplete beta function.
double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(a, b, x) / a;
  return 1 - front * BetaFraction(b, a, 1 - x) / b;
}

double NormalTail(double z) { return std::erfc(std::abs(z) / std::sqrt(2.0)); }

// Where a falling function of t takes the value `wanted`.
template <typename Falling>
double Solve(Falling tail_of, double wanted) {
  double low = 0, high = 1;
  while (tail_of(high) > wanted && high < 1e300) high *= 2;
  for (int i = 0; i < kHalvings && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (tail_of(middle) > wanted ? low : high) = middle;
  }
  return high;
}

// The first and second derivative of the logarithm of the gamma function: recurrence, then their
// asymptotic series.
double Digamma(double x) {
  double value = 0;
  for (; x < 8; ++x) value -= 1 / x;
  const double y = 1 / (x * x);
  return value + std::log(x) - 0.5 / x - y * (1.0 / 12 - y * (1.0 / 120 - y / 252));
}
double Trigamma(double x) {
  double value = 0;
  for (; x < 8; ++x) value += 1 / (x * x);
  const double y = 1 / (x * x);
  return value + 1 / x + y / 2 + y / x * (1.0 / 6 - y * (1.0 / 30 - y / 42));
}

}  // namespace

double QuantileOf(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  const auto at = values.begin() + static_cast<int64_t>(std::max(rank, 1.0)) - 1;
  std::ranges::nth_element(values, at);
  return *at;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Estimate TrimmedMean(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const size_t count = values.size();
  const auto cut = static_cast<size_t>(kTrimmedShare * static_cast<double>(count));
  const auto kept = std::span(values).subspan(cut, count - 2 * cut);
  const double kept_count = static_cast<double>(kept.size());
  Estimate out{.value = std::accumulate(kept.begin(), kept.end(), 0.0) / kept_count};
  if (count < kFewestSamples) return out;
  // The ends count as if they were the outermost that is kept.
  const double low = kept.front(), high = kept.back(), n = static_cast<double>(count);
  double mean = 0, squares = 0;
  for (const double value : values) mean += std::clamp(value, low, high) / n;
  for (const double value : values) squares += std::pow(std::clamp(value, low, high) - mean, 2);
  out.variance = squares / (kept_count * (kept_count - 1));
  out.freedom = kept_count - 1;
  return out;
}

double Autocorrelation(std::span<const double> values) {
  if (values.size() < kFewestSamples) return 0;
  const double middle = Median({values.begin(), values.end()});
  std::vector<double> away;
  for (const double value : values) away.push_back(std::abs(value - middle));
  const double reach = 3 * Median(away);
  double product = 0, square = 0, before = 0;
  for (const double value : values) {
    const double now = std::clamp(value - middle, -reach, reach);
    product += before * now;
    square += now * now;
    before = now;
  }
  return square > 0 ? product / square : 0;
}

double StudentTail(double t, double freedom) {
  if (freedom >= kMaxFreedom) return NormalTail(t);
  return IncompleteBeta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double StudentQuantile(double tail, double freedom) {
  return Solve([&](double t) { return StudentTail(t, freedom); }, tail);
}

double NormalOf(double t, double freedom) {
  const double tail = StudentTail(t, freedom);
  const double z = Solve(NormalTail, std::max(tail, 1e-300));
  return t < 0 ? -z : z;
}

Estimate CommonVariance(std::span<const Estimate> variances) {
  constexpr size_t kFewest = 5;
  std::vector<double> logs;
  double expected = 0;  // variance of the logarithms by the samples alone
  for (const Estimate& own : variances) {
    if (own.freedom <= 0 || own.variance <= 0) continue;
    const double half = own.freedom / 2;
    logs.push_back(std::log(own.variance) - Digamma(half) + std::log(half));
    expected += Trigamma(half);
  }
  if (logs.size() < kFewest) return {};
  const double count = static_cast<double>(logs.size());
  const double mean = std::accumulate(logs.begin(), logs.end(), 0.0) / count;
  double spread = -expected / count;
  for (const double log : logs) spread += std::pow(log - mean, 2) / (count - 1);
  Estimate out{.freedom = kMaxFreedom};
  if (spread > 1 / kMaxFreedom) out.freedom = 2 * Solve(Trigamma, spread);
  const double half = out.freedom / 2;
  out.variance = std::exp(mean + Digamma(half) - std::log(half));
  return out;
}

}  // namespace hloscope::profiler
