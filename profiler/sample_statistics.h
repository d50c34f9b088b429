// Statistics of few, skewed samples: what a typical value is, how sure that is, and how far chance
// reaches.
#pragma once

#include <span>
#include <vector>

namespace hloscope::profiler {

// A value, the variance of its error, and how many degrees of freedom that variance has; 0: nothing
// is known of it.
struct Estimate {
  double value = 0, variance = 0, freedom = 0;
};

// Fewer samples say nothing of how they scatter.
inline constexpr size_t kFewestSamples = 6;

// The middle one (the mean of the two); 0 of none.
double Median(std::vector<double> values);
// What `share` of the values do not exceed (nearest rank); 0 of none.
double QuantileOf(std::vector<double> values, double share);

// The mean without the fifth at each end, and Yuen's variance of it: spikes move neither. Freedom 0
// below kFewestSamples.
Estimate TrimmedMean(std::vector<double> values);
// How much a value resembles the one before it, -1 to 1, outliers pulled in; 0 of fewer than
// kFewestSamples.
double Autocorrelation(std::span<const double> values);

// The probability that Student's t of this freedom lies further from 0 than `t`.
double StudentTail(double t, double freedom);
// The t with that probability, 0 < `tail` < 1: StudentTail of it is `tail`.
double StudentQuantile(double tail, double freedom);
// The standard normal z that is as improbable as `t`.
double NormalOf(double t, double freedom);

// What many variances have in common: each is worth `freedom` more samples of `variance` (empirical
// Bayes, Smyth 2004). Freedom 0 where there are fewer than five or they have nothing in common.
Estimate CommonVariance(std::span<const Estimate> variances);

}  // namespace hloscope::profiler
