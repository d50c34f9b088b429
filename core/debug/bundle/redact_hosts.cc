// Names and addresses of machines, mail addresses, and names of users.
#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>

#include "core/base/strings.h"
#include "core/debug/bundle/redact_rules.h"
#include "core/debug/bundle/secret_names.h"

namespace hloscope::debug {
namespace {

constexpr std::string_view kWellKnownHosts[] = {"github.com", "openxla.org", "tensorflow.org",
                                                "pypi.org",   "python.org",  "nvidia.com",
                                                "llvm.org",   "jax.dev"};
// Last parts of names of hosts. Of two-letter ones those that are words or extensions of files are
// left out; a port shows them.
constexpr std::string_view kHostEndings[] = {
    "internal", "local", "corp", "lan", "intra", "localdomain", "intranet", "home", "com",
    "net",      "edu",   "gov",  "org", "io",    "cloud",       "ai",       "dev",  "app",
    "info",     "tech",  "mil",  "int", "biz",   "xyz",         "arpa",     "svc",  "cluster"};
constexpr std::string_view kCountryEndings[] = {
    "de", "uk", "fr", "jp", "cn", "kr", "nl", "se", "ch", "es", "pl", "ru", "br", "ca",
    "au", "nz", "sg", "hk", "tw", "ie", "dk", "fi", "cz", "eu", "us", "il", "be", "at",
    "it", "no", "in", "gr", "hu", "ro", "tr", "ua", "mx", "ar", "cl", "za", "ae", "sa",
    "th", "vn", "id", "my", "ph", "lu", "sk", "si", "hr", "bg", "lt", "lv", "ee", "is"};

bool IsHostCharacter(char c) { return IsAlphanumeric(c) || c == '_' || c == '-' || c == '.'; }
bool IsMailCharacter(char c) { return IsHostCharacter(c) || c == '+' || c == '%'; }

bool IsWellKnown(std::string_view host) {
  return std::ranges::any_of(kWellKnownHosts, [&](std::string_view known) {
    return host == known || (host.ends_with(known) && host[host.size() - known.size() - 1] == '.');
  });
}

// The length of ":1234" at `at`; 0: there is no port.
size_t PortLength(std::string_view text, size_t at) {
  if (at >= text.size() || text[at] != ':') return 0;
  const size_t digits = RunLength(text, at + 1, IsDigit);
  const size_t end = at + 1 + digits;
  const bool goes_on = end < text.size() && (IsAlphanumeric(text[end]) || text[end] == '.');
  return digits < 2 || digits > 5 || goes_on ? 0 : digits + 1;
}

// gpu-17.corp.example.com; `has_port`: any name of two parts whose last is not an extension of a
// file.
bool IsHostName(std::string_view run, bool has_port) {
  if (run.size() < 5 || run.find('.') == std::string_view::npos || IsWellKnown(run)) return false;
  if (run.find("..") != std::string_view::npos) return false;
  const std::string_view last = run.substr(run.rfind('.') + 1);
  if (std::ranges::find(kHostEndings, last) != std::end(kHostEndings)) return true;
  if (std::ranges::count(run, '.') >= 2 &&
      std::ranges::find(kCountryEndings, last) != std::end(kCountryEndings)) {
    return true;
  }
  return has_port && last.size() >= 2 && std::ranges::all_of(last, IsLower) &&
         !IsFileExtension(last);
}

// "cuDNN 9.1.0.70", "version 1.2.3.4": four numbers, but not an address.
bool FollowsVersionName(std::string_view text, size_t at) {
  constexpr std::string_view kNames[] = {"version", "cudnn", "cublas", "cublaslt", "nccl",
                                         "cuda",    "ptxas", "v",      "driver",   "release"};
  size_t end = at;
  while (end > 0 && (text[end - 1] == ' ' || text[end - 1] == '-' || text[end - 1] == '=')) --end;
  size_t begin = end;
  while (begin > 0 && IsAlphanumeric(text[begin - 1])) --begin;
  const std::string word = AsciiStrToLower(text.substr(begin, end - begin));
  return std::ranges::find(kNames, word) != std::end(kNames);
}

// 10.1.2.3, 100.64.3.7, 8.8.4.4:53; not 127.0.0.1 without a port.
size_t AddressLength(std::string_view text, size_t at) {
  std::array<int, 4> parts = {};
  if (at > 0 && (text[at - 1] == '.' || text[at - 1] == '_')) return 0;
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
  const bool is_sentence_end =
      end < text.size() && text[end] == '.' && (end + 1 == text.size() || text[end + 1] == ' ');
  if (end < text.size() && !is_sentence_end && (text[end] == '.' || IsAlphanumeric(text[end]))) {
    return 0;
  }
  if (PortLength(text, end) != 0) return end - at;
  const bool says_nothing = parts[0] == 127 || parts[0] == 0 || parts[0] == 255;
  return says_nothing || FollowsVersionName(text, at) ? 0 : end - at;
}

// 02:42:ac:11:00:02
size_t MacLength(std::string_view text, size_t at) {
  constexpr size_t kLength = 17;
  if (text.size() - at < kLength) return 0;
  for (size_t i = 0; i < kLength; ++i) {
    const char c = text[at + i];
    if (i % 3 == 2 ? c != ':' : std::isxdigit(static_cast<unsigned char>(c)) == 0) return 0;
  }
  const bool ends = at + kLength == text.size() || !IsAlphanumeric(text[at + kLength]);
  return ends ? kLength : 0;
}

// fe80::1ff:fe23:4567:890a
size_t LongAddressLength(std::string_view text, size_t at) {
  const size_t length = RunLength(text, at, [](char c) {
    return c == ':' || std::isxdigit(static_cast<unsigned char>(c)) != 0;
  });
  const std::string_view run = text.substr(at, length);
  constexpr std::ptrdiff_t kMinColons = 3;
  const bool ends = at + length == text.size() || !IsAlphanumeric(text[at + length]);
  return ends && std::ranges::count(run, ':') >= kMinColons && std::ranges::any_of(run, IsDigit)
             ? length
             : 0;
}

// The value of `user=`, `hostname: ` and the like, where the name is one of those.
RedactionHit FindNamed(std::string_view text, size_t at,
                       std::initializer_list<std::string_view> names) {
  if (at > 0 && text[at - 1] == '_') return {};
  if (at > 0 && text[at - 1] == '-' && !text.substr(0, at).ends_with("--")) return {};
  const size_t length = RunLength(text, at, [](char c) { return IsAlphanumeric(c) || c == '_'; });
  const std::string name = AsciiStrToLower(text.substr(at, length));
  if (std::ranges::find(names, name) == names.end()) return {};
  const size_t end = at + length;
  // "/host:CPU" is a plane of a trace.
  const bool is_plane = at > 0 && text[at - 1] == '/' && text.substr(end).starts_with(':') &&
                        !text.substr(end).starts_with(": ");
  if (is_plane) return {};
  const bool is_option = text.substr(0, at).ends_with("--");
  if (!is_option || !text.substr(end).starts_with(' ')) return ValueAfter(text, end, {});
  const size_t value = RunLength(text, end + 1, IsHostCharacter);
  return value < 3 || text[end + 1] == '-' ? RedactionHit() : HitAt(text, end + 1, value);
}

// user@host, with or without a domain; the part before the @ may begin before `at`.
RedactionHit FindMail(std::string_view text, size_t at) {
  const size_t name = RunLength(text, at, IsMailCharacter);
  const size_t host = at + name + 1;
  if (host >= text.size() || text[host - 1] != '@') return {};
  if (!IsLower(text[host]) && !IsUpper(text[host]) && AddressLength(text, host) == 0) return {};
  const size_t length = RunLength(text, host, IsHostCharacter);
  // batch_norm@functional.py: a function and its file.
  if (text.substr(host, length).ends_with(".py")) return {};
  return HitAt(text, at, name + 1 + length);
}

}  // namespace

RedactionHit FindHost(const Redactor& redactor, std::string_view text, size_t at) {
  if (!IsWordStart(text, at)) return {};
  if (const size_t word = redactor.WordAt(RedactionKind::kHost, text, at); word != 0) {
    return HitAt(text, at, word);
  }
  if (const size_t length = AddressLength(text, at); length != 0) return HitAt(text, at, length);
  if (const size_t length = MacLength(text, at); length != 0) return HitAt(text, at, length);
  if (const size_t length = LongAddressLength(text, at); length != 0) {
    return HitAt(text, at, length);
  }
  RedactionHit named =
      FindNamed(text, at,
                {"host", "hostname", "host_name", "machine", "coordinator", "endpoint", "nodename",
                 "coordinator_address", "master_addr", "server_name", "address", "addr", "server"});
  if (named.found()) return named;
  if (RedactionHit mail = FindMail(text, at); mail.found()) return mail;
  size_t run = RunLength(text, at, IsHostCharacter);
  while (run > 0 && (text[at + run - 1] == '.' || text[at + run - 1] == '-')) --run;
  if (at > 0 && (text[at - 1] == '.' || text[at - 1] == '_')) return {};
  const size_t port = PortLength(text, at + run);
  return IsHostName(text.substr(at, run), port != 0) ? HitAt(text, at, run) : RedactionHit();
}

RedactionHit FindUser(const Redactor& redactor, std::string_view text, size_t at) {
  if (!IsWordStart(text, at)) return {};
  const size_t word = redactor.WordAt(RedactionKind::kUser, text, at);
  if (word != 0) return HitAt(text, at, word);
  return FindNamed(text, at, {"user", "username", "user_name", "login", "owner", "author"});
}

}  // namespace hloscope::debug
