// Names are compared by their words and by what they contain.
#include "core/debug/bundle/secret_names.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "core/base/strings.h"
#include "core/hlo/element_type.h"

namespace hloscope::debug {
namespace {

constexpr std::string_view kAnywhere[] = {
    "password",   "passwd",      "passphrase",   "passcode",      "secret",        "apikey",
    "api_key",    "api-key",     "access_key",   "accesskey",     "access-key",    "private_key",
    "privatekey", "private-key", "account_key",  "accountkey",    "account-key",   "credential",
    "auth_token", "authtoken",   "access_token", "refresh_token", "authorization", "sessionid",
    "session_id", "session-id",  "cookie",       "sharedkey",     "signingkey",    "pwd",
    "passwort",   "kennwort",    "contrase",     "wachtwoord"};
constexpr std::string_view kSecretWords[] = {"token", "session", "bearer", "sas", "passe"};
constexpr std::string_view kShortWords[] = {"key", "keys", "pass", "auth",      "sig",
                                            "sid", "otp",  "hash", "signature", "pin"};
constexpr std::string_view kUpper[] = {"TOKEN", "KEY", "PASS", "AUTH", "COOKIE", "PWD"};
constexpr std::string_view kMachines[] = {"ADDRESS", "HOST",    "COORDINATOR", "ENDPOINT",
                                          "SERVER",  "CLUSTER", "URL",         "NODE",
                                          "PROXY",   "MASTER",  "TF_CONFIG"};

bool ContainsAny(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::any_of(
      words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

bool IsAmong(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

// True where `test` holds for a word of the name: of `hf_authToken` for "hf", "auth", "token".
template <typename Test>
bool AnyWord(std::string_view name, Test test) {
  std::string word;
  for (size_t i = 0; i <= name.size(); ++i) {
    const bool is_end =
        i == name.size() || (!IsUpper(name[i]) && !IsLower(name[i]) && !IsDigit(name[i]));
    const bool is_camel = !is_end && IsUpper(name[i]) && i > 0 && IsLower(name[i - 1]);
    if ((is_end || is_camel) && test(std::exchange(word, {}))) return true;
    if (!is_end) word += AsciiToLower(name[i]);
  }
  return false;
}

// A part of the name of a pass that has digits: a type, a version or a rank.
bool IsTypeOrVersion(std::string_view word) {
  if (hlo::ElementTypeFromText(word) != hlo::ElementType::kInvalid || word == "fp8") return true;
  return word.size() == 2 &&
         ((word[0] == 'v' && IsDigit(word[1])) || (IsDigit(word[0]) && word[1] == 'd'));
}

}  // namespace

SecretName SecretNameOf(std::string_view name) {
  if (ContainsAny(AsciiStrToLower(name), kAnywhere)) return SecretName::kYes;
  if (std::ranges::none_of(name, IsLower) && ContainsAny(name, kUpper)) return SecretName::kYes;
  if (AnyWord(name, [](const std::string& word) { return IsAmong(word, kSecretWords); })) {
    return SecretName::kYes;
  }
  const bool perhaps =
      AnyWord(name, [](const std::string& word) { return IsAmong(word, kShortWords); });
  return perhaps ? SecretName::kPerhaps : SecretName::kNo;
}

bool NamesSecret(std::string_view name) { return SecretNameOf(name) == SecretName::kYes; }

bool NamesSecretOption(std::string_view option) { return SecretNameOf(option) != SecretName::kNo; }

bool NamesMachines(std::string_view variable) { return ContainsAny(variable, kMachines); }

bool LooksLikeKey(std::string_view value) {
  constexpr size_t kMin = 8;
  const auto is_letter = [](char c) { return IsUpper(c) || IsLower(c); };
  return value.size() >= kMin && std::ranges::any_of(value, IsDigit) &&
         std::ranges::any_of(value, is_letter) && value.find(' ') == std::string_view::npos;
}

bool LooksLikeKeyOf(std::string_view name, std::string_view value) {
  return LooksLikeKey(value) && !(AsciiStrToLower(name) == "pass" && LooksLikePass(value));
}

bool LooksLikePass(std::string_view value) {
  constexpr size_t kMinWords = 2;
  size_t words = 0;
  for (size_t begin = 0; begin <= value.size();) {
    const size_t end = std::min(value.find_first_of("-_", begin), value.size());
    const std::string_view part = value.substr(begin, end - begin);
    const bool is_word = !part.empty() && std::ranges::all_of(part, IsLower);
    if (!is_word && !IsTypeOrVersion(part)) return false;
    words += is_word ? 1 : 0;
    begin = end + 1;
  }
  return words >= kMinWords;
}

}  // namespace hloscope::debug
