// Filters reports by the rows of report_fields.def.
#include "core/debug/bundle/report_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/base/parse_json.h"
#include "core/base/text.h"
#include "core/debug/bundle/redact_rules.h"
#include "core/debug/bundle/secret_names.h"

namespace hloscope::debug {
namespace {

using OrderedJson = nlohmann::ordered_json;

enum class FieldKind : uint8_t { kText, kSentence, kNumber, kMagnitude, kValue, kMap, kGroup };
struct FieldRow {
  std::string_view key;
  FieldKind kind;
};
constexpr FieldRow kFields[] = {
#define FIELD(key, kind) {key, FieldKind::kind},
#include "core/debug/bundle/report_fields.def"
#undef FIELD
};

std::optional<FieldKind> KindOf(std::string_view key) {
  const auto* row = std::ranges::find(kFields, key, &FieldRow::key);
  return row == std::end(kFields) ? std::nullopt : std::optional(row->kind);
}

OrderedJson WithoutValues(const OrderedJson& json, FieldKind kind);

// The members that have a row; those of a map whatever they are called.
OrderedJson AllowedMembers(const OrderedJson& object, FieldKind kind, bool with_values) {
  OrderedJson out = OrderedJson::object();
  for (const auto& [key, value] : object.items()) {
    const auto own = kind == FieldKind::kMap ? std::optional(FieldKind::kMap) : KindOf(key);
    if (!own) continue;
    const bool of_map = kind == FieldKind::kMap && value.is_object();
    const FieldKind of_value = of_map ? FieldKind::kGroup : *own;
    if (with_values) {
      out[key] = value;
    } else if (of_value != FieldKind::kValue) {
      out[key] = WithoutValues(value, of_value);
    }
  }
  return out;
}

OrderedJson WithoutValues(const OrderedJson& json, FieldKind kind) {
  if (json.is_object()) return AllowedMembers(json, kind, false);
  if (json.is_array()) {
    OrderedJson out = OrderedJson::array();
    for (const OrderedJson& element : json) out.push_back(WithoutValues(element, kind));
    return out;
  }
  if (json.is_string()) {
    const bool is_kept = kind == FieldKind::kText || kind == FieldKind::kMap;
    return is_kept ? json : OrderedJson(WithoutElements(json.get_ref<const std::string&>()));
  }
  if (!json.is_number()) return json;
  if (kind == FieldKind::kNumber || kind == FieldKind::kMap) return json;
  if (kind != FieldKind::kMagnitude) return nullptr;
  const double rounded = Magnitude(json.get<double>());
  constexpr double kExact = 9e15;
  if (json.is_number_integer() && rounded < kExact) return static_cast<int64_t>(rounded);
  return rounded;
}

// The members of objects within, unknown ones left out; all values stay.
OrderedJson WithKnownFields(const OrderedJson& json, FieldKind kind) {
  if (json.is_array()) {
    OrderedJson out = OrderedJson::array();
    for (const OrderedJson& element : json) out.push_back(WithKnownFields(element, kind));
    return out;
  }
  if (!json.is_object()) return json;
  OrderedJson out = AllowedMembers(json, kind, true);
  for (auto& [key, value] : out.items()) {
    const auto own = kind == FieldKind::kMap ? std::nullopt : KindOf(key);
    value = WithKnownFields(value, own.value_or(FieldKind::kGroup));
  }
  return out;
}

// A number within a sentence, from `begin` on.
struct NumberToken {
  size_t length = 0;  // 0: none begins there
  bool is_whole = true, is_hex = false, is_version = false;
};

NumberToken NumberAt(std::string_view text, size_t begin) {
  const auto is_hex_digit = [](char c) {
    return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  if (!IsDigit(text[begin])) return {};
  if (begin > 0) {
    const char before = text[begin - 1];
    const bool signed_number =
        before == '-' && (begin == 1 || (!IsAlphanumeric(text[begin - 2]) &&
                                         text[begin - 2] != '_' && text[begin - 2] != '.'));
    constexpr std::string_view kOfNames = "_.%$#@/-";
    if (IsAlphanumeric(before)) return {};
    if (!signed_number && kOfNames.find(before) != std::string_view::npos) return {};
  }
  if (text.substr(begin).starts_with("0x")) {
    return {.length = 2 + RunLength(text, begin + 2, is_hex_digit), .is_hex = true};
  }
  NumberToken token;
  size_t end = begin + RunLength(text, begin, IsDigit);
  if (end + 1 < text.size() && text[end] == '.' && IsDigit(text[end + 1])) {
    token.is_whole = false;
    end += 1 + RunLength(text, end + 1, IsDigit);
    token.is_version = end + 1 < text.size() && text[end] == '.' && IsDigit(text[end + 1]);
  }
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    size_t exponent = end + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    const size_t digits = RunLength(text, exponent, IsDigit);
    if (digits > 0) {
      token.is_whole = false;
      end = exponent + digits;
    }
  }
  token.length = end - begin;
  return token;
}

// "60 s", "1,024 bytes"; of whole numbers "3 of 8 elements": what is measured or counted.
bool IsCounted(std::string_view before, std::string_view after, bool is_whole) {
  constexpr std::string_view kUnits[] = {"ms",  "us",  "ns", "s",   "B",       "bytes", "byte",
                                         "KiB", "MiB", "KB", "MB",  "GB",      "GiB",   "%",
                                         "TB",  "TiB", "h",  "min", "seconds", "second"};
  constexpr std::string_view kNouns[] = {"elements", "element", "of",         "lines",       "line",
                                         "times",    "stages",  "kernels",    "modules",     "runs",
                                         "threads",  "levels",  "iterations", "instructions"};
  const size_t space = after.starts_with(' ') ? 1 : 0;
  const size_t length = RunLength(after, space, [](char c) { return IsAlphanumeric(c); });
  const std::string_view word =
      after.substr(space).starts_with('%') ? "%" : after.substr(space, length);
  if (std::ranges::find(kUnits, word) != std::end(kUnits)) return true;
  return is_whole &&
         (before.ends_with(" of ") || std::ranges::find(kNouns, word) != std::end(kNouns));
}

// A number behind the name of a product is its version, which is no value of a run.
bool IsOfProduct(std::string_view before) {
  constexpr std::string_view kProducts[] = {"CUDA ",  "cuDNN ", "cuBLAS ", "NCCL ",   "ROCm ",
                                            "NumPy ", "JAX ",   "jaxlib ", "Python ", "PyTorch ",
                                            "PTX ",   "LLVM ",  "glibc ",  "version "};
  return std::ranges::any_of(kProducts,
                             [&](std::string_view name) { return before.ends_with(name); });
}

std::string Hidden(std::string_view number, const NumberToken& token) {
  constexpr size_t kMaxDigits = 4;  // of a whole number that stays
  if (token.is_whole && !token.is_hex && number.size() <= kMaxDigits) return std::string(number);
  double value = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
  if (token.is_hex || token.is_whole || read.ec != std::errc()) return "<value>";
  return ShortestText(Magnitude(value));
}

}  // namespace

double Magnitude(double error) {
  if (!std::isfinite(error) || error == 0) return error;
  std::array<char, 32> digits;
  const auto written = fmt::format_to_n(digits.data(), digits.size(), "{:.0e}", error);
  double rounded = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + written.size, rounded);
  // 2e308 is no double.
  return read.ec == std::errc() ? rounded : std::copysign(1e308, error);
}

std::string WithAllowedFields(const std::string& report_json, ValuePolicy policy) {
  const OrderedJson json = ParseOrderedJson(report_json).value_or(nullptr);
  if (!json.is_object()) return "{}";
  const OrderedJson allowed = policy < ValuePolicy::kStatistics
                                  ? WithoutValues(json, FieldKind::kGroup)
                                  : WithKnownFields(json, FieldKind::kGroup);
  return JsonText(allowed);
}

std::string WithoutElements(std::string_view sentence) {
  std::string text(sentence), out;
  HideValues(text);
  int64_t brackets = 0;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    brackets += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    const NumberToken token = NumberAt(text, at);
    if (token.length == 0) {
      out += c;
      ++at;
      continue;
    }
    const std::string_view number = std::string_view(text).substr(at, token.length);
    const size_t end = at + token.length;
    const bool is_index = brackets > 0 && token.is_whole && !token.is_hex;
    const bool is_kept =
        token.is_version || is_index || IsOfProduct(std::string_view(text).substr(0, at)) ||
        IsCounted(std::string_view(text).substr(0, at), std::string_view(text).substr(end),
                  token.is_whole && !token.is_hex);
    std::string shown = is_kept ? std::string(number) : Hidden(number, token);
    if (!is_kept && !token.is_whole && !shown.starts_with('<')) {
      // Of "-0.125" the sign is there already; a text that was rounded once stays as it is.
      const size_t sign = out.size() - (out.ends_with('-') ? 1 : 0);
      constexpr std::string_view kRounded = "about ";
      if (!std::string_view(out).substr(0, sign).ends_with(kRounded)) out.insert(sign, kRounded);
    }
    out += shown;
    at = end;
    if (!token.is_version) continue;
    const size_t more = RunLength(text, at, [](char d) { return d == '.' || IsAlphanumeric(d); });
    out += text.substr(at, more);
    at += more;
  }
  return out;
}

void HideValues(std::string& verdict) {
  // "result {0} differs in 3 of 8 elements: 1 at [0], expected 2", "… in 1 of 1 element: …"
  constexpr std::string_view kHolds = " holds ";
  for (const std::string_view elements : {" elements: ", " element: "}) {
    for (size_t at = verdict.find(elements); at != std::string::npos; at = verdict.find(elements)) {
      const size_t begin = at + elements.size() - 2, end = verdict.find(';', at);
      verdict.erase(begin, end == std::string::npos ? end : end - begin);
    }
  }
  if (const size_t at = verdict.find(kHolds); at != std::string::npos) {
    verdict.replace(at, std::string::npos, " is not finite");
  }
}

void HideValues(Failure& failure) {
  if (failure.kind == FailureKind::kDiffers || failure.kind == FailureKind::kNan) {
    HideValues(failure.text);
  }
  failure.text = WithoutElements(failure.text);
}

bool IsOfDifference(const std::string& verdict_json) {
  const OrderedJson json = ParseOrderedJson(verdict_json).value_or(nullptr);
  return json.is_object() && json.value("status", OrderedJson()) == "differs";
}

std::string SentenceOf(const std::string& verdict_json) {
  const OrderedJson json = ParseOrderedJson(verdict_json).value_or(nullptr);
  if (!json.is_object()) return "";
  const auto found = json.find("verdict");
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace hloscope::debug
