// The ramp: linear between its colours.
#include "viewer/widgets/heat_ramp.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace hloscope::viewer {
namespace {

constexpr std::array kStops = {Color::kHeat1, Color::kHeat2, Color::kHeat3,
                               Color::kHeat4, Color::kHeat5, Color::kHeat6,
                               Color::kHeat7, Color::kHeat8, Color::kHeat9};

// Relative luminance of sRGB.
double LuminanceOf(uint32_t color) {
  constexpr std::array kWeights = {0.2126, 0.7152, 0.0722};
  double sum = 0;
  for (size_t k = 0; k < kWeights.size(); ++k) {
    const double c = (color >> (8 * k) & 0xffu) / 255.0;
    sum += kWeights[k] * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
  }
  return sum;
}

}  // namespace

uint32_t HeatColor(const Theme& theme, double place) {
  const double at = std::clamp(place, 0.0, 1.0) * (kStops.size() - 1);
  const auto below = std::min(static_cast<size_t>(at), kStops.size() - 2);
  const uint32_t low = theme[kStops[below]], high = theme[kStops[below + 1]];
  const double share = at - static_cast<double>(below);
  uint32_t out = 0xff000000u;
  for (int shift : {0, 8, 16}) {
    const double a = low >> shift & 0xffu, b = high >> shift & 0xffu;
    out |= static_cast<uint32_t>(std::lround(a + (b - a) * share)) << shift;
  }
  return out;
}

double ContrastOf(uint32_t one, uint32_t two) {
  constexpr double kFlare = 0.05;
  const double a = LuminanceOf(one) + kFlare, b = LuminanceOf(two) + kFlare;
  return std::max(a, b) / std::min(a, b);
}

uint32_t InkOn(const Theme& theme, uint32_t color) {
  const uint32_t light = theme[Color::kHeatInkLight], dark = theme[Color::kHeatInkDark];
  return ContrastOf(light, color) >= ContrastOf(dark, color) ? light : dark;
}

}  // namespace hloscope::viewer
