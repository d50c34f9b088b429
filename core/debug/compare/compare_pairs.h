// PairStatistics: how pairs of elements differ, gathered block by block and added up in order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/debug/compare/compare_values.h"
#include "core/hlo/element_type.h"

namespace hloscope::debug {

struct PairStatistics {
  // An element, by its place in the order compared.
  struct Place {
    int64_t at = -1;  // -1: none
    double relative = 0, absolute = 0;
  };
  int64_t mismatched = 0;
  double max_abs_error = 0, max_rel_error = 0;
  uint64_t max_ulp = 0;
  OneSided nan, inf;
  int64_t inf_opposite = 0;
  Place first, worst;
  bool other_bits = false;  // some pair has
  ErrorHistogram histogram;
  // The largest relative error among the elements of each absolute class.
  std::array<double, ErrorHistogram::kClasses> max_rel_by_abs = {};

  // Adds those of later elements.
  void Add(const PairStatistics& later);
};

// Compares `count` elements (of a complex type: both components of each), the first of which is
// number `begin`.
void ComparePairs(hlo::ElementType type, const std::byte* actual, const std::byte* expected,
                  int64_t count, const ErrorBounds& bounds, int64_t begin, PairStatistics& into);

// Representable numbers between two elements of a real type; 0 for two NaNs.
uint64_t PairDistance(hlo::ElementType type, const std::byte* a, const std::byte* b);

}  // namespace hloscope::debug
