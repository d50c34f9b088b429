// Edit distance with a bound.
#include "core/base/closest_text.h"

#include <algorithm>

namespace hloscope {
namespace {
constexpr size_t kLongest = 64;  // longer words are not compared
}

ClosestText::ClosestText(std::string_view word)
    : word_(word), best_(word.size() > kLongest ? 0 : word.size() / 3 + 1) {}

size_t ClosestText::Distance(std::string_view candidate) {
  row_.resize(candidate.size() + 1);
  for (size_t k = 0; k < row_.size(); ++k) row_[k] = k;
  for (size_t i = 0; i < word_.size(); ++i) {
    size_t diagonal = row_[0];
    size_t least = row_[0] = i + 1;
    for (size_t k = 0; k < candidate.size(); ++k) {
      size_t replace = diagonal + (word_[i] == candidate[k] ? 0 : 1);
      diagonal = row_[k + 1];
      row_[k + 1] = std::min({replace, row_[k] + 1, diagonal + 1});
      least = std::min(least, row_[k + 1]);
    }
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
