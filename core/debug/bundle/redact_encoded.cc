// Texts in encodings that hold a secret: what a run of characters decodes to, if that is text.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include "core/base/strings.h"
#include "core/debug/bundle/redact_rules.h"

namespace hloscope::debug {
namespace {

// A character stands for that many bits, or five of them for four bytes.
struct Encoding {
  constexpr Encoding(int bits_of_each, std::string_view alphabet) : bits(bits_of_each) {
    values.fill(-1);
    for (size_t k = 0; k < alphabet.size(); ++k) {
      values[static_cast<unsigned char>(alphabet[k])] = static_cast<int8_t>(k);
    }
  }
  int ValueOf(char c) const { return values[static_cast<unsigned char>(c)]; }

  int bits;  // 0: base 85
  std::array<int8_t, 256> values = {};
};

constexpr Encoding kEncodings[] = {
    {4, "0123456789abcdef"},
    {4, "0123456789ABCDEF"},
    {5, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"},
    {5, "abcdefghijklmnopqrstuvwxyz234567"},
    {5, "0123456789ABCDEFGHIJKLMNOPQRSTUV"},
    {5, "0123456789abcdefghijklmnopqrstuv"},
    {6, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"},
    {6, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"},
    {0, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"},
    {0, "!\"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstu"},
    {0, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"},
};

bool IsOfText(char c) { return (c >= ' ' && c <= '~') || c == '\t' || c == '\n' || c == '\r'; }

void AppendBits(std::string_view run, const Encoding& encoding, std::string& bytes) {
  uint32_t bits = 0;
  int count = 0;
  for (const char c : run) {
    bits = bits << encoding.bits | static_cast<uint32_t>(encoding.ValueOf(c));
    count += encoding.bits;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
}

void AppendBase85(std::string_view run, const Encoding& encoding, std::string& bytes) {
  constexpr size_t kGroup = 5;
  constexpr uint64_t kBase = 85;
  for (size_t at = 0; at < run.size(); at += kGroup) {
    uint64_t number = 0;
    for (size_t k = 0; k < kGroup; ++k) {
      // A group that is not whole goes on with the largest digit.
      const bool is_there = at + k < run.size();
      number = number * kBase +
               (is_there ? static_cast<uint64_t>(encoding.ValueOf(run[at + k])) : kBase - 1);
    }
    const size_t whole = std::min(kGroup, run.size() - at) - 1;
    for (size_t k = 0; k < whole; ++k) bytes += static_cast<char>(number >> (24 - 8 * k) & 0xFF);
  }
}

std::string DecodeRun(std::string_view run, const Encoding& encoding) {
  std::string bytes;
  encoding.bits == 0 ? AppendBase85(run, encoding, bytes) : AppendBits(run, encoding, bytes);
  return bytes;
}

// What the bytes say, if they are text, in UTF-8 or UTF-16; what follows it may be of the run's
// end.
std::optional<std::string> TextOfBytes(std::string bytes) {
  constexpr size_t kMin = 12;
  for (const size_t first : {size_t{0}, size_t{1}}) {
    bool is_wide = bytes.size() >= 2 * kMin;
    for (size_t k = first; is_wide && k < 2 * kMin; k += 2) is_wide = bytes[k] == '\0';
    if (!is_wide) continue;
    std::erase(bytes, '\0');
    break;
  }
  const auto end = std::ranges::find_if_not(bytes, IsOfText);
  bytes.erase(end, bytes.end());
  if (bytes.size() < kMin) return std::nullopt;
  return bytes;
}

// Whether a run may begin at `at`: what precedes it is of no run, or ends a name or a scope that
// has such characters too.
bool MayBeginRun(std::string_view text, size_t at, const Encoding& encoding) {
  constexpr size_t kLongestName = 64;
  constexpr std::string_view kEnds = " =<\"/";
  if (at == 0 || encoding.ValueOf(text[at - 1]) < 0) return true;
  if (!kEnds.contains(text[at - 1])) return false;
  size_t begin = at;
  while (begin > 0 && at - begin <= kLongestName && encoding.ValueOf(text[begin - 1]) >= 0) --begin;
  return at - begin <= kLongestName;
}

// The run at `at`, where it is text in that encoding.
std::optional<std::string> TextIn(std::string_view text, size_t at, const Encoding& encoding,
                                  size_t& length) {
  constexpr size_t kMin = 20, kSure = 11, kMost = size_t{1} << 20;
  if (!MayBeginRun(text, at, encoding)) return std::nullopt;
  size_t end = at;
  const auto extend = [&](size_t most) {
    while (end < text.size() && end - at < most && encoding.ValueOf(text[end]) >= 0) ++end;
    length = end - at;
    return DecodeRun(text.substr(at, length), encoding);
  };
  // Nearly all that are no text show it at once.
  const std::string first = extend(kMin);
  const bool may_be_text =
      length == kMin && std::ranges::all_of(std::string_view(first).substr(0, kSure),
                                            [](char c) { return IsOfText(c) || c == '\0'; });
  return may_be_text ? TextOfBytes(extend(kMost)) : std::nullopt;
}

bool IsBetweenNumbers(char c) { return c == ' ' || c == ',' || c == ':'; }

// The character whose number is written at `at`, and how long it is; -1: there is none.
int CharacterAt(std::string_view text, size_t at, int base, size_t& length) {
  const size_t mark = text.substr(at).starts_with("0x") ? 2 : 0;
  const size_t digits = RunLength(text, at + mark, IsAlphanumeric);
  const char* const begin = text.data() + at + mark;
  int code = -1;
  const auto [stop, error] = std::from_chars(begin, begin + digits, code, base);
  length = mark + digits;
  const bool is_number = error == std::errc() && stop == begin + digits &&
                         (base == 10 ? mark == 0 && digits <= 3 : digits == 2);
  constexpr int kLast = 0x7E;
  return is_number && code <= kLast && IsOfText(static_cast<char>(code)) ? code : -1;
}

// Whether a number of the same list precedes the one at `at`.
bool GoesOnList(std::string_view text, size_t at, int base) {
  size_t end = at;
  while (end > 0 && IsBetweenNumbers(text[end - 1])) --end;
  size_t begin = end, length = 0;
  while (begin > 0 && end - begin <= 4 && IsAlphanumeric(text[begin - 1])) --begin;
  return begin < end && end < at && CharacterAt(text, begin, base, length) >= 0;
}

// Characters by their numbers: "104, 111, 109", "0x68,0x6f", "68 6f 6d".
std::optional<std::string> TextInNumbers(std::string_view text, size_t at, int base,
                                         size_t& length) {
  if (GoesOnList(text, at, base)) return std::nullopt;
  std::string bytes;
  size_t end = at;
  for (size_t next = at, size = 0; next < text.size();) {
    const int code = CharacterAt(text, next, base, size);
    if (code < 0) break;
    bytes += static_cast<char>(code);
    end = next + size;
    next = end + RunLength(text, end, IsBetweenNumbers);
    if (next == end) break;
  }
  length = end - at;
  return TextOfBytes(std::move(bytes));
}

}  // namespace

RedactionHit FindEncoded(const Redactor& redactor, std::string_view text, size_t at) {
  constexpr size_t kMin = 20;
  if (text.size() - at < kMin || (at > 0 && IsAlphanumeric(text[at - 1]))) return {};
  size_t length = 0;
  for (const Encoding& encoding : kEncodings) {
    if (encoding.ValueOf(text[at]) < 0) continue;
    const auto inside = TextIn(text, at, encoding, length);
    if (inside && redactor.HasSecret(*inside)) return HitAt(text, at, length);
  }
  if (!IsWordStart(text, at)) return {};
  for (const int base : {10, 16}) {
    const auto inside = TextInNumbers(text, at, base, length);
    if (inside && redactor.HasSecret(*inside)) return HitAt(text, at, length);
  }
  return {};
}

}  // namespace hloscope::debug
