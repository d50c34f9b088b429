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
    "internal", "local", "corp", "lan", "intra", "localdomain", "intranet", "home", "com",  "net",
    "edu",      "gov",   "org",  "io",  "cloud", "ai",          "dev",      "app",  "info", "tech",
    "mil",      "int",   "biz",  "xyz", "arpa",  "svc",         "cluster",  "onion"};
constexpr std::string_view kCountryEndings[] = {
    "de", "uk", "fr", "jp", "cn", "kr", "nl", "se", "ch", "es", "pl", "ru", "br", "ca",
    "au", "nz", "sg", "hk", "tw", "ie", "dk", "fi", "cz", "eu", "us", "il", "be", "at",
    "it", "no", "in", "gr", "hu", "ro", "tr", "ua", "mx", "ar", "cl", "za", "ae", "sa",
    "th", "vn", "id", "my", "ph", "lu", "sk", "si", "hr", "bg", "lt", "lv", "ee", "is"};

bool IsHostCharacter(char c) { return IsAlphanumeric(c) || c == '_' || c == '-' || c == '.'; }
bool IsLetter(char c) { return IsAlphanumeric(c) && !IsDigit(c); }
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

// Words before a colon and a number that are no machines: keys of values, and what is counted.
bool IsKeyOfNumber(std::string_view name) {
  constexpr std::string_view kKeys[] = {
      "line",      "step",    "steps",      "epoch",      "epochs",  "size",   "id",
      "pid",       "tid",     "offset",     "batch",      "seed",    "count",  "bytes",
      "iter",      "iters",   "col",        "column",     "row",     "rows",   "port",
      "len",       "length",  "dim",        "dims",       "width",   "height", "index",
      "idx",       "rank",    "version",    "time",       "at",      "to",     "value",
      "values",    "max",     "min",        "sum",        "total",   "loss",   "arg",
      "args",      "param",   "params",     "input",      "output",  "axis",   "layer",
      "layers",    "block",   "blocks",     "thread",     "threads", "warp",   "warps",
      "stage",     "stages",  "tile",       "tiles",      "shape",   "stride", "strides",
      "alignment", "align",   "iteration",  "iterations", "stream",  "device", "grid",
      "fp",        "bf",      "sm",         "si",         "ui",      "pred",   "add",
      "fusion",    "call",    "while",      "copy",       "num",     "year",   "lr",
      "node",      "nodes",   "task",       "job",        "level",   "memory", "kernel",
      "launch",    "cluster", "ms",         "us",         "ns",      "mb",     "kb",
      "gb",        "buffer",  "allocation", "program",    "module",  "thunk",  "replica",
      "partition", "channel"};
  while (!name.empty() && IsDigit(name.back())) name.remove_suffix(1);
  return name.size() < 2 || std::ranges::find(kKeys, name) != std::end(kKeys);
}

// A machine by its first name, as those of a cluster call one another: trainer:8476, gn-03:2222.
bool IsFirstName(std::string_view text, size_t at, size_t length, size_t port) {
  constexpr size_t kMin = 3, kMinPort = 5;  // the colon and four digits
  const std::string_view name = text.substr(at, length);
  if (length < kMin || port < kMinPort || !IsLower(name.front()) || name.back() == '-')
    return false;
  const auto fits = [](char c) { return IsLower(c) || IsDigit(c) || c == '-'; };
  if (!std::ranges::all_of(name, fits) || text[at + length + 1] == '0') return false;
  constexpr std::string_view kBefore = " \"'=,;/([@\t\n", kAfter = " \"',;/)].\\\t\n";
  const size_t end = at + length + port;
  const bool is_apart = (at == 0 || kBefore.contains(text[at - 1])) &&
                        (end == text.size() || kAfter.contains(text[end]));
  return is_apart && !IsKeyOfNumber(name);
}

// ip-10-0-3-17, as machines of AWS are called.
size_t DashedAddressLength(std::string_view text, size_t at) {
  constexpr std::string_view kBegin = "ip-";
  if (!text.substr(at).starts_with(kBegin)) return 0;
  size_t end = at + kBegin.size();
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && (end >= text.size() || text[end++] != '-')) return 0;
    const size_t digits = RunLength(text, end, IsDigit);
    if (digits == 0 || digits > 3) return 0;
    end += digits;
  }
  return end < text.size() && IsAlphanumeric(text[end]) ? 0 : end - at;
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

// 02:42:ac:11:00:02, 02-42-ac-11-00-02, 0242.ac11.0002
size_t MacLength(std::string_view text, size_t at) {
  for (const std::string_view form : {"xx:xx:xx:xx:xx:xx", "xx-xx-xx-xx-xx-xx", "xxxx.xxxx.xxxx"}) {
    if (text.size() - at < form.size()) continue;
    const std::string_view run = text.substr(at, form.size());
    const bool fits = std::ranges::equal(run, form, [](char c, char f) {
      return f == 'x' ? std::isxdigit(static_cast<unsigned char>(c)) != 0 : c == f;
    });
    const size_t end = at + form.size();
    const bool is_apart = (end == text.size() || !IsHostCharacter(text[end])) &&
                          (at == 0 || !IsHostCharacter(text[at - 1]));
    // Other numbers have such forms too.
    const bool is_sure =
        form[2] == ':' || (std::ranges::any_of(run, IsDigit) && std::ranges::any_of(run, IsLetter));
    if (fits && is_apart && is_sure) return form.size();
  }
  return 0;
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
  const size_t whole = name + 1 + length;
  // git@github.com:jane/project.git
  constexpr std::string_view kEnds = " \t\n\"',;<>()\\";
  const size_t path = RunLength(text, at + whole, [&](char c) { return !kEnds.contains(c); });
  const bool has_path = path > 1 && text[at + whole] == ':' && !IsDigit(text[at + whole + 1]) &&
                        text[at + whole + 1] != '/';
  return HitAt(text, at, whole + (has_path ? path : 0));
}

// arn:aws:iam::123456789012:user/jane; projects/acme/locations/x
size_t ResourceLength(std::string_view text, size_t at) {
  constexpr std::string_view kEnds = " \t\n\"',;<>()[]{}\\";
  const auto in_name = [&](char c) { return !kEnds.contains(c); };
  const std::string_view rest = text.substr(at);
  if (rest.starts_with("arn:aws")) return RunLength(text, at, in_name);
  for (const std::string_view folder :
       {"projects/", "tenants/", "subscriptions/", "organizations/", "workspaces/"}) {
    if (!rest.starts_with(folder) || (at > 0 && text[at - 1] == '_')) continue;
    return RunLength(text, at, in_name);
  }
  return 0;
}

// DOMAIN\user of Windows, whose backslash a string may write twice. FIRST\nSECOND is an escape.
RedactionHit FindDomainUser(std::string_view text, size_t at) {
  constexpr size_t kMinDomain = 2, kMaxDomain = 15, kMinUser = 3;
  const size_t domain =
      RunLength(text, at, [](char c) { return IsUpper(c) || IsDigit(c) || c == '-'; });
  if (domain < kMinDomain || domain > kMaxDomain || !IsUpper(text[at])) return {};
  if (at > 0 && (text[at - 1] == '_' || text[at - 1] == '\\')) return {};
  const size_t slashes = RunLength(text, at + domain, [](char c) { return c == '\\'; });
  const size_t begin = at + domain + slashes;
  if (slashes == 0 || begin >= text.size() || !IsLower(text[begin])) return {};
  const bool is_escape = slashes % 2 == 1 && std::string_view("nrtuxbfv").contains(text[begin]);
  const size_t user = RunLength(text, begin, [](char c) {
    return IsLower(c) || IsDigit(c) || c == '.' || c == '_' || c == '-';
  });
  if (is_escape || user < kMinUser) return {};
  return HitAt(text, begin, user);
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
  if (const size_t length = DashedAddressLength(text, at); length != 0) {
    return HitAt(text, at, length);
  }
  if (const size_t length = ResourceLength(text, at); length != 0) return HitAt(text, at, length);
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
  const bool is_host =
      IsHostName(text.substr(at, run), port != 0) || IsFirstName(text, at, run, port);
  return is_host ? HitAt(text, at, run) : RedactionHit();
}

RedactionHit FindUser(const Redactor& redactor, std::string_view text, size_t at) {
  if (!IsWordStart(text, at)) return {};
  const size_t word = redactor.WordAt(RedactionKind::kUser, text, at);
  if (word != 0) return HitAt(text, at, word);
  if (RedactionHit hit = FindDomainUser(text, at); hit.found()) return hit;
  return FindNamed(text, at,
                   {"user", "username", "user_name", "login", "owner", "author", "logname",
                    "whoami", "account"});
}

}  // namespace hloscope::debug
