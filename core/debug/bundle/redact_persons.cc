// Numbers of persons: of social security, of cards and accounts, of telephones.
#include <algorithm>
#include <string>

#include "core/base/strings.h"
#include "core/debug/bundle/redact_rules.h"
#include "core/debug/bundle/secret_names.h"

namespace hloscope::debug {
namespace {

// Whether a number may begin or end next to that character: not within another or a name.
bool IsApart(char c) { return !IsAlphanumeric(c) && c != '_' && c != '.' && c != '-'; }

bool EndsApart(std::string_view text, size_t end) {
  if (end == text.size()) return true;
  const bool ends_sentence =
      text[end] == '.' && (end + 1 == text.size() || !IsDigit(text[end + 1]));
  return IsApart(text[end]) || ends_sentence;
}

// The length of the text at `at` in the form of `pattern`, where 9 is any digit and ' ' is a blank
// or a dash, the same in all places; 0: it has another form.
size_t FormLength(std::string_view text, size_t at, std::string_view pattern) {
  if (text.size() - at < pattern.size()) return 0;
  char separator = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = text[at + i];
    if (pattern[i] == '9') {
      if (!IsDigit(c)) return 0;
      continue;
    }
    const bool is_separator = pattern[i] == ' ' && (c == ' ' || c == '-');
    if (is_separator ? separator != 0 && separator != c : c != pattern[i]) return 0;
    if (is_separator) separator = c;
  }
  return EndsApart(text, at + pattern.size()) ? pattern.size() : 0;
}

// The check digit of numbers of cards.
bool HasCheckDigit(std::string_view text) {
  int sum = 0, place = 0;
  for (size_t i = text.size(); i > 0; --i) {
    if (!IsDigit(text[i - 1])) continue;
    const int digit = text[i - 1] - '0';
    const int doubled = digit > 4 ? 2 * digit - 9 : 2 * digit;
    sum += place++ % 2 == 1 ? doubled : digit;
  }
  return sum % 10 == 0;
}

size_t CardLength(std::string_view text, size_t at) {
  if (text[at] < '3' || text[at] > '6') return 0;
  for (const std::string_view form : {"9999 9999 9999 9999", "9999 999999 99999"}) {
    const size_t length = FormLength(text, at, form);
    if (length != 0 && HasCheckDigit(text.substr(at, length))) return length;
  }
  const size_t digits = RunLength(text, at, IsDigit);
  const bool is_card = (digits == 15 || digits == 16) && EndsApart(text, at + digits);
  return is_card && HasCheckDigit(text.substr(at, digits)) ? digits : 0;
}

// +49 170 1234567, +1 (415) 555-0100
size_t InternationalLength(std::string_view text, size_t at) {
  constexpr std::string_view kWithin = " ()-.";
  constexpr size_t kMinDigits = 9, kMaxDigits = 15;
  size_t end = at + 1, last = at, digits = 0;
  while (end < text.size() && (IsDigit(text[end]) || kWithin.find(text[end]) != text.npos)) {
    const bool is_run = !IsDigit(text[end]) && !IsDigit(text[end - 1]) && text[end] != '(';
    if (is_run && text[end - 1] != ')') break;
    if (IsDigit(text[end])) {
      last = end + 1;
      ++digits;
    }
    ++end;
  }
  const bool is_one = digits >= kMinDigits && digits <= kMaxDigits && EndsApart(text, last);
  return is_one && IsDigit(text[at + 1]) ? last - at : 0;
}

// DE89 3704 0044 0532 0130 00, whose check digits fit.
size_t AccountLength(std::string_view text, size_t at) {
  constexpr size_t kMin = 15, kMax = 34;
  if (!IsUpper(text[at]) || at + 4 > text.size() || !IsUpper(text[at + 1])) return 0;
  std::string plain;
  size_t last = at;
  for (size_t end = at; end < text.size() && plain.size() <= kMax; ++end) {
    const char c = text[end];
    if (c == ' ' && end - last == 0 && plain.size() % 4 == 0) {
      ++last;
      continue;
    }
    if (!IsUpper(c) && !IsDigit(c)) break;
    plain += c;
    last = end + 1;
  }
  while (last > at && text[last - 1] == ' ') --last;
  if (plain.size() < kMin || plain.size() > kMax || !IsDigit(plain[2]) || !IsDigit(plain[3])) {
    return 0;
  }
  constexpr int kCheck = 97, kHundred = 100, kTen = 10;
  int rest = 0;
  for (size_t i = 0; i < plain.size(); ++i) {
    const char c = plain[(i + 4) % plain.size()];
    rest = IsDigit(c) ? rest * kTen + (c - '0') : rest * kHundred + (c - 'A' + kTen);
    rest %= kCheck;
  }
  return rest == 1 && EndsApart(text, last) ? last - at : 0;
}

// A number behind "tel." and the like: 0170/1234567, 555 0100.
size_t TelephoneLength(std::string_view text, size_t at) {
  constexpr std::string_view kNames[] = {"tel", "phone", "telephone", "mobile", "fax", "cell"};
  constexpr std::string_view kBetween = ".:= ", kWithin = " /-()";
  constexpr size_t kMinDigits = 6;
  size_t end = at;
  while (end > 0 && kBetween.contains(text[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && IsAlphanumeric(text[begin - 1])) --begin;
  const std::string name = AsciiStrToLower(text.substr(begin, end - begin));
  if (end == at || std::ranges::find(kNames, name) == std::end(kNames)) return 0;
  size_t digits = 0, last = at;
  for (size_t i = at; i < text.size() && (IsDigit(text[i]) || kWithin.contains(text[i])); ++i) {
    if (!IsDigit(text[i])) continue;
    ++digits;
    last = i + 1;
  }
  return digits >= kMinDigits ? last - at : 0;
}

}  // namespace

RedactionHit FindPerson(const Redactor& /*redactor*/, std::string_view text, size_t at) {
  const char c = text[at];
  if (!IsDigit(c) && !IsUpper(c) && c != '+' && c != '(') return {};
  if (at > 0 && !IsApart(text[at - 1])) return {};
  if (IsUpper(c)) return HitAt(text, at, AccountLength(text, at));
  if (const size_t length = TelephoneLength(text, at); length != 0) {
    return HitAt(text, at, length);
  }
  if (c == '+') return HitAt(text, at, InternationalLength(text, at));
  if (c == '(') return HitAt(text, at, FormLength(text, at, "(999) 999-9999"));
  for (const std::string_view form : {"999-99-9999", "999-999-9999"}) {
    if (const size_t length = FormLength(text, at, form); length != 0) {
      return HitAt(text, at, length);
    }
  }
  return HitAt(text, at, CardLength(text, at));
}

}  // namespace hloscope::debug
