// ExpansionBudget: how far computations may be put in place of their calls. n computations that
// each call the next one twice are 2^n of them.
#pragma once

#include <cstddef>

#include "core/hlo/module.h"

namespace hloscope::hlo {

class ExpansionBudget {
 public:
  // Instructions that are written once more, and such that are steps once more, which is cheaper.
  static constexpr size_t kCopies = 20'000, kSteps = 100'000;

  /// As many as the module has, and `more`.
  ExpansionBudget(const Module& module, size_t more) : left_(module.instructions().size() + more) {}

  /// Whether `instructions` more are left; then they are taken.
  bool Take(size_t instructions) {
    if (instructions > left_) return false;
    left_ -= instructions;
    return true;
  }

 private:
  size_t left_;
};

}  // namespace hloscope::hlo
