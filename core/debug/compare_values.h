// Comparing values by XLA's rules (literal_comparison.cc), with the distance in representable
// numbers (ULP) beside them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

struct ElementMismatch {
  std::vector<int64_t> index;
  std::string actual, expected;  // as text
};

// How one array compares. Errors are maxima over the pairs of finite elements; where one side is
// NaN or the infinities differ, the element is counted apart and always mismatches.
struct LeafComparison {
  std::vector<int64_t> index;  // of the leaf in the result tuple
  hlo::Shape shape;
  int64_t elements = 0;  // compared
  int64_t mismatched = 0;
  double max_abs_error = 0;
  double max_rel_error = 0;  // infinite where zero was expected and something else is there
  uint64_t max_ulp = 0;
  int64_t nan_mismatched = 0;
  int64_t inf_mismatched = 0;
  std::optional<ElementMismatch> first_mismatch;
  ErrorBounds bounds;
  std::string problem;  // shapes or dynamic sizes differ: nothing was compared
  bool equal() const { return mismatched == 0 && problem.empty(); }
};

// Two arrays (or tokens) of the same element type and dimensions; layouts do not matter. Of dynamic
// arrays the live parts are compared, which must be of the same size.
LeafComparison CompareArrays(const hlo::Literal& actual, const hlo::Literal& expected,
                             const BoundsRequest& request);

// Leaf by leaf.
std::vector<LeafComparison> CompareLiterals(const hlo::Literal& actual,
                                            const hlo::Literal& expected,
                                            const BoundsRequest& request);

// Representable numbers between two elements of a float type (the larger component of complex
// ones); for integers their difference. 0 for two NaNs.
uint64_t UlpDistance(hlo::ElementType type, const std::byte* a, const std::byte* b);

// The literal with denormal floats as zeros of their sign, as XLA:CPU treats inputs and results.
hlo::Literal FlushDenormals(const hlo::Literal& literal);

}  // namespace hloscope::debug
