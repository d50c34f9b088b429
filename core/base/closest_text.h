// The word meant by a misspelt one, for hints.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hloscope {

// Remembers the candidate nearest to `word` by single-character edits, if it is near enough to be
// what was meant. Cheap enough for some thousand candidates.
class ClosestText {
 public:
  explicit ClosestText(std::string_view word);
  void Offer(std::string_view candidate);
  // Empty: none is near enough, or it is the word itself.
  std::string_view closest() const { return closest_; }
  // "did you mean `x`?", or nothing.
  std::string Hint(std::string_view prefix = "") const;

 private:
  size_t Distance(std::string_view candidate);  // or more than best_
  std::string_view word_;
  std::string_view closest_;
  size_t best_;
  std::vector<size_t> row_, before_;
};

}  // namespace hloscope
