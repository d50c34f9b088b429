// RoundingBudget: how far each result of a kernel may be from what its instruction means, by what
// the rounding of its own arithmetic moves there.
#pragma once

#include <cstddef>
#include <vector>

#include "core/debug/compare/compare_values.h"
#include "core/hlo/literal.h"

namespace hloscope::debug {

// Arrays of a result in order; those of `rounded` come from the same kernel with each rounding to a
// side drawn by chance (core/ptx/switches/roundings.h).
class RoundingBudget {
 public:
  RoundingBudget(const std::vector<hlo::Literal>& actual,
                 const std::vector<std::vector<hlo::Literal>>& rounded);

  // `actual` against `expected`, where an element agrees that is one representable number away, or
  // no further than kTimes the largest that a draw moved it. Integers are moved by flips of
  // comparisons alone.
  LeafComparison Compare(size_t array, const hlo::Literal& actual,
                         const hlo::Literal& expected) const;

 private:
  static constexpr double kTimes = 8;
  std::vector<std::vector<double>> spread_;  // by array and element
};

// Elements of two runs that differ: how many are nearer to `meant` in the first, and in the second.
struct Nearer {
  int64_t first = 0, second = 0;
  // How far apart the two are by chance: elements near to one another, as those of a row, may all
  // come from one sum.
  double chance = 0;
};
Nearer NearerTo(const std::vector<hlo::Literal>& meant, const std::vector<hlo::Literal>& first,
                const std::vector<hlo::Literal>& second);

}  // namespace hloscope::debug
