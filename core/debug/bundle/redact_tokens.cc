// Keys and tokens, by their form and by the names before them; values of the environment.
#include <algorithm>
#include <cctype>
#include <initializer_list>

#include "core/base/strings.h"
#include "core/debug/bundle/redact_rules.h"
#include "core/debug/bundle/secret_names.h"

namespace hloscope::debug {
namespace {

bool IsQuote(char c) { return c == '"' || c == '\'' || c == '`'; }

struct TokenForm {
  std::string_view prefix;
  size_t min_length;  // after the prefix
};
constexpr TokenForm kTokenForms[] = {
#define TOKEN_PREFIX(prefix, min_length) {prefix, min_length},
#include "core/debug/bundle/token_prefixes.def"
#undef TOKEN_PREFIX
};

bool EndsValue(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0 || IsQuote(c) || c == ',' || c == ';' ||
         c == '}' || c == ')' || c == ']' || c == '\\' || c == '<' || c == '>';
}

size_t SkipSpaces(std::string_view text, size_t at) {
  return at + std::min<size_t>(RunLength(text, at, [](char c) { return c == ' '; }), 4);
}

// Where the value after the separator begins; 0: there is no separator.
size_t AfterSeparator(std::string_view text, size_t at, const ValueForm& form) {
  const auto is_close = [](char c) { return IsQuote(c) || c == '\\'; };
  at += std::min<size_t>(RunLength(text, at, is_close), 4);
  if (form.after_spaces) at = SkipSpaces(text, at);
  const std::string_view rest = text.substr(at);
  const bool is_colon = form.after_colon && rest.starts_with(':') && !rest.starts_with("::") &&
                        !rest.starts_with("://");
  const bool is_double = rest.starts_with("==");
  if (is_double && (!form.after_spaces || rest.size() < 3 || rest[2] == ' ')) return 0;
  if (!is_colon && !rest.starts_with('=')) return 0;
  at += is_double || rest.starts_with(":=") || rest.starts_with("=>") ? 2 : 1;
  return is_colon || form.after_spaces ? SkipSpaces(text, at) : at;
}

// The length of a value without quotes. An escaped space is part of it, and so is what follows a
// comma or a semicolon at once, unless that names something else.
size_t BareLength(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size()) {
    end += RunLength(text, end, [](char c) { return !EndsValue(c); });
    const std::string_view rest = text.substr(end);
    if (rest.starts_with("\\ ")) {
      end += 2;
      continue;
    }
    if (end == at || !(rest.starts_with(',') || rest.starts_with(';'))) break;
    const size_t more = RunLength(text, end + 1, [](char c) { return !EndsValue(c); });
    if (more == 0 || rest.substr(1, more).find_first_of("=:") != std::string_view::npos) break;
    end += 1 + more;
  }
  return end - at;
}

// The prefix of a string literal of Python: b, f, r, u or two of them, before a quote.
size_t LiteralPrefix(std::string_view text, size_t at) {
  constexpr size_t kMax = 2;
  const size_t length = RunLength(text, at, [](char c) {
    return std::string_view("bfruBFRU").find(c) != std::string_view::npos;
  });
  return length <= kMax && at + length < text.size() && IsQuote(text[at + length]) ? length : 0;
}

// The text of an XML element whose name ends at `end`: <password>X</password>.
RedactionHit FindElementText(std::string_view text, size_t at, size_t end) {
  constexpr size_t kMin = 3;
  const bool is_element = at > 0 && (text[at - 1] == '<' || text[at - 1] == ':' ||
                                     text.substr(0, at).ends_with("&lt;"));
  if (!is_element) return {};
  size_t begin = end;
  for (const std::string_view close : {std::string_view(">"), std::string_view("&gt;")}) {
    if (text.substr(end).starts_with(close)) begin = end + close.size();
  }
  if (begin == end) return {};
  const size_t length = std::min(text.substr(begin).find_first_of("<\n"), text.size() - begin);
  const size_t escaped = std::min(text.substr(begin, length).find("&lt;"), length);
  return escaped < kMin ? RedactionHit() : HitAt(text, begin, escaped);
}

bool IsScheme(std::string_view word) {
  constexpr std::string_view kSchemes[] = {"bearer", "basic",  "token",
                                           "digest", "apikey", "negotiate"};
  return std::ranges::find(kSchemes, AsciiStrToLower(word)) != std::end(kSchemes);
}

// `Bearer X`, `Basic X`, of eight or more characters.
RedactionHit FindBearer(std::string_view text, size_t at) {
  constexpr size_t kMin = 8;
  if (AsciiToLower(text[at]) != 'b') return {};
  for (const std::string_view word : {std::string_view("bearer "), std::string_view("basic ")}) {
    if (AsciiStrToLower(text.substr(at, word.size())) != word) continue;
    const size_t begin = SkipSpaces(text, at + word.size());
    const size_t length = RunLength(text, begin, [](char c) { return !EndsValue(c); });
    if (length >= kMin) return HitAt(text, begin, length);
  }
  return {};
}

// -----BEGIN … PRIVATE KEY----- up to its end.
RedactionHit FindKeyBlock(std::string_view text, size_t at) {
  constexpr std::string_view kBegin = "-----BEGIN ", kEnd = "-----END ";
  if (!text.substr(at).starts_with(kBegin)) return {};
  const size_t end = text.find(kEnd, at);
  const size_t close = end == std::string_view::npos ? end : text.find("-----", end + kEnd.size());
  const size_t stop = close == std::string_view::npos ? text.size() : close + 5;
  return HitAt(text, at, stop - at);
}

// The hash of a password as crypt(3) and PHC write it: $6$SALT$HASH, $argon2id$v=19$m=65536,t=3$…
RedactionHit FindPasswordHash(std::string_view text, size_t at) {
  constexpr size_t kMaxName = 16, kMin = 20;
  constexpr std::string_view kWithin = "$./+=,-_";
  const size_t name =
      RunLength(text, at + 1, [](char c) { return IsLower(c) || IsDigit(c) || c == '-'; });
  const size_t begin = at + 1 + name;
  if (name == 0 || name > kMaxName || !text.substr(begin).starts_with('$')) return {};
  const size_t length = RunLength(
      text, begin, [&](char c) { return IsAlphanumeric(c) || kWithin.find(c) != kWithin.npos; });
  const std::string_view rest = text.substr(begin, length);
  const bool is_hash = length >= kMin && std::ranges::any_of(rest, IsUpper) &&
                       std::ranges::any_of(rest, IsLower) && std::ranges::any_of(rest, IsDigit);
  return is_hash ? HitAt(text, at, 1 + name + length) : RedactionHit();
}

// Six or seven letters and digits after -p, which also takes ports and precisions: not "float32".
bool LooksLikePassword(std::string_view word) {
  constexpr size_t kMin = 6;
  constexpr std::string_view kWidths[] = {"8", "16", "32", "64"};
  return word.size() >= kMin && LooksLikeKey("xx" + std::string(word)) &&
         std::ranges::any_of(word, IsLower) &&
         std::ranges::none_of(kWidths, [&](auto width) { return word.ends_with(width); });
}

// Where the value of an option begins whose name ends at `end`: after spaces, or in a list after
// the name's own quote and a comma. npos: no value is next to it.
size_t ValueOfOption(std::string_view text, size_t at, size_t end) {
  if (end < text.size() && text[end] == ' ') return SkipSpaces(text, end);
  if (end < text.size() && text[end] == '\\') ++end;
  const bool is_quoted =
      at > 0 && IsQuote(text[at - 1]) && end < text.size() && text[end] == text[at - 1];
  const size_t comma = is_quoted ? SkipSpaces(text, end + 1) : text.size();
  if (comma >= text.size() || text[comma] != ',') return std::string_view::npos;
  const size_t begin = SkipSpaces(text, comma + 1);
  return text.substr(begin).starts_with('\\') ? begin + 1 : begin;
}

// `--password X`, `--hf-token "X"`, `['--password', 'X']`, and `mysql -pX`.
RedactionHit FindOption(std::string_view text, size_t at) {
  if (at > 0 && (IsAlphanumeric(text[at - 1]) || text[at - 1] == '-')) return {};
  const size_t dashes = RunLength(text, at, [](char c) { return c == '-'; });
  if (dashes > 2) return {};
  const size_t length = RunLength(text, at + dashes, IsNameCharacter);
  const std::string_view name = text.substr(at + dashes, length);
  const size_t end = at + dashes + length;
  if (dashes == 1 && name.starts_with('p') &&
      (LooksLikeKey(name.substr(1)) || LooksLikePassword(name.substr(1)))) {
    const size_t value = RunLength(text, at + 2, [](char c) { return !EndsValue(c); });
    return HitAt(text, at + 2, value);
  }
  const bool is_letter = dashes == 1 && length == 1;  // -p X, -u NAME:X
  const SecretName kind = is_letter ? SecretName::kPerhaps : SecretNameOf(name);
  size_t begin = kind == SecretName::kNo ? text.npos : ValueOfOption(text, at, end);
  if (begin >= text.size()) return {};
  const bool is_quoted = begin < text.size() && IsQuote(text[begin]);
  const char quote = is_quoted ? text[begin++] : '\0';
  size_t value = is_quoted ? RunLength(text, begin, [&](char c) { return c != quote && c != '\n'; })
                           : BareLength(text, begin);
  if (is_quoted && text.substr(begin, value).ends_with('\\')) --value;
  const std::string_view word = text.substr(begin, value);
  if (value < 3 || word.starts_with('-')) return {};
  if (is_letter && AsciiToLower(name[0]) == 'p' && LooksLikePassword(word)) {
    return HitAt(text, begin, value);
  }
  return kind == SecretName::kYes || LooksLikeKeyOf(name, word) ? HitAt(text, begin, value)
                                                                : RedactionHit();
}

// "the password is X", where X looks like a key.
RedactionHit FindTold(std::string_view text, size_t at) {
  for (const std::string_view verb : {std::string_view("is "), std::string_view("was ")}) {
    if (!text.substr(at).starts_with(verb)) continue;
    const size_t begin = SkipSpaces(text, at + verb.size());
    const size_t value = RunLength(text, begin, [](char c) { return !EndsValue(c); });
    if (LooksLikeKey(text.substr(begin, value))) return HitAt(text, begin, value);
  }
  return {};
}

// The value of `NAME=value`, and of `NAME value` where that looks like a key; the name is that of a
// secret.
RedactionHit FindNamedSecret(std::string_view text, size_t at) {
  // Of a longer name its end is looked at, from the words in it.
  constexpr size_t kMaxName = 128;
  const size_t length = RunLength(text.substr(0, at + kMaxName + 1), at, IsNameCharacter);
  if (length > kMaxName) return {};
  const std::string_view name = text.substr(at, length);
  const SecretName kind = SecretNameOf(name);
  if (kind == SecretName::kNo) return {};
  if (kind == SecretName::kYes) {
    const RedactionHit element = FindElementText(text, at, at + length);
    if (element.found()) return element;
  }
  if (AfterSeparator(text, at + length, {.after_spaces = true}) == 0) {
    const size_t begin = SkipSpaces(text, at + length);
    const size_t value = RunLength(text, begin, [](char c) { return !EndsValue(c); });
    const bool is_key = begin > at + length && LooksLikeKeyOf(name, text.substr(begin, value));
    const std::string lower = AsciiStrToLower(name);
    const bool is_password = lower.contains("pass") || lower.contains("secret");
    // `setx API_TOKEN X`
    const bool is_variable =
        kind == SecretName::kYes && name.contains('_') && std::ranges::none_of(name, IsLower);
    if (is_key && (is_password || is_variable)) return HitAt(text, begin, value);
    return is_password && value > 0 ? FindTold(text, begin) : RedactionHit();
  }
  const std::string lower = AsciiStrToLower(name);
  const bool is_header = lower.ends_with("authorization") || lower.ends_with("cookie");
  const bool sure = kind == SecretName::kYes;
  RedactionHit hit = ValueAfter(text, at + length, {.after_spaces = sure, .is_line = is_header});
  return sure || LooksLikeKeyOf(name, text.substr(hit.begin, hit.size())) ? hit : RedactionHit();
}

// `wandb login X`
RedactionHit FindLogin(std::string_view text, size_t at) {
  constexpr std::string_view kLogin = "login ";
  constexpr size_t kMin = 20;
  if (!text.substr(at).starts_with(kLogin)) return {};
  const size_t begin = at + kLogin.size();
  const size_t value = RunLength(text, begin, IsTokenCharacter);
  return value >= kMin && LooksLikeKey(text.substr(begin, value)) ? HitAt(text, begin, value)
                                                                  : RedactionHit();
}

}  // namespace

RedactionHit ValueAfter(std::string_view text, size_t end, ValueForm form) {
  size_t begin = AfterSeparator(text, end, form);
  if (begin == 0) return {};
  begin += LiteralPrefix(text, begin);
  char quote = 0;
  while (begin < text.size() && (text[begin] == '\\' || (IsQuote(text[begin]) && quote == 0))) {
    if (IsQuote(text[begin])) quote = text[begin];
    ++begin;
  }
  size_t length = 0;
  if (quote != 0 || form.is_line) {
    length = RunLength(text, begin, [&](char c) {
      return c != '\n' && c != quote && !(quote == 0 && IsQuote(c));
    });
    while (length > 0 && text[begin + length - 1] == '\\') --length;
  } else {
    length = BareLength(text, begin);
    const size_t after = begin + length;
    if (IsScheme(text.substr(begin, length)) && after < text.size() && text[after] == ' ') {
      const size_t more = SkipSpaces(text, after);
      length = more + RunLength(text, more, [](char c) { return !EndsValue(c); }) - begin;
    }
  }
  constexpr size_t kMin = 3;
  if (length < kMin || text[begin] == '<') return {};
  return HitAt(text, begin, length);
}

bool IsAlphanumeric(char c) { return IsUpper(c) || IsLower(c) || IsDigit(c); }

bool IsWordStart(std::string_view text, size_t at) {
  return IsAlphanumeric(text[at]) && (at == 0 || !IsAlphanumeric(text[at - 1]));
}

RedactionHit FindToken(const Redactor& /*redactor*/, std::string_view text, size_t at) {
  if (text[at] == '-') {
    RedactionHit block = FindKeyBlock(text, at);
    return block.found() ? block : FindOption(text, at);
  }
  if (text[at] == '$' && (at == 0 || !IsAlphanumeric(text[at - 1]))) {
    return FindPasswordHash(text, at);
  }
  if (!IsWordStart(text, at)) return {};
  const std::string_view rest = text.substr(at);
  for (const TokenForm& form : kTokenForms) {
    if (!rest.starts_with(form.prefix)) continue;
    const size_t length = RunLength(text, at + form.prefix.size(), IsTokenCharacter);
    if (length >= form.min_length) return HitAt(text, at, form.prefix.size() + length);
  }
  if (rest.starts_with("AAAA")) {  // keys of SSH
    constexpr size_t kMin = 48;
    const size_t length = RunLength(text, at, IsBase64Character);
    if (length >= kMin) return HitAt(text, at, length);
  }
  if (rest.starts_with("1//0")) {  // refresh tokens of OAuth
    constexpr size_t kMin = 24;
    const size_t length =
        RunLength(text, at, [](char c) { return IsTokenCharacter(c) || c == '/'; });
    if (length >= kMin) return HitAt(text, at, length);
  }
  if (RedactionHit hit = FindBearer(text, at); hit.found()) return hit;
  const size_t random = RandomLength(text, at);
  if (const RedactionHit hit = FindNamedSecret(text, at); hit.found()) {
    // A key may hold the name of a secret, and end in =.
    return random == 0 ? hit : HitAt(text, at, std::max(hit.end, at + random) - at);
  }
  if (RedactionHit hit = FindLogin(text, at); hit.found()) return hit;
  return HitAt(text, at, random);
}

RedactionHit FindEnvironment(const Redactor& redactor, std::string_view text, size_t at) {
  if (const size_t word = redactor.WordAt(RedactionKind::kEnvironment, text, at); word != 0) {
    return HitAt(text, at, word);
  }
  if (!IsWordStart(text, at) || !IsUpper(text[at])) return {};
  if (at > 0 && (text[at - 1] == '_' || text[at - 1] == '-')) return {};
  const size_t name =
      RunLength(text, at, [](char c) { return IsUpper(c) || IsDigit(c) || c == '_'; });
  constexpr size_t kMin = 4;
  if (name < kMin || text.substr(at, name).ends_with("XLA_FLAGS")) return {};
  return ValueAfter(text, at + name, {.after_colon = false});
}

}  // namespace hloscope::debug
