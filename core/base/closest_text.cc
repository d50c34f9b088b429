// Edit distance with a bound.
#include "core/base/closest_text.h"

#include <algorithm>

namespace hloscope {
namespace {
constexpr size_t kLongest = 64;  // longer words are not compared
}

ClosestText::ClosestText(std::string_view word)
    : word_(word), best_(word.size() > kLongest ? 0 : word.size() / 3 + 1) {}

// Two neighbouring characters in the wrong order count as one edit, as letters left out do.
size_t ClosestText::Distance(std::string_view candidate) {
  row_.resize(candidate.size() + 1);
  before_.assign(candidate.size() + 1, 0);
  for (size_t k = 0; k < row_.size(); ++k) row_[k] = k;
  for (size_t i = 0; i < word_.size(); ++i) {
    size_t diagonal = row_[0];  // of the row above, one to the left
    size_t far = 0;             // two rows above, two to the left
    size_t least = row_[0] = i + 1;
    for (size_t k = 0; k < candidate.size(); ++k) {
      const size_t above = row_[k + 1];
      size_t best =
          std::min({diagonal + (word_[i] == candidate[k] ? 0 : 1), row_[k] + 1, above + 1});
      const bool swapped =
          i > 0 && k > 0 && word_[i] == candidate[k - 1] && word_[i - 1] == candidate[k];
      if (swapped) best = std::min(best, far + 1);
      far = before_[k];
      before_[k] = diagonal;
      diagonal = above;
      row_[k + 1] = best;
      least = std::min(least, best);
    }
    before_.back() = diagonal;
    if (least >= best_) return best_;
  }
  return row_.back();
}

void ClosestText::Offer(std::string_view candidate) {
  if (best_ == 0 || candidate.empty() || candidate == word_) return;
  size_t shorter = std::min(candidate.size(), word_.size());
  size_t longer = std::max(candidate.size(), word_.size());
  if (longer - shorter >= best_) return;
  size_t distance = Distance(candidate);
  if (distance >= best_) return;
  best_ = distance;
  closest_ = candidate;
}

std::string ClosestText::Hint(std::string_view prefix) const {
  if (closest_.empty()) return {};
  return "did you mean `" + std::string(prefix) + std::string(closest_) + "`?";
}

}  // namespace hloscope
