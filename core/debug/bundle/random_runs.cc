// Keys by the look of their characters.
#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "core/base/strings.h"
#include "core/debug/bundle/redact_rules.h"
#include "core/debug/bundle/secret_names.h"

namespace hloscope::debug {
namespace {

// The run without the widths of types, as in "ConvertF32ToS8".
std::string WithoutTypes(std::string_view run) {
  constexpr std::string_view kTypes = "SUFCsufc";
  constexpr std::string_view kWidths[] = {"128", "64", "32", "16", "8"};
  std::string out;
  for (size_t i = 0; i < run.size();) {
    const size_t digits = RunLength(run, i, IsDigit);
    const bool is_width = !out.empty() && kTypes.find(out.back()) != kTypes.npos &&
                          std::ranges::find(kWidths, run.substr(i, digits)) != std::end(kWidths);
    out += is_width ? "" : run.substr(i, std::max<size_t>(digits, 1));
    i += std::max<size_t>(digits, 1);
  }
  return out;
}

// The run without what TensorFlow adds to the names of functions and clusters that XLA compiles,
// as in "inference_f_12__XlaMustCompile_true_config_proto_135…_executor_type_111…_"; of such a name
// also without the parts that are numbers.
std::string WithoutAttributes(std::string_view run) {
  constexpr std::string_view kNames[] = {"XlaMustCompile",      "XlaCompiledKernel",
                                         "XlaHasReferenceVars", "XlaNumConstantArgs",
                                         "XlaNumResourceArgs",  "XlaSeparateCompiledGradients"};
  if (std::ranges::none_of(kNames, [&](auto name) { return run.contains(name); }))
    return std::string(run);
  std::string out;
  for (size_t begin = 0; begin <= run.size();) {
    const std::string_view part =
        run.substr(begin, std::min(run.find('_', begin), run.size()) - begin);
    begin += part.size() + 1;
    const bool is_number = std::ranges::all_of(part, IsDigit);
    if (is_number || std::ranges::find(kNames, part) != std::end(kNames)) continue;
    out += out.empty() ? part : "_" + std::string(part);
  }
  return out;
}

// Changes between digits and letters, but for the x of 16x8.
size_t ChangesOfKind(std::string_view run) {
  size_t changes = 0;
  for (size_t i = 1; i < run.size(); ++i) {
    const bool is_product = run[i] == 'x' && i + 1 < run.size() && IsDigit(run[i - 1]);
    if (is_product && IsDigit(run[i + 1])) {
      ++i;
      continue;
    }
    changes += IsDigit(run[i]) != IsDigit(run[i - 1]) ? 1 : 0;
  }
  return changes;
}

// "Conv2dRelu" changes its kinds where a word begins; a random run also elsewhere, and has words of
// two letters: how often.
std::ptrdiff_t UnnaturalChanges(std::string_view run) {
  std::ptrdiff_t changes = 0;
  for (size_t i = 1; i < run.size(); ++i) {
    const bool odd =
        (IsDigit(run[i - 1]) && IsLower(run[i])) || (IsUpper(run[i - 1]) && IsDigit(run[i]));
    const bool is_short = i >= 2 && IsUpper(run[i - 2]) && IsLower(run[i - 1]) && IsUpper(run[i]);
    changes += odd || is_short ? 1 : 0;
  }
  return changes;
}

// A run of letters and digits that no person wrote: hexadecimal, of all three kinds, or one in
// which digits are everywhere.
bool LooksRandom(std::string_view whole) {
  const std::string plain = WithoutTypes(WithoutAttributes(whole));
  const std::string_view run = plain;
  constexpr size_t kMin = 20, kMinSure = 32, kMax = 256;
  // Every how many characters a short run, and a long one, changes at least.
  const size_t change = run.size() < 30 ? 3 : 5;
  constexpr std::ptrdiff_t kOfEach = 3;
  if (run.size() < kMin || run.size() > kMax) return false;
  const auto is_hex = [](char c) {
    return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  if (whole.size() >= kMinSure && std::ranges::all_of(whole, is_hex)) {
    return !std::ranges::all_of(whole, IsDigit);
  }
  const bool is_alphanumeric = std::ranges::all_of(run, IsAlphanumeric);
  if (is_alphanumeric && ChangesOfKind(run) * change >= run.size()) return true;
  if (std::ranges::count_if(run, IsUpper) < kOfEach ||
      std::ranges::count_if(run, IsLower) < kOfEach ||
      std::ranges::count_if(run, IsDigit) < kOfEach) {
    return false;
  }
  return run.size() >= kMinSure || UnnaturalChanges(run) > kOfEach;
}

// A long run of base 64, or of several such with dots between, in which all kinds of characters
// follow one another: in "Layer12/SelfAttention0" a kind goes on for a word.
bool LooksEncoded(std::string_view run, size_t per_hundred = 24) {
  constexpr size_t kMin = 32;
  constexpr std::ptrdiff_t kOfEach = 3;
  const auto few = [&](auto test) { return std::ranges::count_if(run, test) < kOfEach; };
  if (run.size() < kMin || few(IsUpper) || few(IsLower) || few(IsDigit)) return false;
  size_t changes = 0;
  for (size_t i = 1; i < run.size(); ++i) {
    const char a = run[i - 1], b = run[i];
    changes += IsDigit(a) ? IsLower(b) || IsUpper(b)
                          : (IsUpper(a) && IsDigit(b)) || (IsLower(a) && IsUpper(b));
  }
  return changes * 100 >= per_hundred * run.size();
}

// A short part and a long one that no person wrote, with a dot between: patX1Y2Z3.0f1e2d…
size_t PairLength(std::string_view text, size_t at) {
  constexpr size_t kMinFirst = 8, kMinSecond = 32;
  const size_t first = RunLength(text, at, IsAlphanumeric);
  if (first < kMinFirst || !text.substr(at + first).starts_with('.')) return 0;
  const size_t second = RunLength(text, at + first + 1, IsAlphanumeric);
  const bool is_pair =
      second >= kMinSecond && LooksRandom(text.substr(at + first + 1, second)) &&
      (std::ranges::any_of(text.substr(at, first), IsDigit) || text.substr(at).starts_with("pat"));
  return is_pair ? first + 1 + second : 0;
}

// A token whose service says in its name what it is, with _ or - between: sb_secret_X1y2…
size_t SelfNamedLength(std::string_view text, size_t at) {
  constexpr size_t kMaxWords = 3, kMin = 16;
  // A word, and how many unnatural changes must follow it; names of programs have the latter too.
  constexpr std::pair<std::string_view, std::ptrdiff_t> kWords[] = {
      {"secret", 1}, {"token", 1}, {"apikey", 1}, {"live", 1}, {"pat", 1},  {"private", 1},
      {"key", 3},    {"test", 3},  {"prod", 3},   {"auth", 3}, {"priv", 3}, {"access", 3}};
  size_t begin = at;
  std::ptrdiff_t least = 0;
  for (size_t i = 0; i < kMaxWords; ++i) {
    const std::string_view word = text.substr(begin, RunLength(text, begin, IsAlphanumeric));
    for (const auto& [name, changes] : kWords) {
      if (word == name) least = changes;
    }
    begin += word.size();
    if (begin >= text.size() || (text[begin] != '_' && text[begin] != '-')) return 0;
    ++begin;
    const size_t length = least > 0 ? RunLength(text, begin, IsNameCharacter) : 0;
    const std::string rest = WithoutTypes(text.substr(begin, length));
    const bool is_lower = std::ranges::none_of(rest, IsUpper);
    if (length >= kMin &&
        (is_lower ? ChangesOfKind(rest) * 3 >= length : UnnaturalChanges(rest) >= least)) {
      return begin + length - at;
    }
  }
  return 0;
}

// Base 64 of bytes that fill no group: it ends in =.
bool IsPadded(std::string_view run) {
  constexpr size_t kMin = 40;
  return run.size() >= kMin && run.ends_with('=') && run.size() % 4 == 0 &&
         std::ranges::any_of(run, IsUpper) && std::ranges::any_of(run, IsLower) &&
         std::ranges::any_of(run, IsDigit);
}

// Three parts of base 64, as the tokens of Discord: the number of a user, a time, a signature.
size_t DottedLength(std::string_view text, size_t at) {
  constexpr std::array<std::pair<size_t, size_t>, 3> kParts = {{{23, 28}, {6, 7}, {27, 43}}};
  size_t end = at;
  for (const auto& [least, most] : kParts) {
    if (end > at && !text.substr(end++).starts_with('.')) return 0;
    const size_t length = RunLength(text, end, IsNameCharacter);
    if (length < least || length > most) return 0;
    end += length;
  }
  return std::ranges::any_of(text.substr(at, end - at), IsDigit) ? end - at : 0;
}

// The token of a bot of Telegram: 123456789:AA…
size_t BotLength(std::string_view text, size_t at) {
  constexpr size_t kMinDigits = 8, kMaxDigits = 10, kMin = 30;
  const size_t digits = RunLength(text, at, IsDigit);
  if (digits < kMinDigits || digits > kMaxDigits) return 0;
  if (!text.substr(at + digits).starts_with(":AA")) return 0;
  const size_t length = RunLength(text, at + digits + 1, IsNameCharacter);
  return length < kMin ? 0 : digits + 1 + length;
}

// 40 characters of base 64 with a slash or a plus among them, as secret keys of AWS are.
bool LooksLikeSecretKey(std::string_view run) {
  constexpr size_t kLength = 40;
  if (run.size() != kLength || run.find_first_of("/+") == std::string_view::npos) return false;
  constexpr std::ptrdiff_t kOfEach = 3;
  return std::ranges::count_if(run, IsUpper) >= kOfEach &&
         std::ranges::count_if(run, IsLower) >= kOfEach &&
         std::ranges::count_if(run, IsDigit) >= kOfEach;
}

// 550e8400-e29b-41d4-a716-446655440000
size_t UuidLength(std::string_view text, size_t at) {
  constexpr size_t kLength = 36;
  if (text.size() - at < kLength) return 0;
  for (size_t i = 0; i < kLength; ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const char c = text[at + i];
    if (dash ? c != '-' : std::isxdigit(static_cast<unsigned char>(c)) == 0) return 0;
  }
  return at + kLength < text.size() && IsAlphanumeric(text[at + kLength]) ? 0 : kLength;
}

// RandomLength of a text that is cut off where no more is looked at.
size_t RandomLengthWithin(std::string_view text, size_t at) {
  if (const size_t length = UuidLength(text, at); length != 0) return length;
  const bool mangled = at >= 1 && text[at - 1] == '_' && text.substr(at).starts_with('Z');
  if (mangled) return 0;
  const size_t wide = RunLength(text, at, IsBase64Character);
  if (LooksLikeSecretKey(text.substr(at, wide))) return wide;
  const size_t widest =
      RunLength(text, at, [](char c) { return IsBase64Character(c) || IsTokenCharacter(c); });
  if (LooksEncoded(text.substr(at, widest))) return widest;
  // The same as a scope among others.
  constexpr size_t kSecretKey = 40, kPerHundred = 15;
  const bool is_scope = widest > kSecretKey && text[at + kSecretKey] == '/';
  if (is_scope && LooksEncoded(text.substr(at, kSecretKey), kPerHundred)) return kSecretKey;
  // A scope may follow what ends in =.
  const std::string_view key = text.substr(at, wide);
  const size_t body = std::min(key.find('='), wide);
  const size_t padded = body + RunLength(key, body, [](char c) { return c == '='; });
  if (IsPadded(key.substr(0, padded))) return padded;
  if (const size_t length = PairLength(text, at); length != 0) return length;
  if (const size_t length = SelfNamedLength(text, at); length != 0) return length;
  if (const size_t length = DottedLength(text, at); length != 0) return length;
  if (const size_t length = BotLength(text, at); length != 0) return length;
  for (const bool dashes : {false, true}) {
    const size_t run = RunLength(
        text, at, [&](char c) { return IsKeyCharacter(c) || (dashes && (c == '_' || c == '-')); });
    if (LooksRandom(text.substr(at, run))) return run;
  }
  return 0;
}

}  // namespace

bool IsNameCharacter(char c) {
  return IsAlphanumeric(c) || c == '_' || c == '-' || static_cast<unsigned char>(c) >= 0x80;
}
bool IsTokenCharacter(char c) { return IsNameCharacter(c) || c == '.'; }
bool IsKeyCharacter(char c) { return IsAlphanumeric(c) || c == '+' || c == '='; }
bool IsBase64Character(char c) { return IsKeyCharacter(c) || c == '/'; }

size_t RandomLength(std::string_view text, size_t at) {
  // The starts within a long run see a part of it only, so that all together stay linear.
  constexpr size_t kMaxWithin = 256;
  const auto goes_on = [](char c) { return IsBase64Character(c) || IsTokenCharacter(c); };
  const bool is_within = at > 0 && goes_on(text[at - 1]);
  const std::string_view seen = is_within ? text.substr(0, at + kMaxWithin) : text;
  const size_t length = RandomLengthWithin(seen, at);
  const bool is_cut = length > 0 && at + length == seen.size();
  return is_cut ? length + RunLength(text, at + length, goes_on) : length;
}

}  // namespace hloscope::debug
