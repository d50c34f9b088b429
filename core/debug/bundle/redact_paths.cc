// Finding paths: absolute ones of Linux, macOS and Windows, addresses with a scheme, and relative
// ones that end in a file.
#include <algorithm>
#include <cctype>

#include "core/debug/bundle/redact_rules.h"

namespace hloscope::debug {
namespace {

constexpr std::string_view kExtensions[] = {
    "py",      "pyc",         "cc",  "cpp", "c",     "h",   "hpp",  "cu",      "cuh",    "ipynb",
    "jl",      "ex",          "exs", "hlo", "txt",   "npz", "npy",  "pb",      "so",     "json",
    "mlir",    "go",          "rs",  "sh",  "yaml",  "yml", "toml", "cfg",     "log",    "pt",
    "ckpt",    "safetensors", "ptx", "ll",  "pbtxt", "csv", "md",   "whl",     "gz",     "zip",
    "hlob",    "ini",         "pkl", "bin", "js",    "ts",  "rb",   "java",    "hh",     "cxx",
    "xml",     "html",        "svg", "png", "proto", "tsv", "onnx", "parquet", "sqlite", "hloprof",
    "hloplan", "prof",        "out", "err", "index", "ttir"};

bool EndsPath(char c) {
  const auto byte = static_cast<unsigned char>(c);
  constexpr std::string_view kEnds = "\"'<>|*?;,:()[]{}`";
  return byte <= ' ' || byte == 0x7f || kEnds.find(c) != std::string_view::npos;
}

bool MayBegin(char c) {
  return IsAlphanumeric(c) || c == '.' || c == '_' || c == '-' || c == '~' || c == '+' ||
         c == '@' || c == '%' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

size_t PathLength(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && !EndsPath(text[end])) ++end;
  return end - at;
}

std::string_view ExtensionOf(std::string_view base) {
  const size_t dot = base.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return {};
  return base.substr(dot + 1);
}

// The folder of the path, with the separator before the base name.
RedactionHit PathHit(std::string_view text, size_t at, size_t length) {
  // A full stop after a path ends the sentence, not the path.
  while (length > 1 && (text[at + length - 1] == '.' || text[at + length - 1] == '!')) --length;
  // A backslash before a quote is the quote's.
  while (length > 1 && text[at + length - 1] == '\\') --length;
  const PathParts parts = PartsOfPath(text.substr(at, length));
  return {.begin = at,
          .end = at + length - parts.base.size(),
          .key = std::string(parts.folder),
          .suffix = parts.base.empty() ? "" : "/"};
}

// scheme://… but for web pages everybody knows.
RedactionHit FindAddress(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() && (IsAlphanumeric(text[end]) || text[end] == '+')) ++end;
  if (end - at < 2 || !text.substr(end).starts_with("://")) return {};
  size_t length = end + 3 - at;
  // Ports and IPv6 hosts belong to it.
  while (at + length < text.size() &&
         (!EndsPath(text[at + length]) || text[at + length] == ':' || text[at + length] == '[' ||
          text[at + length] == ']' || text[at + length] == '?')) {
    ++length;
  }
  const std::string_view whole = text.substr(at, length);
  static constexpr std::string_view kKnown[] = {
      "https://github.com/openxla/", "https://github.com/jax-ml/", "https://openxla.org/"};
  if (std::ranges::any_of(kKnown, [&](std::string_view k) { return whole.starts_with(k); })) {
    return {};
  }
  // A host alone is no file.
  if (whole.find('/', end + 3 - at) == std::string_view::npos) return HitAt(text, at, length);
  return PathHit(text, at, length);
}

// C:\… or C:/…; in texts with escapes a backslash may be two.
size_t WindowsLength(std::string_view text, size_t at) {
  const bool drive = std::isalpha(static_cast<unsigned char>(text[at])) != 0 &&
                     at + 2 < text.size() && text[at + 1] == ':' &&
                     (text[at + 2] == '\\' || text[at + 2] == '/');
  if (drive) return 2 + PathLength(text, at + 2);
  return 0;
}

// Backslash paths of other machines: \\host\share.
size_t ShareLength(std::string_view text, size_t at) {
  if (!text.substr(at).starts_with("\\\\") || at + 2 >= text.size()) return 0;
  size_t host = at + 2;
  while (host < text.size() && text[host] == '\\') ++host;
  if (host >= text.size() || !IsAlphanumeric(text[host])) return 0;
  const size_t length = PathLength(text, at);
  const std::string_view rest = text.substr(host, at + length - host);
  return rest.find('\\') == std::string_view::npos ? 0 : length;
}

// Folders that hold those of users and projects; one begins a path wherever it is.
bool BeginsAtRoot(std::string_view path) {
  constexpr std::string_view kRoots[] = {"/home/",
                                         "/Users/",
                                         "/ro"
                                         "ot/",
                                         "/scratch/",
                                         "/mnt/",
                                         "/nfs/",
                                         "/gpfs/",
                                         "/lustre/",
                                         "/export/",
                                         "/srv/"};
  return std::ranges::any_of(kRoots, [&](std::string_view root) { return path.starts_with(root); });
}

// Characters behind which a slash goes on with what was before: op names, fractions, closed tags.
bool GoesOn(char before) {
  return IsAlphanumeric(before) || before == '_' || before == '.' || before == ')' ||
         before == '-' || before == '/' || before == '<' || before == '>' || before == '*' ||
         before == ']' || before == '}' || before == '~' || before == '\\';
}

RedactionHit FindAbsolute(std::string_view text, size_t at) {
  const bool goes_on = at > 0 && GoesOn(text[at - 1]);
  // "jit(f)//data/jane/x": an absolute path within a scope, and not an address.
  const bool is_doubled = at > 1 && text[at - 1] == '/' && text[at - 2] != ':' &&
                          text[at - 2] != '/' && text[at - 2] != '<';
  const bool is_root =
      is_doubled || (at > 0 && !IsAlphanumeric(text[at - 1]) && BeginsAtRoot(text.substr(at)));
  if (goes_on && !is_root) return {};
  if (at + 1 >= text.size() || !MayBegin(text[at + 1])) return {};
  const size_t length = PathLength(text, at);
  if (is_root) return PathHit(text, at, length);
  if (text.substr(at + 1, length - 1).find('/') == std::string_view::npos) return {};
  return PathHit(text, at, length);
}

RedactionHit FindRelative(std::string_view text, size_t at) {
  const size_t length = PathLength(text, at);
  const std::string_view path = text.substr(at, length);
  if (path.find('/') == std::string_view::npos) return {};
  const std::string_view base = path.substr(path.rfind('/') + 1);
  if (!IsFileExtension(ExtensionOf(base))) return {};
  return PathHit(text, at, length);
}

}  // namespace

bool IsFileExtension(std::string_view extension) {
  return std::ranges::find(kExtensions, extension) != std::end(kExtensions);
}

PathParts PartsOfPath(std::string_view path) {
  const size_t slash = path.find_last_of("/\\");
  const std::string_view base = slash == std::string_view::npos ? path : path.substr(slash + 1);
  const bool is_plain = std::ranges::all_of(
      base, [](char c) { return c != '?' && c != '&' && c != '=' && c != '%'; });
  std::string_view folder = path;
  const bool is_file = IsFileExtension(ExtensionOf(base)) && is_plain;
  if (is_file) folder = slash == std::string_view::npos ? "" : path.substr(0, slash);
  while (folder.size() > 1 && (folder.back() == '/' || folder.back() == '\\')) {
    folder.remove_suffix(1);
  }
  return {folder, is_file ? base : std::string_view()};
}

std::string_view HomeOwner(std::string_view path) {
  static constexpr std::string_view kHomes[] = {"/usr/local/google/home/",
                                                "/export/home/",
                                                "/data/home/",
                                                "/data/users/",
                                                "/nfs/home/",
                                                "/home/",
                                                "/Users/",
                                                "/users/",
                                                "/u/"};
  for (const std::string_view home : kHomes) {
    const size_t at = path.find(home);
    if (at == std::string_view::npos) continue;
    std::string_view owner = path.substr(at + home.size());
    return owner.substr(0, owner.find_first_of("/\\\"' :,;)"));
  }
  constexpr std::string_view kUsers = "Users";
  for (size_t at = path.find(kUsers); at != std::string_view::npos;
       at = path.find(kUsers, at + 1)) {
    size_t owner = at + kUsers.size();
    while (owner < path.size() && path[owner] == '\\') ++owner;
    if (owner == at + kUsers.size()) continue;
    const std::string_view rest = path.substr(owner);
    return rest.substr(0, rest.find_first_of("/\\\"' :,;)"));
  }
  return {};
}

RedactionHit FindPath(const Redactor& /*redactor*/, std::string_view text, size_t at) {
  const char c = text[at];
  if (c == '/') return FindAbsolute(text, at);
  if (c == '\\') {
    const size_t length = at > 0 && text[at - 1] == '\\' ? 0 : ShareLength(text, at);
    return length == 0 ? RedactionHit() : PathHit(text, at, length);
  }
  const auto begins = [](char before) {
    return EndsPath(before) || before == '=' || before == '/';
  };
  const bool home = c == '~' && at + 1 < text.size() && (at == 0 || begins(text[at - 1]));
  if (home) {
    const size_t length = PathLength(text, at);
    const bool has_slash = text.substr(at, length).find('/') != std::string_view::npos;
    return has_slash ? PathHit(text, at, length) : RedactionHit();
  }
  const bool start = IsWordStart(text, at) || (c == '.' && (at == 0 || EndsPath(text[at - 1])));
  if (!start) return {};
  if (const size_t windows = WindowsLength(text, at); windows != 0)
    return PathHit(text, at, windows);
  if (RedactionHit hit = FindAddress(text, at); hit.found()) return hit;
  if (at > 0 && !EndsPath(text[at - 1]) && text[at - 1] != '=') return {};
  return FindRelative(text, at);
}

}  // namespace hloscope::debug
