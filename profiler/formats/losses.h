// Losses: counts what an importer has to leave out, under the words that name it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profiler/profile.h"

namespace hloscope::profiler {

class Losses {
 public:
  // `first()` is the first case in words; asked for once.
  template <typename First>
  void Count(std::string_view what, First first) {
    for (Loss& loss : losses_) {
      if (loss.what != what) continue;
      ++loss.count;
      return;
    }
    losses_.push_back({std::string(what), 1, first()});
  }
  std::vector<Loss> Take() { return std::move(losses_); }

 private:
  std::vector<Loss> losses_;
};

}  // namespace hloscope::profiler
