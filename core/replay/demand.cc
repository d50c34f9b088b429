// Intervals and the merging of demands.
#include "core/replay/demand.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"

namespace hloscope::replay {
namespace {

std::string Text(const Interval& interval) {
  return fmt::format("[{}, {}]", ShortestText(interval.low), ShortestText(interval.high));
}

// Of two intervals without a common element the narrower, the first if neither is.
Interval Tighter(const Interval& a, const Interval& b) { return b.Width() < a.Width() ? b : a; }

std::string TightenRange(Demand& demand, const Interval& with) {
  const Interval both = Intersect(demand.range, with);
  if (!both.empty()) {
    demand.range = both;
    return {};
  }
  std::string conflict = fmt::format("{} and {}", Text(demand.range), Text(with));
  demand.range = Tighter(demand.range, with);
  return conflict;
}

std::string TightenColumns(Demand& demand, const Demand& with) {
  if (with.columns.empty()) return {};
  if (demand.columns.empty()) {
    demand.columns = with.columns;
    demand.inner = with.inner;
    return {};
  }
  if (demand.columns.size() != with.columns.size() || demand.inner != with.inner) {
    return "index vectors of two forms";
  }
  for (size_t c = 0; c < demand.columns.size(); ++c) {
    IndexColumn& mine = demand.columns[c];
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

Demand Demand::Unordered() const {
  Demand loose = *this;
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

std::string Tighten(Demand& demand, const Demand& with) {
  std::string conflict = TightenRange(demand, with.range);
  if (std::string columns = TightenColumns(demand, with); !columns.empty()) conflict = columns;
  demand.nonzero |= with.nonzero;
  demand.sorted |= with.sorted;
  demand.distinct |= with.distinct;
  if (with.structure != Structure::kNone) {
    const bool other = demand.structure != Structure::kNone &&
                       (demand.structure != with.structure || demand.total != with.total);
    // Positive definite matrices have a dominant diagonal here; of sizes the smaller total holds.
    if (other && demand.structure == with.structure) {
      demand.total = std::min(demand.total, with.total);
    } else if (other) {
      demand.structure = std::min(demand.structure, with.structure);
      if (demand.structure > Structure::kDominantDiagonal) conflict = "two kinds of sizes";
    } else {
      demand.structure = with.structure;
      demand.total = with.total;
    }
  }
  const bool narrower = with.passes != hlo::ElementType::kInvalid &&
                        (demand.passes == hlo::ElementType::kInvalid ||
                         hlo::BitWidth(with.passes) < hlo::BitWidth(demand.passes));
  if (narrower) demand.passes = with.passes;
  return conflict;
}

}  // namespace hloscope::replay
