// Looks into the encodings in which frameworks store their programs.
#include "core/debug/bundle/payload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/gzip.h"
#include "core/base/limits.h"
#include "core/base/parse_json.h"
#include "core/base/text.h"
#include "core/debug/bundle/secret_names.h"
#include "core/debug/bundle/sha256.h"

namespace hloscope::debug {
namespace {

// Shorter runs of base 64 are read as text.
constexpr size_t kMinEncoded = 64;
constexpr int kMaxDepth = 4;  // encodings within one another

bool HasSecretAt(std::string_view payload, const Redactor& redactor, int depth);

int SixBits(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

// Letters of both cases and digits, as those of a long encoded text.
bool IsEncoded(std::string_view run) {
  return run.size() >= kMinEncoded && std::ranges::any_of(run, IsUpper) &&
         std::ranges::any_of(run, IsLower) && std::ranges::any_of(run, IsDigit);
}

std::string DecodeBase64(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const int value = SixBits(c);
    if (value < 0) break;
    bits = bits << 6 | static_cast<uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += static_cast<char>(bits >> count & 0xFF);
  }
  return out;
}

bool IsPrintable(char c) { return (c >= ' ' && c <= '~') || c == '\t' || c == '\n'; }

// Whether a person or a compiler wrote it as text.
bool IsText(std::string_view bytes) {
  return IsUtf8(bytes) && std::ranges::all_of(bytes, [](char c) {
           return IsPrintable(c) || c == '\r' || static_cast<unsigned char>(c) >= 0x80;
         });
}

// The strings within binary data; a byte of their lengths may precede them.
bool StringsHaveSecret(std::string_view bytes, const Redactor& redactor) {
  constexpr size_t kMin = 5;
  for (size_t at = 0; at < bytes.size();) {
    size_t end = at;
    while (end < bytes.size() && IsPrintable(bytes[end])) ++end;
    const std::string_view run = bytes.substr(at, end - at);
    if (run.size() >= kMin && (redactor.HasSecret(run) || redactor.HasSecret(run.substr(1)))) {
      return true;
    }
    at = end + 1;
  }
  return false;
}

// The formats of binary data in which strings are stored as they are.
bool StoresPlainStrings(std::string_view bytes) {
  constexpr std::string_view kMlir = "ML\xEFR",
                             kElf =
                                 "\x7F"
                                 "ELF",
                             kLlvm = "BC\xC0\xDE";
  return bytes.starts_with(kMlir) || bytes.starts_with(kElf) || bytes.starts_with(kLlvm);
}

// UTF-16 of ASCII: every second byte is zero.
bool IsWide(std::string_view bytes) {
  constexpr size_t kMin = 16;
  for (const size_t first : {size_t{0}, size_t{1}}) {
    bool is_wide = bytes.size() >= kMin;
    for (size_t k = first; is_wide && k < bytes.size(); k += 2) is_wide = bytes[k] == '\0';
    if (is_wide) return true;
  }
  return false;
}

// A key of SSH: the length of the name of its kind, and the name.
bool IsSshKey(std::string_view bytes) {
  constexpr size_t kLength = 4;
  if (bytes.size() < 2 * kLength || bytes[0] != '\0' || bytes[1] != '\0' || bytes[2] != '\0') {
    return false;
  }
  const std::string_view name = bytes.substr(kLength);
  return name.starts_with("ssh-") || name.starts_with("ecdsa-") || name.starts_with("sk-");
}

bool BinaryHasSecret(std::string_view bytes, const Redactor& redactor, int depth) {
  if (IsSshKey(bytes)) return true;
  if (IsWide(bytes)) {
    std::string text(bytes);
    std::erase(text, '\0');
    return HasSecretAt(text, redactor, depth + 1);
  }
  if (StoresPlainStrings(bytes)) return StringsHaveSecret(bytes, redactor);
  Limits limits;
  limits.archive_member_bytes = int64_t{64} << 20;
  if (IsGzip(bytes) || IsZlib(bytes)) {
    const auto inner = IsGzip(bytes) ? Gunzip(bytes, limits) : Unzlib(bytes, limits);
    if (!inner) return true;
    const std::string_view text = inner->bytes();
    return IsText(text) ? HasSecretAt(text, redactor, depth + 1)
                        : StringsHaveSecret(text, redactor);
  }
  // A message of fields: bytes of all sizes with few that are high.
  const auto high = std::ranges::count_if(bytes, [](char c) { return (c & 0x80) != 0; });
  return high * 4 > static_cast<std::ptrdiff_t>(bytes.size()) || StringsHaveSecret(bytes, redactor);
}

bool StringsOfJsonHaveSecret(const nlohmann::json& json, const Redactor& redactor, int depth) {
  if (json.is_string()) return HasSecretAt(json.get_ref<const std::string&>(), redactor, depth);
  if (!json.is_structured()) return false;
  for (const auto& [key, value] : json.items()) {
    if (json.is_object()) {
      if (redactor.HasSecret(key)) return true;
      // What is encoded is looked into below.
      if (value.is_string() && !IsEncoded(value.get_ref<const std::string&>()) &&
          redactor.HasSecret(key + "=" + value.get_ref<const std::string&>())) {
        return true;
      }
    }
    if (StringsOfJsonHaveSecret(value, redactor, depth)) return true;
  }
  return false;
}

bool HasSecretAt(std::string_view payload, const Redactor& redactor, int depth) {
  if (depth > kMaxDepth) return true;
  if (!IsText(payload)) return BinaryHasSecret(payload, redactor, depth);
  const size_t first = payload.find_first_not_of(" \n\t");
  if (first != std::string_view::npos && (payload[first] == '{' || payload[first] == '[')) {
    if (const auto json = ParseJson(payload)) {
      return StringsOfJsonHaveSecret(*json, redactor, depth + 1);
    }
  }
  std::string rest;  // without what is encoded
  for (size_t at = 0; at < payload.size();) {
    size_t end = at;
    while (end < payload.size() && SixBits(payload[end]) >= 0) ++end;
    const std::string_view run = payload.substr(at, end - at);
    const bool is_encoded = IsEncoded(run);
    if (is_encoded) {
      const std::string bytes = DecodeBase64(run);
      if (IsText(bytes) ? HasSecretAt(bytes, redactor, depth + 1)
                        : BinaryHasSecret(bytes, redactor, depth + 1)) {
        return true;
      }
    }
    rest += is_encoded ? " " : run;
    if (end < payload.size()) rest += payload[end];
    at = end + 1;
  }
  return redactor.HasSecret(rest);
}

}  // namespace

bool PayloadHasSecret(std::string_view payload, const Redactor& redactor) {
  return HasSecretAt(payload, redactor, 0);
}

std::string PayloadStandIn(std::string_view payload) {
  return fmt::format("<payload {} {} bytes>", Sha256Hex(payload), payload.size());
}

}  // namespace hloscope::debug
