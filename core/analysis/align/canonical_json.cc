// Written from the tokens in two steps: in the order of the text, then objects whose members are
// not sorted are put in order. There is no tree and no recursion, and no number goes through a
// double.
#include "core/analysis/align/canonical_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <vector>

#include "core/base/checked.h"
#include "core/base/json.h"
#include "core/base/json_cursor.h"
#include "core/base/text.h"

namespace hloscope::analysis {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The leading digits of `text`, which are removed from it.
std::string_view TakeDigits(std::string_view& text) {
  size_t count = 0;
  while (count < text.size() && IsDigit(text[count])) ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

// A number as it is spelled.
struct Number {
  bool is_negative = false;
  std::string_view whole, fraction, exponent;  // of digits; exponent with its sign
};

std::optional<Number> ParseNumber(std::string_view word) {
  Number number;
  if (word.starts_with('-')) {
    number.is_negative = true;
    word.remove_prefix(1);
  }
  number.whole = TakeDigits(word);
  if (number.whole.empty() || (number.whole.size() > 1 && number.whole[0] == '0')) {
    return std::nullopt;
  }
  if (word.starts_with('.')) {
    word.remove_prefix(1);
    number.fraction = TakeDigits(word);
    if (number.fraction.empty()) return std::nullopt;
  }
  if (word.starts_with('e') || word.starts_with('E')) {
    word.remove_prefix(1);
    if (word.starts_with('+')) {
      word.remove_prefix(1);
      if (word.starts_with('-')) return std::nullopt;
    }
    number.exponent = word;
    if (word.starts_with('-')) word.remove_prefix(1);
    if (TakeDigits(word).empty()) return std::nullopt;
  }
  return word.empty() ? std::optional(number) : std::nullopt;
}

// `digits` × 10^`exponent` as JavaScript writes it: without an exponent where that is short.
std::string DecimalText(std::string_view digits, int64_t exponent) {
  constexpr int64_t kMaxZeros = 21, kMaxLeadingZeros = 6;
  const auto count = static_cast<int64_t>(digits.size());
  const int64_t point = count + exponent;  // digits before the point
  if (exponent >= 0 && exponent <= kMaxZeros) {
    return std::string(digits) + std::string(static_cast<size_t>(exponent), '0');
  }
  if (exponent < 0 && point > 0) {
    const auto at = static_cast<size_t>(point);
    return fmt::format("{}.{}", digits.substr(0, at), digits.substr(at));
  }
  if (exponent < 0 && point > -kMaxLeadingZeros) {
    return "0." + std::string(static_cast<size_t>(-point), '0') + std::string(digits);
  }
  const std::string_view rest = digits.substr(1);
  return fmt::format("{}{}{}e{}", digits[0], rest.empty() ? "" : ".", rest, point - 1);
}

// The exact value of a number; nullopt where the word is none.
std::optional<std::string> CanonicalNumber(std::string_view word) {
  const std::optional<Number> number = ParseNumber(word);
  if (!number) return std::nullopt;
  std::string digits = std::string(number->whole) + std::string(number->fraction);
  const size_t first = digits.find_first_not_of('0'), last = digits.find_last_not_of('0');
  if (first == std::string::npos) return number->is_negative ? "-0" : "0";
  int64_t exponent = 0;
  const char* end = number->exponent.data() + number->exponent.size();
  if (!number->exponent.empty() &&
      std::from_chars(number->exponent.data(), end, exponent).ec != std::errc()) {
    return std::string(word);  // beyond all meaning
  }
  const auto zeros = static_cast<int64_t>(digits.size() - 1 - last);
  const auto shift = CheckedAdd(exponent, zeros - static_cast<int64_t>(number->fraction.size()));
  const auto count = static_cast<int64_t>(last - first + 1);
  if (!shift || !CheckedAdd(*shift, count)) return std::string(word);
  return (number->is_negative ? "-" : "") +
         DecimalText(std::string_view(digits).substr(first, last - first + 1), *shift);
}

std::optional<uint32_t> HexAt(std::string_view raw, size_t at) {
  if (at + 4 > raw.size()) return std::nullopt;
  uint32_t code = 0;
  const char* const begin = raw.data() + at;
  const auto [end, error] = std::from_chars(begin, begin + 4, code, 16);
  if (error != std::errc() || end != begin + 4) return std::nullopt;
  return code;
}

// Whether JSON allows what stands between the quotes of a string.
bool IsSoundString(std::string_view raw) {
  for (size_t i = 0; i < raw.size(); ++i) {
    if (static_cast<unsigned char>(raw[i]) < 0x20) return false;
    if (raw[i] != '\\') continue;
    if (++i == raw.size()) return false;
    if (std::string_view("\"\\/bfnrt").find(raw[i]) != std::string_view::npos) continue;
    const std::optional<uint32_t> code = raw[i] == 'u' ? HexAt(raw, i + 1) : std::nullopt;
    if (!code) return false;
    i += 4;
    if (*code < 0xD800 || *code > 0xDFFF) continue;
    const auto low = raw.substr(i + 1, 2) == "\\u" ? HexAt(raw, i + 3) : std::nullopt;
    if (*code > 0xDBFF || !low || *low < 0xDC00 || *low > 0xDFFF) return false;
    i += 6;
  }
  return true;
}

class CanonicalWriter {
 public:
  explicit CanonicalWriter(std::string_view text) : cursor_(text, 0) {}

  std::optional<std::string> Run() {
    if (!WriteAll()) return std::nullopt;
    if (unsorted_.empty()) return std::move(out_);
    return Sorted();
  }

 private:
  // In `out_`: where a member begins, its key ends and its value ends.
  struct Member {
    size_t begin = 0, key_end = 0, end = 0;
  };
  // An object or array that is open.
  struct Frame {
    char close = ']';
    size_t begin = 0;         // of its bracket in `out_`
    size_t first_member = 0;  // in `open_members_`
  };
  // An object whose members are to be sorted.
  struct Object {
    size_t begin = 0, end = 0;                 // its brackets in `out_`
    size_t first_member = 0, last_member = 0;  // in `members_`, which has them in order
  };
  // A part of `out_` that is still to be copied.
  struct Piece {
    size_t begin = 0, end = 0;
    bool needs_comma = false;
  };

  bool WriteAll() {
    while (true) {
      if (cursor_.Peek() == '{' || cursor_.Peek() == '[') {
        Open(cursor_.Peek());
        if (!cursor_.Consume(frames_.back().close)) {
          if (!WriteKey()) return false;
          continue;
        }
        Close();
      } else if (!WriteScalar()) {
        return false;
      }
      // A value has ended, and with it maybe what it is in.
      while (!frames_.empty() && cursor_.Consume(frames_.back().close)) Close();
      if (frames_.empty()) return cursor_.AtEnd();
      if (!cursor_.Consume(',')) return false;
      EndMember();
      out_ += ',';
      if (!WriteKey()) return false;
    }
  }

  void Open(char bracket) {
    cursor_.Consume(bracket);
    frames_.push_back({bracket == '{' ? '}' : ']', out_.size(), open_members_.size()});
    out_ += bracket;
  }

  // The key of the next member, if this is an object.
  bool WriteKey() {
    if (frames_.back().close != '}') return true;
    const size_t begin = out_.size();
    if (!WriteString()) return false;
    open_members_.push_back({begin, out_.size(), 0});
    if (!cursor_.Consume(':')) return false;
    out_ += ':';
    return true;
  }

  void EndMember() {
    if (frames_.back().close == '}') open_members_.back().end = out_.size();
  }

  void Close() {
    const Frame frame = frames_.back();
    const auto first = open_members_.begin() + static_cast<ptrdiff_t>(frame.first_member);
    if (first != open_members_.end() && frame.close == '}') {
      EndMember();
      const auto by_key = [&](const Member& a, const Member& b) { return Key(a) < Key(b); };
      if (!std::is_sorted(first, open_members_.end(), by_key)) {
        std::stable_sort(first, open_members_.end(), by_key);
        const size_t position = members_.size();
        members_.insert(members_.end(), first, open_members_.end());
        unsorted_.push_back({frame.begin, out_.size(), position, members_.size()});
      }
      open_members_.erase(first, open_members_.end());
    }
    out_ += frame.close;
    frames_.pop_back();
  }

  std::string_view Key(const Member& member) const {
    return std::string_view(out_).substr(member.begin, member.key_end - member.begin);
  }

  bool WriteString() {
    const std::optional<std::string_view> raw = cursor_.ReadRawString();
    if (!raw || !IsSoundString(*raw)) return false;
    out_ += JsonString(UnescapeJson(*raw));
    return true;
  }

  bool WriteScalar() {
    if (cursor_.Peek() == '"') return WriteString();
    const std::optional<std::string_view> word = cursor_.ReadWord();
    if (!word) return false;
    if (*word == "true" || *word == "false" || *word == "null") {
      out_ += *word;
      return true;
    }
    const std::optional<std::string> number = CanonicalNumber(*word);
    if (number) out_ += *number;
    return number.has_value();
  }

  std::string Sorted() {
    std::ranges::sort(unsorted_, {}, &Object::begin);
    std::string sorted;
    sorted.reserve(out_.size());
    std::vector<Piece> pieces = {{0, out_.size()}};
    while (!pieces.empty()) {
      const Piece piece = pieces.back();
      pieces.pop_back();
      if (piece.needs_comma) sorted += ',';
      const auto object = std::ranges::lower_bound(unsorted_, piece.begin, {}, &Object::begin);
      if (object == unsorted_.end() || object->begin >= piece.end) {
        sorted.append(out_, piece.begin, piece.end - piece.begin);
        continue;
      }
      sorted.append(out_, piece.begin, object->begin + 1 - piece.begin);
      pieces.push_back({object->end, piece.end});
      for (size_t m = object->last_member; m-- > object->first_member;) {
        pieces.push_back({members_[m].begin, members_[m].end, m != object->first_member});
      }
    }
    return sorted;
  }

  JsonCursor cursor_;
  std::string out_;
  std::vector<Frame> frames_;
  std::vector<Member> open_members_, members_;
  std::vector<Object> unsorted_;
};

}  // namespace

std::optional<std::string> CanonicalJson(std::string_view text) {
  if (!IsUtf8(text)) return std::nullopt;
  return CanonicalWriter(text).Run();
}

}  // namespace hloscope::analysis
