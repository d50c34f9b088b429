// Patterns of error texts: gaps are as short as the text behind them allows.
#include "core/dump/errors/error_pattern.h"

#include <algorithm>

namespace hloscope::dump {
namespace {

constexpr size_t kMaxInLine = 2'000, kMaxBetween = 4'000, kMaxKept = 400;  // bytes
constexpr std::string_view kLines = "...";

// The name of the gap that begins at text[0]; empty: "{" is a brace like any other.
std::string_view GapAt(std::string_view text) {
  if (!text.starts_with('{')) return {};
  const size_t begin = text.starts_with("{=") ? 2 : 1;
  size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz.", begin);
  if (end == std::string_view::npos || end == begin || text[end] != '}') return {};
  return text.substr(1, end - 1);
}

// The length of the word that the text begins with, without punctuation that ends a clause:
// "37.25GiB" of "37.25GiB. [Op:…]".
size_t WordLength(std::string_view text) {
  size_t end = std::min(text.find_first_of(" \t\r\n"), text.size());
  while (end > 0 && std::string_view(".,;:'\"").contains(text[end - 1])) --end;
  return end;
}

// Where a literal that ends with a line end begins, of which `text` lacks that line end alone.
size_t FindAtEnd(std::string_view literal, std::string_view text) {
  if (!literal.ends_with('\n') || text.size() > kMaxInLine) return std::string_view::npos;
  literal.remove_suffix(1);
  return text.ends_with(literal) ? text.size() - literal.size() : std::string_view::npos;
}

}  // namespace

ErrorPattern::ErrorPattern(std::string_view pattern) {
  parts_.emplace_back();
  while (!pattern.empty()) {
    if (std::string_view name = GapAt(pattern); !name.empty()) {
      const bool word = name.starts_with('=');
      parts_.push_back({{}, std::string(name.substr(word ? 1 : 0)), word});
      pattern.remove_prefix(name.size() + 2);
    } else {
      parts_.back().literal += pattern.front();
      pattern.remove_prefix(1);
    }
  }
}

std::optional<Captures> ErrorPattern::Match(std::string_view text) const {
  if (!text.starts_with(first())) return std::nullopt;
  Captures captures;
  size_t at = first().size();
  for (size_t k = 1; k < parts_.size(); ++k) {
    const Part& part = parts_[k];
    const bool lines = part.name == kLines;
    std::string_view rest = text.substr(at, lines ? kMaxBetween : kMaxInLine);
    size_t end;
    if (part.is_word) {
      end = WordLength(rest);
      if (end == 0 || !rest.substr(end).starts_with(part.literal)) return std::nullopt;
    } else if (part.literal.empty()) {
      end = std::min(rest.find('\n'), rest.size());
    } else {
      end = rest.find(part.literal);
      if (end == std::string_view::npos) end = FindAtEnd(part.literal, text.substr(at));
      if (end == std::string_view::npos) return std::nullopt;
      if (!lines && rest.substr(0, end).find('\n') != std::string_view::npos) return std::nullopt;
    }
    if (!lines) {
      const std::string_view value = rest.substr(0, std::min(end, kMaxKept));
      auto [known, is_new] = captures.try_emplace(part.name, value);
      if (!is_new && known->second != value) return std::nullopt;
    }
    at = std::min(at + end + part.literal.size(), text.size());
  }
  return captures;
}

std::string FillIn(std::string_view text, const Captures& captures) {
  std::string out;
  while (!text.empty()) {
    if (std::string_view name = GapAt(text); !name.empty()) {
      if (auto at = captures.find(name); at != captures.end()) out += at->second;
      text.remove_prefix(name.size() + 2);
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

}  // namespace hloscope::dump
