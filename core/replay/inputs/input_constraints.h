// InputConstraints: what the uses of a value ask of its elements, so that made-up inputs mean
// something.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/hlo/element_type.h"

namespace hloscope::replay {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Elements that must not be zero are no nearer to it.
inline constexpr double kClear = 0.01;

// Closed; infinite where nothing is asked.
struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();

  static Interval Only(double value) { return {value, value}; }
  bool bounded() const;
  bool empty() const { return !(low <= high); }
  bool Contains(double value) const { return low <= value && value <= high; }
  bool Inside(const Interval& other) const { return other.low <= low && high <= other.high; }
  double Width() const { return low == high ? 0 : high - low; }
  bool operator==(const Interval&) const = default;
};
Interval Intersect(const Interval& a, const Interval& b);
Interval Union(const Interval& a, const Interval& b);

// A value that is neither an interval nor an order but a whole.
enum class Structure : uint8_t {
  kNone,
  kPositiveDefinite,  // matrices in the last two dimensions, for cholesky
  kDominantDiagonal,  // matrices that are well-conditioned triangular whichever half is read
  kGroupSizes,        // rows of the last dimension add up to at most `total`
  kOffsets,           // element i is i * `total`: blocks beside one another
  kLiveSize,          // the size of a dynamic dimension of bound `total`
};

// One component of index vectors: slot * step with slot in [0, slots).
struct IndexColumn {
  int64_t slots = 1;
  int64_t step = 1;
  bool operator==(const IndexColumn&) const = default;
};

struct InputConstraints {
  Interval range;
  bool nonzero = false;
  bool sorted = false;    // ascending in row-major order; index vectors among one another
  bool distinct = false;  // no element (index vector) twice
  Structure structure = Structure::kNone;
  int64_t total = 0;
  // Index vectors: element e is component (e / inner) % columns.size() of one; empty: none.
  std::vector<IndexColumn> columns;
  int64_t inner = 1;
  // The narrowest type the elements pass on their way; kInvalid: their own.
  hlo::ElementType passes = hlo::ElementType::kInvalid;

  bool empty() const { return *this == InputConstraints(); }
  // The same without what only holds while elements keep their places.
  InputConstraints Unordered() const;
  bool operator==(const InputConstraints&) const = default;
};

// The elements that all of the intervals have, which are in order of preference: those that exclude
// what was taken before them are left out, and `conflict` says so.
Interval IntersectAll(std::span<const Interval> intervals, std::string& conflict);
// The narrower first; of equals the lower.
bool IsPreferred(const Interval& a, const Interval& b);

// Adds what another use asks, but for its range. Where the two exclude one another one stays,
// whichever came first, and the answer says which; empty: all could be kept.
std::string Tighten(InputConstraints& constraints, const InputConstraints& with);

}  // namespace hloscope::replay
