// ErrorPattern: literal text with named gaps, as the rows of error_texts.def write it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hloscope::dump {

using Captures = std::map<std::string, std::string, std::less<>>;

class ErrorPattern {
 public:
  explicit ErrorPattern(std::string_view pattern);

  // What every match begins with.
  std::string_view first() const { return parts_.front().literal; }
  // The gaps where the pattern begins at text[0]; nullopt: it does not fit. A gap that stands twice
  // must hold the same text.
  std::optional<Captures> Match(std::string_view text) const;

 private:
  struct Part {
    std::string literal;   // what comes behind the gap
    std::string name;      // of the gap before it; empty: there is none
    bool is_word = false;  // the gap holds one word
  };
  std::vector<Part> parts_;
};

// `text` with {name} replaced by what was captured; a name that was not stays away.
std::string FillIn(std::string_view text, const Captures& captures);

}  // namespace hloscope::dump
