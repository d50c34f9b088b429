#include "core/debug/explain/kernels/rounding_budget.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "core/eval/numbers/wide.h"

namespace hloscope::debug {

using hlo::Literal;

namespace {

size_t WidthOf(const Literal& array) {
  return static_cast<size_t>(hlo::StorageBytes(array.shape().element_type()));
}

eval::Complex At(const Literal& array, size_t i) {
  eval::Complex value;
  eval::LoadAs(array.shape().element_type(), array.bytes().data() + i * WidthOf(array), &value, 1);
  return value;
}

// Draws may leave an element where it is by chance: it may be as far off as all but one in a
// hundred are moved at most.
void RaiseToUsual(std::vector<double>& spread) {
  std::vector<double> finite;
  std::ranges::copy_if(spread, std::back_inserter(finite), [](double s) { return s < INFINITY; });
  if (finite.empty()) return;
  const auto usual = finite.begin() + static_cast<ptrdiff_t>(finite.size() * 99 / 100);
  std::ranges::nth_element(finite, usual);
  for (double& each : spread) each = std::max(each, *usual);
}

}  // namespace

RoundingBudget::RoundingBudget(const std::vector<Literal>& actual,
                               const std::vector<std::vector<Literal>>& rounded) {
  for (size_t a = 0; a < actual.size(); ++a) {
    const size_t width = WidthOf(actual[a]);
    const hlo::ElementType type = actual[a].shape().element_type();
    const bool is_narrow = hlo::IsFloat(type) && width < 4;
    std::vector<double>& spread =
        spread_.emplace_back(width == 0 ? 0 : actual[a].bytes().size() / width);
    for (size_t i = 0; i < spread.size(); ++i) {
      const eval::Complex value = At(actual[a], i);
      for (const std::vector<Literal>& draw : rounded) {
        const std::byte* const moved_to = draw[a].bytes().data() + i * width;
        const std::byte* const from = actual[a].bytes().data() + i * width;
        if (std::memcmp(moved_to, from, width) == 0) continue;
        // The last conversion to a narrow type makes a whole step of any move; one is allowed
        // anyway.
        if (is_narrow && UlpDistance(type, moved_to, from) <= 1) continue;
        const double moved = std::abs(At(draw[a], i) - value);
        // Beyond the range of the type in one draw: anything may be there.
        spread[i] = std::max(spread[i], std::isnan(moved) ? INFINITY : moved);
      }
    }
    RaiseToUsual(spread);
  }
}

LeafComparison RoundingBudget::Compare(size_t array, const Literal& actual,
                                       const Literal& expected) const {
  const hlo::ElementType type = actual.shape().element_type();
  const size_t width = WidthOf(actual);
  std::vector<std::byte> settled(actual.bytes().begin(), actual.bytes().end());
  for (size_t i = 0; i < spread_[array].size(); ++i) {
    const std::byte* const a = actual.bytes().data() + i * width;
    const std::byte* const e = expected.bytes().data() + i * width;
    if (std::memcmp(a, e, width) == 0) continue;
    const double spread = spread_[array][i], off = std::abs(At(actual, i) - At(expected, i));
    const bool is_next =
        (hlo::IsFloat(type) || hlo::IsComplex(type)) && UlpDistance(type, a, e) <= 1;
    if (is_next || off <= kTimes * spread || std::isinf(spread))
      std::memcpy(settled.data() + i * width, e, width);
  }
  return CompareArrays(Literal::Dense(actual.shape(), std::move(settled)), expected,
                       {.absolute = 0, .relative = 0});
}

Nearer NearerTo(const std::vector<Literal>& meant, const std::vector<Literal>& first,
                const std::vector<Literal>& second) {
  Nearer nearer;
  double squares = 0;
  int groups = 0;
  for (size_t a = 0; a < meant.size(); ++a) {
    const size_t width = WidthOf(meant[a]);
    const size_t count = width == 0 ? 0 : meant[a].bytes().size() / width;
    constexpr size_t kGroups = 256;
    const size_t group = (count + kGroups - 1) / kGroups;
    for (size_t begin = 0; begin < count; begin += group) {
      int64_t of_first = 0, of_second = 0;
      for (size_t i = begin; i < std::min(count, begin + group); ++i) {
        const eval::Complex m = At(meant[a], i);
        const double x = std::abs(At(first[a], i) - m), y = std::abs(At(second[a], i) - m);
        of_first += x < y ? 1 : 0;
        of_second += y < x ? 1 : 0;
      }
      groups += of_first + of_second > 0 ? 1 : 0;
      nearer.first += of_first;
      nearer.second += of_second;
      const auto apart = static_cast<double>(of_first - of_second);
      // Elements by themselves are as far apart as their number's root.
      squares += std::max(apart * apart, static_cast<double>(of_first + of_second));
    }
  }
  // Four times the chance is asked for (explain_kernel.cc): more than few groups can ever be apart.
  // Of less than 28, three quarters of what is possible have to do.
  constexpr double kFewGroups = 28;
  const double few = std::min(1.0, std::sqrt(groups / kFewGroups));
  nearer.chance = std::max(std::sqrt(static_cast<double>(nearer.first + nearer.second)),
                           few * std::sqrt(squares));
  return nearer;
}

}  // namespace hloscope::debug
