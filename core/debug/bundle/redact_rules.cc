// Finding tokens, values of the environment, hosts and users.
#include "core/debug/bundle/redact_rules.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "core/base/strings.h"

namespace hloscope::debug {
namespace {

bool IsUpper(char c) { return c >= 'A' && c <= 'Z'; }
bool IsLower(char c) { return c >= 'a' && c <= 'z'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// What tokens and their like are made of.
bool IsTokenCharacter(char c) { return IsWordCharacter(c) || c == '_' || c == '-' || c == '.'; }
bool IsKeyCharacter(char c) { return IsWordCharacter(c) || c == '+' || c == '='; }

template <typename Test>
size_t RunLength(std::string_view text, size_t at, Test test) {
  size_t end = at;
  while (end < text.size() && test(text[end])) ++end;
  return end - at;
}

struct TokenForm {
  std::string_view prefix;
  size_t least;  // characters behind it
};
constexpr TokenForm kTokenForms[] = {
    {"ghp_", 16},     {"gho_", 16},        {"ghu_", 16},   {"ghs_", 16},  {"ghr_", 16},
    {"hf_", 16},      {"github_pat_", 16}, {"glpat-", 12}, {"sk-", 16},   {"sk_live_", 8},
    {"xoxb-", 8},     {"xoxp-", 8},        {"xoxa-", 8},   {"AKIA", 16},  {"ASIA", 16},
    {"AIza", 30},     {"ya29.", 16},       {"npm_", 16},   {"pypi-", 16}, {"dop_v1_", 16},
    {"SG.", 16},      {"eyJ", 20},         {"wandb_", 16}, {"glsa_", 16}, {"nvapi-", 16},
    {"dckr_pat_", 8}, {"lin_api_", 8},     {"rpa_", 16},   {"key-", 24},
};

// A run of letters and digits that no person wrote.
bool LooksRandom(std::string_view run) {
  constexpr size_t kMin = 32, kMax = 128;
  constexpr std::ptrdiff_t kOfEach = 3;
  if (run.size() < kMin || run.size() > kMax) return false;
  const auto is_hex = [](char c) { return IsDigit(c) || (c >= 'a' && c <= 'f'); };
  if (std::ranges::all_of(run, is_hex)) return !std::ranges::all_of(run, IsDigit);
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
  return at + kLength < text.size() && IsWordCharacter(text[at + kLength]) ? 0 : kLength;
}

bool ContainsAny(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

bool EndsValue(char c) {
  return std::isspace(static_cast<unsigned char>(c)) != 0 || c == '"' || c == '\'' || c == ',' ||
         c == ';' || c == '}' || c == ')' || c == ']' || c == '\\' || c == '<' || c == '>';
}

// Where the value behind `NAME=`, `NAME: "` or `"NAME": "` begins; 0: there is none.
size_t ValueBehind(std::string_view text, size_t at, bool also_colon) {
  if (at < text.size() && (text[at] == '"' || text[at] == '\'')) ++at;
  if (at >= text.size() || (text[at] != '=' && !(also_colon && text[at] == ':'))) return 0;
  const bool colon = text[at] == ':';
  ++at;
  while (colon && at < text.size() && text[at] == ' ') ++at;
  while (at < text.size() && (text[at] == '\\' || text[at] == '"' || text[at] == '\'')) ++at;
  return at;
}

RedactionHit ValueHit(std::string_view text, size_t at, size_t value) {
  const size_t length = RunLength(text, value, [](char c) { return !EndsValue(c); });
  constexpr size_t kMin = 3;
  if (length < kMin || text[value] == '<') return {};
  return {.length = value - at + length,
          .kept = value - at,
          .key = std::string(text.substr(value, length)),
          .tail = {}};
}

RedactionHit WholeHit(std::string_view text, size_t at, size_t length) {
  return {.length = length, .kept = 0, .key = std::string(text.substr(at, length)), .tail = {}};
}

// -----BEGIN … PRIVATE KEY----- up to its end.
RedactionHit FindKeyBlock(std::string_view text, size_t at) {
  constexpr std::string_view kBegin = "-----BEGIN ", kEnd = "-----END ";
  if (!text.substr(at).starts_with(kBegin)) return {};
  const size_t end = text.find(kEnd, at);
  const size_t close = end == std::string_view::npos ? end : text.find("-----", end + kEnd.size());
  const size_t stop = close == std::string_view::npos ? text.size() : close + 5;
  return WholeHit(text, at, stop - at);
}

RedactionHit FindBearer(std::string_view text, size_t at) {
  for (const std::string_view word : {std::string_view("Bearer "), std::string_view("Basic ")}) {
    if (!text.substr(at).starts_with(word)) continue;
    RedactionHit hit = ValueHit(text, at, at + word.size());
    if (hit.length >= word.size() + 8) return hit;
  }
  return {};
}

constexpr std::string_view kWellKnownHosts[] = {"github.com", "openxla.org", "tensorflow.org",
                                                "pypi.org",   "python.org",  "nvidia.com",
                                                "llvm.org",   "jax.dev"};
constexpr std::string_view kPrivateEndings[] = {"internal", "local",       "corp",     "lan",
                                                "intra",    "localdomain", "intranet", "home"};
constexpr std::string_view kPublicEndings[] = {"com", "net", "edu",   "gov",
                                               "org", "io",  "cloud", "ai"};

bool IsWellKnown(std::string_view host) {
  return std::ranges::any_of(kWellKnownHosts, [&](std::string_view known) {
    return host == known || (host.ends_with(known) && host[host.size() - known.size() - 1] == '.');
  });
}

// gpu-17.corp.example.com
bool IsHostName(std::string_view run) {
  if (run.size() < 5 || run.find('.') == std::string_view::npos || IsWellKnown(run)) return false;
  if (run.find("..") != std::string_view::npos) return false;
  const std::string_view last = run.substr(run.rfind('.') + 1);
  return std::ranges::find(kPrivateEndings, last) != std::end(kPrivateEndings) ||
         std::ranges::find(kPublicEndings, last) != std::end(kPublicEndings);
}

// 10.1.2.3, 192.168.0.7, 172.16.0.1, and any other with a port.
size_t AddressLength(std::string_view text, size_t at) {
  std::array<int, 4> parts = {};
  size_t end = at;
  for (size_t k = 0; k < parts.size(); ++k) {
    const size_t digits = RunLength(text, end, IsDigit);
    if (digits == 0 || digits > 3) return 0;
    for (size_t i = 0; i < digits; ++i) parts[k] = parts[k] * 10 + (text[end + i] - '0');
    if (parts[k] > 255) return 0;
    end += digits;
    if (k == 3) break;
    if (end >= text.size() || text[end] != '.') return 0;
    ++end;
  }
  if (end < text.size() && (text[end] == '.' || IsWordCharacter(text[end]))) return 0;
  const bool port = end + 1 < text.size() && text[end] == ':' && IsDigit(text[end + 1]);
  const bool is_private = parts[0] == 10 || (parts[0] == 192 && parts[1] == 168) ||
                          (parts[0] == 172 && parts[1] >= 16 && parts[1] < 32);
  return port || is_private ? end - at : 0;
}

// 02:42:ac:11:00:02
size_t MacLength(std::string_view text, size_t at) {
  constexpr size_t kLength = 17;
  if (text.size() - at < kLength) return 0;
  for (size_t i = 0; i < kLength; ++i) {
    const char c = text[at + i];
    if (i % 3 == 2 ? c != ':' : std::isxdigit(static_cast<unsigned char>(c)) == 0) return 0;
  }
  const bool ends = at + kLength == text.size() || !IsWordCharacter(text[at + kLength]);
  return ends ? kLength : 0;
}

// fe80::1ff:fe23:4567:890a
size_t LongAddressLength(std::string_view text, size_t at) {
  const size_t length = RunLength(text, at, [](char c) {
    return c == ':' || std::isxdigit(static_cast<unsigned char>(c)) != 0;
  });
  const std::string_view run = text.substr(at, length);
  constexpr std::ptrdiff_t kMinColons = 3;
  const bool ends = at + length == text.size() || !IsWordCharacter(text[at + length]);
  return ends && std::ranges::count(run, ':') >= kMinColons && std::ranges::any_of(run, IsDigit)
             ? length
             : 0;
}

// The value behind `user=`, `hostname: ` and the like, where the name is one of those.
RedactionHit FindNamed(std::string_view text, size_t at,
                       std::initializer_list<std::string_view> names) {
  // "/host:CPU" is a plane of a trace.
  if (at > 0 && (text[at - 1] == '_' || text[at - 1] == '-' || text[at - 1] == '/')) return {};
  const size_t length = RunLength(text, at, [](char c) { return IsWordCharacter(c) || c == '_'; });
  const std::string name = AsciiStrToLower(text.substr(at, length));
  if (std::ranges::find(names, name) == names.end()) return {};
  const size_t value = ValueBehind(text, at + length, true);
  return value == 0 ? RedactionHit() : ValueHit(text, at, value);
}

}  // namespace

bool IsWordCharacter(char c) { return IsUpper(c) || IsLower(c) || IsDigit(c); }

bool NamesSecret(std::string_view name) {
  static constexpr std::string_view kWords[] = {
      "password",   "passwd",      "secret",        "api_key",    "apikey",
      "access_key", "private_key", "credential",    "auth_token", "access_token",
      "authtoken",  "api-key",     "authorization", "passphrase"};
  static constexpr std::string_view kUpper[] = {"TOKEN", "KEY", "PASS", "AUTH", "COOKIE", "PWD"};
  const std::string lower = AsciiStrToLower(name);
  if (ContainsAny(lower, kWords)) return true;
  return std::ranges::none_of(name, IsLower) && ContainsAny(name, kUpper);
}

bool NamesSecretOption(std::string_view option) {
  static constexpr std::string_view kWords[] = {"token", "key",    "pass",  "auth",
                                                "pwd",   "cookie", "secret"};
  if (NamesSecret(option)) return true;
  std::string word;
  for (size_t i = 0; i <= option.size(); ++i) {
    if (i < option.size() && IsWordCharacter(option[i])) {
      word += AsciiToLower(option[i]);
    } else if (std::ranges::find(kWords, std::exchange(word, {})) != std::end(kWords)) {
      return true;
    }
  }
  return false;
}

bool IsWordStart(std::string_view text, size_t at) {
  return IsWordCharacter(text[at]) && (at == 0 || !IsWordCharacter(text[at - 1]));
}

RedactionHit FindToken(const Redactor& /*redactor*/, std::string_view text, size_t at) {
  if (text[at] == '-') return FindKeyBlock(text, at);
  if (!IsWordStart(text, at)) return {};
  const std::string_view rest = text.substr(at);
  for (const TokenForm& form : kTokenForms) {
    if (!rest.starts_with(form.prefix)) continue;
    const size_t length = RunLength(text, at + form.prefix.size(), IsTokenCharacter);
    if (length >= form.least) return WholeHit(text, at, form.prefix.size() + length);
  }
  if (RedactionHit hit = FindBearer(text, at); hit.length != 0) return hit;
  const size_t name =
      RunLength(text, at, [](char c) { return IsWordCharacter(c) || c == '_' || c == '-'; });
  if (NamesSecret(text.substr(at, name))) {
    const size_t value = ValueBehind(text, at + name, true);
    if (value != 0) {
      if (RedactionHit hit = ValueHit(text, at, value); hit.length != 0) return hit;
    }
  }
  if (const size_t length = UuidLength(text, at); length != 0) return WholeHit(text, at, length);
  const bool mangled = at >= 1 && text[at - 1] == '_' && rest.starts_with('Z');
  const size_t run = RunLength(text, at, IsKeyCharacter);
  return !mangled && LooksRandom(text.substr(at, run)) ? WholeHit(text, at, run) : RedactionHit();
}

RedactionHit FindEnvironment(const Redactor& redactor, std::string_view text, size_t at) {
  if (const size_t word = redactor.WordAt(RedactionKind::kEnvironment, text, at); word != 0) {
    return WholeHit(text, at, word);
  }
  if (!IsWordStart(text, at) || !IsUpper(text[at])) return {};
  if (at > 0 && (text[at - 1] == '_' || text[at - 1] == '-')) return {};
  const size_t name =
      RunLength(text, at, [](char c) { return IsUpper(c) || IsDigit(c) || c == '_'; });
  const std::string_view variable = text.substr(at, name);
  constexpr size_t kMin = 4;
  if (name < kMin || variable.ends_with("XLA_FLAGS") || at + name >= text.size() ||
      text[at + name] != '=') {
    return {};
  }
  const size_t value = ValueBehind(text, at + name, false);
  return value == 0 ? RedactionHit() : ValueHit(text, at, value);
}

RedactionHit FindHost(const Redactor& redactor, std::string_view text, size_t at) {
  if (!IsWordStart(text, at)) return {};
  if (const size_t word = redactor.WordAt(RedactionKind::kHost, text, at); word != 0) {
    return WholeHit(text, at, word);
  }
  if (const size_t length = AddressLength(text, at); length != 0) return WholeHit(text, at, length);
  if (const size_t length = MacLength(text, at); length != 0) return WholeHit(text, at, length);
  if (const size_t length = LongAddressLength(text, at); length != 0) {
    return WholeHit(text, at, length);
  }
  if (RedactionHit hit = FindNamed(text, at, {"host", "hostname", "host_name", "machine"});
      hit.length != 0) {
    return hit;
  }
  size_t run = RunLength(text, at, IsTokenCharacter);
  // user@host, with or without a domain
  const auto is_letter = [](char c) { return IsLower(c) || IsUpper(c); };
  if (at + run + 1 < text.size() && text[at + run] == '@' && is_letter(text[at + run + 1])) {
    const size_t host = RunLength(text, at + run + 1, IsTokenCharacter);
    return WholeHit(text, at, run + 1 + host);
  }
  while (run > 0 && (text[at + run - 1] == '.' || text[at + run - 1] == '-')) --run;
  const bool inside = at > 0 && (text[at - 1] == '.' || text[at - 1] == '_');
  return !inside && IsHostName(text.substr(at, run)) ? WholeHit(text, at, run) : RedactionHit();
}

RedactionHit FindUser(const Redactor& redactor, std::string_view text, size_t at) {
  if (!IsWordStart(text, at)) return {};
  const size_t word = redactor.WordAt(RedactionKind::kUser, text, at);
  if (word != 0) return WholeHit(text, at, word);
  return FindNamed(text, at, {"user", "username", "user_name", "login", "owner", "author"});
}

}  // namespace hloscope::debug
