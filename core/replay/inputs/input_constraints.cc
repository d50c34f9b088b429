#include "core/replay/inputs/input_constraints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/base/counted.h"
#include "core/base/text.h"

namespace hloscope::replay {
namespace {

std::string Text(const Interval& interval) {
  return fmt::format("[{}, {}]", ShortestText(interval.low), ShortestText(interval.high));
}

std::string TightenColumns(InputConstraints& constraints, const InputConstraints& with) {
  if (with.columns.empty()) return {};
  if (constraints.columns.empty()) {
    constraints.columns = with.columns;
    constraints.inner = with.inner;
    return {};
  }
  if (constraints.columns.size() != with.columns.size() || constraints.inner != with.inner) {
    const auto form = [](const InputConstraints& c) {
      return std::pair(c.columns.size(), c.inner);
    };
    if (form(with) < form(constraints)) {
      constraints.columns = with.columns;
      constraints.inner = with.inner;
    }
    return fmt::format("index vectors of two forms; those of {} are satisfied",
                       Counted(constraints.columns.size(), "component"));
  }
  for (size_t c = 0; c < constraints.columns.size(); ++c) {
    IndexColumn& mine = constraints.columns[c];
    const IndexColumn& other = with.columns[c];
    const int64_t last = std::min((mine.slots - 1) * mine.step, (other.slots - 1) * other.step);
    mine.step = std::max(mine.step, other.step);
    mine.slots = last / mine.step + 1;
  }
  return {};
}

}  // namespace

bool Interval::bounded() const { return std::isfinite(low) && std::isfinite(high); }

Interval Intersect(const Interval& a, const Interval& b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

Interval Union(const Interval& a, const Interval& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

InputConstraints InputConstraints::Unordered() const {
  InputConstraints loose = *this;
  loose.sorted = false;
  loose.structure = Structure::kNone;
  loose.total = 0;
  loose.columns.clear();
  loose.inner = 1;
  for (const IndexColumn& column : columns) {
    const auto last = static_cast<double>((column.slots - 1) * column.step);
    const Interval both = Intersect(loose.range, {0, last});
    if (!both.empty()) loose.range = both;
  }
  // Vectors that differ need not differ in every component.
  if (columns.size() > 1) loose.distinct = false;
  return loose;
}

bool IsPreferred(const Interval& a, const Interval& b) {
  return std::tuple(a.Width(), a.low) < std::tuple(b.Width(), b.low);
}

Interval IntersectAll(std::span<const Interval> intervals, std::string& conflict) {
  Interval all;
  for (const Interval& each : intervals) {
    const Interval both = Intersect(all, each);
    if (both.empty()) {
      conflict = fmt::format("{0} and {1}; {0} is satisfied", Text(all), Text(each));
    } else {
      all = both;
    }
  }
  return all;
}

std::string Tighten(InputConstraints& constraints, const InputConstraints& with) {
  std::string conflict = TightenColumns(constraints, with);
  constraints.nonzero |= with.nonzero;
  constraints.sorted |= with.sorted;
  constraints.distinct |= with.distinct;
  if (with.structure != Structure::kNone) {
    const bool other = constraints.structure != Structure::kNone &&
                       (constraints.structure != with.structure || constraints.total != with.total);
    // Positive definite matrices have a dominant diagonal here; of sizes the smaller total holds.
    if (other && constraints.structure == with.structure) {
      constraints.total = std::min(constraints.total, with.total);
    } else if (other) {
      if (with.structure < constraints.structure) {
        constraints.structure = with.structure;
        constraints.total = with.total;
      }
      if (constraints.structure > Structure::kDominantDiagonal) {
        conflict = "two kinds of sizes; one is satisfied";
      }
    } else {
      constraints.structure = with.structure;
      constraints.total = with.total;
    }
  }
  const bool narrower = with.passes != hlo::ElementType::kInvalid &&
                        (constraints.passes == hlo::ElementType::kInvalid ||
                         hlo::BitWidth(with.passes) < hlo::BitWidth(constraints.passes));
  if (narrower) constraints.passes = with.passes;
  return conflict;
}

}  // namespace hloscope::replay
