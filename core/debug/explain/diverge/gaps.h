// Gaps: the elements in which results differ, and how far something else moves just those.
#pragma once

#include <cstdint>
#include <vector>

#include "core/debug/compare/compare_values.h"
#include "core/debug/run/run_results.h"

namespace hloscope::debug {

class Gaps {
 public:
  struct Element {
    size_t leaf = 0;
    uint64_t at = 0;                     // its number in the array
    double distance = 0, magnitude = 0;  // between both sides; of what is expected
    bool is_choice = false;              // a number that is no float: an index, a comparison
  };

  // Of the elements that differ beyond the bounds; where none does, of all that differ. A large
  // number of them is sampled evenly.
  Gaps(const Leaves& actual, const Leaves& expected, const BoundsRequest& bounds);

  const std::vector<Element>& elements() const { return elements_; }
  // NaN or an infinity is on one side only.
  bool has_other_class() const;
  double largest() const;

  // How far each element is from `base` in `moved`; infinite where it is of another class there, 0
  // where it is not known.
  std::vector<double> MovesIn(const Leaves& moved, const Leaves& base) const;
  // The root mean square of all distances in the leaves that have such elements, over those that
  // are finite: of the gaps themselves, and of what something else moves.
  double mean_square() const { return mean_square_; }
  double MeanSquareIn(const Leaves& moved, const Leaves& base) const;

 private:
  std::vector<Element> elements_;
  std::vector<bool> differs_;  // by leaf
  double mean_square_ = 0;
};

// True if `moved`, what the reference becomes where it rounds otherwise than in `expected`, shows
// where the gaps come from: it moves the results by about as much, neither far less nor far more.
bool MovesByAsMuch(const Gaps& gaps, const Leaves& moved, const Leaves& expected);

}  // namespace hloscope::debug
