#include "core/base/json_cursor.h"

#include <charconv>
#include <cstring>
#include <vector>

#include "core/base/text.h"

namespace hloscope {
namespace {

// The four hexadecimal digits at `at`, or nullopt.
std::optional<uint32_t> Hex4(std::string_view raw, size_t at) {
  if (at + 4 > raw.size()) return std::nullopt;
  uint32_t value = 0;
  const char* end = raw.data() + at + 4;
  auto [stopped, error] = std::from_chars(raw.data() + at, end, value, 16);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

// Appends the character of the escape \uXXXX at `at`, two of them for a surrogate pair; how many
// bytes that took.
size_t AppendUnicode(std::string_view raw, size_t at, std::string& out) {
  std::optional<uint32_t> code = Hex4(raw, at + 2);
  if (!code) {
    out += raw[at];
    return 1;
  }
  size_t length = 6;
  if (*code >= 0xD800 && *code < 0xDC00 && raw.substr(at + 6, 2) == "\\u") {
    if (std::optional<uint32_t> low = Hex4(raw, at + 8); low && *low >= 0xDC00 && *low < 0xE000) {
      code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
      length = 12;
    }
  }
  out += EncodeUtf8(*code);
  return length;
}

}  // namespace

std::optional<std::string_view> JsonCursor::ReadRawString() {
  if (!Consume('"')) return std::nullopt;
  const size_t begin = position_;
  while (position_ < text_.size()) {
    const char* from = text_.data() + position_;
    const auto* quote = static_cast<const char*>(std::memchr(from, '"', text_.size() - position_));
    if (quote == nullptr) break;
    position_ = static_cast<size_t>(quote - text_.data()) + 1;
    size_t backslashes = 0;
    while (position_ - 2 - backslashes >= begin && position_ - 2 - backslashes < text_.size() &&
           text_[position_ - 2 - backslashes] == '\\') {
      ++backslashes;
    }
    if (backslashes % 2 == 0) return text_.substr(begin, position_ - 1 - begin);
  }
  position_ = text_.size();
  failed_ = true;
  return std::nullopt;
}

std::optional<std::string_view> JsonCursor::ReadWord() {
  const size_t begin = position();
  while (position_ < text_.size() && !IsSpace(text_[position_]) &&
         std::strchr(",:[]{}\"", text_[position_]) == nullptr) {
    ++position_;
  }
  if (position_ == begin) return std::nullopt;
  return text_.substr(begin, position_ - begin);
}

std::optional<std::string_view> JsonCursor::SkipValue() {
  const size_t begin = position();
  std::vector<char> open;
  do {
    const char c = Peek();
    bool sound = true;
    if (c == '{' || c == '[') {
      sound = static_cast<int64_t>(open.size()) < nesting_;
      open.push_back(c == '{' ? '}' : ']');
      ++position_;
    } else if (c == '}' || c == ']') {
      sound = !open.empty() && open.back() == c;
      if (sound) open.pop_back();
      ++position_;
    } else if (c == ',' || c == ':') {
      sound = !open.empty();
      ++position_;
    } else {
      sound = c == '"' ? ReadRawString().has_value() : c != '\0' && ReadWord().has_value();
    }
    if (!sound) {
      failed_ = true;
      return std::nullopt;
    }
  } while (!open.empty());
  return text_.substr(begin, position_ - begin);
}

std::optional<std::string_view> JsonCursor::NextKey(bool& is_first) {
  if (Consume('}')) return std::nullopt;
  if (!is_first && !Consume(',')) {
    failed_ = true;
    return std::nullopt;
  }
  is_first = false;
  std::optional<std::string_view> key = ReadRawString();
  if (!key || !Consume(':')) {
    failed_ = true;
    return std::nullopt;
  }
  return key;
}

std::string UnescapeJson(std::string_view raw) {
  std::string out;
  out.reserve(raw.size());
  for (size_t i = 0; i < raw.size();) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      out += raw[i++];
      continue;
    }
    if (raw[i + 1] == 'u') {
      i += AppendUnicode(raw, i, out);
      continue;
    }
    static constexpr std::string_view kWritten = "bfnrt", kMeant = "\b\f\n\r\t";
    const size_t known = kWritten.find(raw[i + 1]);
    out += known == std::string_view::npos ? raw[i + 1] : kMeant[known];
    i += 2;
  }
  return out;
}

}  // namespace hloscope
