// LineReader: the lines of a text, with their numbers.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace hloscope::dump {

class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  // The next line without its end; false after the last.
  bool Next(std::string_view& line) {
    if (rest_.empty()) return false;
    size_t end = rest_.find('\n');
    line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    ++number_;
    return true;
  }
  int32_t number() const { return number_; }  // of the line read last, from 1
  std::string_view rest() const { return rest_; }
  // Goes on behind the first `bytes` of rest(), which hold `lines` line ends.
  void Skip(size_t bytes, int32_t lines) {
    rest_.remove_prefix(bytes);
    number_ += lines;
  }

 private:
  std::string_view rest_;
  int32_t number_ = 0;
};

inline std::string_view TrimStart(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text;
}
inline std::string_view Trim(std::string_view text) {
  text = TrimStart(text);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// The decimal number at the start of `text`, which is then taken off; nullopt if there is none or
// it does not fit.
inline std::optional<int64_t> TakeNumber(std::string_view& text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

// Takes `word` off the start of `text`; false if it does not stand there.
inline bool TakeWord(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// What stands between the first `before` and the next `after` in `text`; empty if either is
// absent.
inline std::string_view Between(std::string_view text, std::string_view before,
                                std::string_view after) {
  size_t begin = text.find(before);
  if (begin == std::string_view::npos) return {};
  begin += before.size();
  size_t end = text.find(after, begin);
  return end == std::string_view::npos ? std::string_view() : text.substr(begin, end - begin);
}

}  // namespace hloscope::dump
