// EditJudge: which elements of an array are wrong, as the search for an edit counts them.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/backends/gpusim/edit_trials.h"

namespace hloscope::replay {

// What is there and what is meant, element by element.
class EditJudge {
 public:
  // `target` must outlive it.
  explicit EditJudge(const EditTarget& target);

  size_t width() const { return width_; }
  size_t count() const { return target_.expected.size() / width_; }
  double ValueAt(const std::byte* array, size_t i) const;
  double Meant(size_t i) const { return ValueAt(target_.expected.data(), i); }

  // One of the kernel as it is: what is far below the largest is none, unless some are infinite,
  // as where nothing is stored.
  void AddError(double error) { largest_ = std::max(largest_, error); }

  double ErrorOf(const std::byte* array, size_t i) const;
  bool IsRight(const std::byte* array, size_t i) const;

 private:
  const EditTarget& target_;
  const size_t width_;
  bool is_float_;
  double ulp_, largest_ = 0;
};

}  // namespace hloscope::replay
