// Numbers as people read them.
#include "viewer/model/number_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "core/graph/labels.h"

namespace hloscope::viewer {

std::string BytesText(int64_t bytes) { return bytes < 0 ? "?" : graph::BytesText(bytes); }

std::string ShortCountText(int64_t count) {
  if (count < 10000) return CountText(count);
  constexpr std::array<const char*, 4> kUnits = {"", "k", "M", "G"};
  auto value = static_cast<double>(count);
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f}{}", value, value >= 99.5 ? 0 : 1, kUnits[unit]);
}

std::string SiText(double value, std::string_view unit) {
  static constexpr std::array<const char*, 7> kPrefixes = {"", "k", "M", "G", "T", "P", "E"};
  size_t i = 0;
  while (std::abs(value) >= 999.5 && i + 1 < kPrefixes.size()) {
    value /= 1000;
    ++i;
  }
  const int digits = std::abs(value) >= 99.95 || (i == 0 && value == std::floor(value)) ? 0
                     : std::abs(value) >= 9.995                                         ? 1
                                                                                        : 2;
  return fmt::format("{:.{}f} {}{}", value, digits, kPrefixes[i], unit);
}

std::string NanosecondsText(double nanoseconds) {
  constexpr std::array<const char*, 4> kUnits = {"ns", "µs", "ms", "s"};
  size_t unit = 0;
  while (std::abs(nanoseconds) >= 999.5 && unit + 1 < kUnits.size()) {
    nanoseconds /= 1000;
    ++unit;
  }
  double size = std::abs(nanoseconds);
  int digits = size >= 99.95 || unit == 0 ? 0 : size >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", nanoseconds, digits, kUnits[unit]);
}

std::string ErrorText(double error) {
  if (error == 0) return {};
  if (std::isnan(error)) return "NaN";
  return std::isfinite(error) ? fmt::format("{:.2e}", error) : "inf";
}

std::string UlpText(uint64_t ulp) {
  constexpr uint64_t kFar = 999'999'999;
  return ulp > kFar ? "far" : SomeText(static_cast<int64_t>(ulp));
}

std::string SomeText(int64_t count) { return count == 0 ? std::string() : CountText(count); }

}  // namespace hloscope::viewer
