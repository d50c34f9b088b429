// Comparing values by XLA's rules (literal_comparison.cc), with the distance in representable
// numbers (ULP) beside them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/analysis/denormals.h"
#include "core/hlo/literal.h"

namespace hloscope::debug {

// An element mismatches only if it exceeds both bounds. Integers and pred are always exact.
struct ErrorBounds {
  double absolute = 0;
  double relative = 0;
  uint64_t ulp = 0;  // floats of eight bits and less without given bounds: this many steps agree
};

// Bounds asked for; what is absent follows the element type.
struct BoundsRequest {
  std::optional<double> absolute, relative;
};
ErrorBounds BoundsFor(hlo::ElementType type, const BoundsRequest& request);

// Those of a value in double precision that was computed in f32 (hlo::SinglePrecision).
BoundsRequest BoundsOfSingle(const BoundsRequest& request);

struct ElementMismatch {
  std::vector<int64_t> index;
  std::string actual, expected;  // as text
};

// Elements (components of complex ones) where only one side is so.
struct OneSided {
  int64_t actual = 0, expected = 0;
  int64_t total() const { return actual + expected; }
};

// How many elements (components of complex ones) have errors of which size. XLA's own buckets
// begin at some of the bounds.
struct ErrorHistogram {
  static constexpr std::array<double, 14> kBounds = {1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6,
                                                     1e-5,  1e-4,  1e-3,  1e-2, 0.1,  1,    10};
  // Class 0 counts those without error, class k those in [kBounds[k - 2], kBounds[k - 1]), class 1
  // those below the first bound and the last one all from the last bound on, infinite errors too.
  static constexpr size_t kClasses = kBounds.size() + 2;
  static size_t ClassOf(double error);
  std::array<int64_t, kClasses> absolute = {}, relative = {};
};

// Bounds under which two arrays would have been equal.
struct BoundPair {
  double absolute = 0, relative = 0;
};

// How one array compares. Errors are maxima over the pairs of finite elements; where one side is
// NaN or the infinities differ, the element is counted apart and always mismatches.
struct LeafComparison {
  std::vector<int64_t> index;  // of the leaf in the result tuple
  hlo::Shape shape;
  int64_t elements = 0;  // compared
  int64_t mismatched = 0;
  int64_t other_leaves = 0;  // of the worst of several: how many others differ
  double max_abs_error = 0;
  double max_rel_error = 0;  // infinite where zero was expected and something else is there
  uint64_t max_ulp = 0;
  int64_t nan_mismatched = 0;
  int64_t inf_mismatched = 0;
  OneSided nan, inf;                              // the same by side
  std::optional<ElementMismatch> first_mismatch;  // in row-major order
  std::optional<ElementMismatch> worst_mismatch;  // of the largest relative error, by XLA's order
  ErrorHistogram histogram;
  // Where something mismatches: pairs rounded up to one digit, none looser than another in both;
  // empty where NaN or an infinity stands alone.
  std::vector<BoundPair> passing_bounds;
  ErrorBounds bounds;
  std::string problem;     // shapes or dynamic sizes differ: nothing was compared
  bool same_bits = false;  // every bit that was compared is the same, signs of zero and NaNs too
  bool equal() const { return mismatched == 0 && problem.empty(); }
};

// Two arrays (or tokens) of the same element type and dimensions; layouts do not matter. Of dynamic
// arrays the live parts are compared, which must be of the same size. On all CPUs, with the same
// result for any number of them.
LeafComparison CompareArrays(const hlo::Literal& actual, const hlo::Literal& expected,
                             const BoundsRequest& request);

// Leaf by leaf.
std::vector<LeafComparison> CompareLiterals(const hlo::Literal& actual,
                                            const hlo::Literal& expected,
                                            const BoundsRequest& request);

// Representable numbers between two elements of a float type (the larger component of complex
// ones); for integers their difference. 0 for two NaNs.
uint64_t UlpDistance(hlo::ElementType type, const std::byte* a, const std::byte* b);

}  // namespace hloscope::debug
