// Colours that carry meaning are told apart with normal sight and with each of the three colour
// blindnesses.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "core/graph/looks.h"
#include "viewer/widgets/theme.h"

namespace hloscope::viewer {
namespace {

using Vec = std::array<double, 3>;
using Matrix = std::array<Vec, 3>;

Vec Apply(const Matrix& m, const Vec& v) {
  Vec out{};
  for (size_t i = 0; i < 3; ++i) out[i] = m[i][0] * v[0] + m[i][1] * v[1] + m[i][2] * v[2];
  return out;
}

Vec Linear(uint32_t rgb) {
  Vec out{};
  for (size_t i = 0; i < 3; ++i) {
    double c = static_cast<double>(rgb >> (16 - 8 * i) & 0xff) / 255;
    out[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  return out;
}

// CIE L*a*b* under D65 of linear sRGB.
Vec Lab(const Vec& linear) {
  constexpr Matrix kToXyz = {{{0.4124564, 0.3575761, 0.1804375},
                              {0.2126729, 0.7151522, 0.0721750},
                              {0.0193339, 0.1191920, 0.9503041}}};
  Vec xyz = Apply(kToXyz, linear);
  auto f = [](double t) {
    return t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116;
  };
  double x = f(xyz[0] / 0.95047), y = f(xyz[1]), z = f(xyz[2] / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

// CIEDE2000 (Sharma, Wu, Dalal 2005).
double Difference(const Vec& one, const Vec& two) {
  constexpr double kDegree = std::numbers::pi / 180, kPow25 = 6103515625.0;
  double c_mean = (std::hypot(one[1], one[2]) + std::hypot(two[1], two[2])) / 2;
  double g = 0.5 * (1 - std::sqrt(std::pow(c_mean, 7) / (std::pow(c_mean, 7) + kPow25)));
  double a1 = one[1] * (1 + g), a2 = two[1] * (1 + g);
  double c1 = std::hypot(a1, one[2]), c2 = std::hypot(a2, two[2]);
  auto hue = [&](double a, double b) {
    double h = a == 0 && b == 0 ? 0 : std::atan2(b, a) / kDegree;
    return h < 0 ? h + 360 : h;
  };
  double h1 = hue(a1, one[2]), h2 = hue(a2, two[2]);
  double dl = two[0] - one[0], dc = c2 - c1, dh = h2 - h1;
  if (c1 * c2 == 0) dh = 0;
  if (dh > 180) dh -= 360;
  if (dh < -180) dh += 360;
  double dH = 2 * std::sqrt(c1 * c2) * std::sin(dh / 2 * kDegree);
  double l = (one[0] + two[0]) / 2, c = (c1 + c2) / 2, h = h1 + h2;
  if (c1 * c2 != 0) h = std::abs(h1 - h2) <= 180 ? h / 2 : h < 360 ? h / 2 + 180 : h / 2 - 180;
  double t = 1 - 0.17 * std::cos((h - 30) * kDegree) + 0.24 * std::cos(2 * h * kDegree) +
             0.32 * std::cos((3 * h + 6) * kDegree) - 0.20 * std::cos((4 * h - 63) * kDegree);
  double sl = 1 + 0.015 * (l - 50) * (l - 50) / std::sqrt(20 + (l - 50) * (l - 50));
  double sc = 1 + 0.045 * c, sh = 1 + 0.015 * c * t;
  double rc = 2 * std::sqrt(std::pow(c, 7) / (std::pow(c, 7) + kPow25));
  double rt = -rc * std::sin(60 * std::exp(-std::pow((h - 275) / 25, 2)) * kDegree);
  return std::sqrt(dl / sl * (dl / sl) + dc / sc * (dc / sc) + dH / sh * (dH / sh) +
                   rt * (dc / sc) * (dH / sh));
}

// Machado, Oliveira, Fernandes 2009, severity 1.
struct Sight {
  const char* name;
  Matrix matrix;
};
constexpr Sight kSights[] = {
    {"normal", {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}},
    {"protanopia",
     {{{0.152286, 1.052583, -0.204868},
       {0.114503, 0.786281, 0.099216},
       {-0.003882, -0.048116, 1.051998}}}},
    {"deuteranopia",
     {{{0.367322, 0.860646, -0.227968},
       {0.280085, 0.672501, 0.047413},
       {-0.011820, 0.042940, 0.968881}}}},
    {"tritanopia",
     {{{1.255528, -0.076749, -0.178779},
       {-0.078411, 0.930809, 0.147602},
       {0.004733, 0.691367, 0.303900}}}},
};

Vec Seen(const Sight& sight, uint32_t rgb) {
  Vec linear = Apply(sight.matrix, Linear(rgb));
  for (double& c : linear) c = std::clamp(c, 0.0, 1.0);
  return Lab(linear);
}

double Luminance(uint32_t rgb) {
  Vec c = Linear(rgb);
  return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2];
}
double Contrast(uint32_t one, uint32_t two) {
  double a = Luminance(one), b = Luminance(two);
  return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

// Which colours stand beside one another and must not be mixed up.
const std::vector<std::vector<Color>> kGroups = {
    {Color::kContraction, Color::kReduction, Color::kMovement, Color::kBroadcast,
     Color::kCollective, Color::kParameter, Color::kControl, Color::kElementwise, Color::kFusion},
    {Color::kDeviceGpu, Color::kDeviceOther, Color::kDeviceHost, Color::kDeviceFallback,
     Color::kDeviceNone},
    {Color::kKernel1, Color::kKernel2, Color::kKernel3, Color::kKernel4, Color::kKernel5,
     Color::kDeviceFallback},
    {Color::kPlaceKernel, Color::kPlaceInKernel, Color::kPlaceLibrary, Color::kPlaceCollective,
     Color::kPlaceHost, Color::kPlaceHostMemory, Color::kPlaceCopy, Color::kPlaceControl,
     Color::kPlaceNoCode},
    {Color::kAdded, Color::kRemoved, Color::kRewritten, Color::kMoved},
    {Color::kBitEqual, Color::kWithinUlp, Color::kWithinBound, Color::kBeyondBound,
     Color::kNotFinite},
};

TEST(Palette, DifferenceIsThePublishedOne) {
  // Pairs 1 and 25 of the test data of Sharma, Wu and Dalal.
  EXPECT_NEAR(Difference({50, 2.6772, -79.7751}, {50, 0, -82.7485}), 2.0425, 1e-4);
  EXPECT_NEAR(Difference({60.2574, -34.0099, 36.2677}, {60.4626, -34.1751, 39.4387}), 1.2644, 1e-4);
}

TEST(Palette, GroupsAreToldApart) {
  for (bool dark : {true, false}) {
    Theme theme(dark);
    for (const std::vector<Color>& group : kGroups) {
      for (const Sight& sight : kSights) {
        for (size_t i = 0; i < group.size(); ++i) {
          for (size_t j = i + 1; j < group.size(); ++j) {
            EXPECT_GE(
                Difference(Seen(sight, theme.Rgb(group[i])), Seen(sight, theme.Rgb(group[j]))), 10)
                << (dark ? "dark " : "light ") << sight.name << ": " << NameOf(group[i]) << " and "
                << NameOf(group[j]);
          }
        }
      }
    }
  }
}

// Lists and graph show an opcode in one colour.
TEST(Palette, OpcodesHaveTheColourOfTheirRole) {
  EXPECT_EQ(ColorOf(hlo::Opcode::kGather), Color::kReduction);
  EXPECT_EQ(ColorOf(hlo::Opcode::kScatter), Color::kReduction);
  EXPECT_EQ(ColorOf(hlo::Opcode::kIota), Color::kBroadcast);
  EXPECT_EQ(ColorOf(hlo::Opcode::kConstant), Color::kParameter);
  EXPECT_EQ(ColorOf(hlo::Opcode::kRng), Color::kElementwise);
  EXPECT_EQ(graph::RoleOf(hlo::Opcode::kRng), graph::Role::kElementwise);
  EXPECT_EQ(ColorOf(hlo::Opcode::kFusion), Color::kFusion);
}

TEST(Palette, TextAndMarksStandOut) {
  for (bool dark : {true, false}) {
    Theme theme(dark);
    for (Color text :
         {Color::kText, Color::kTextSecondary, Color::kAccent, Color::kWarning, Color::kError,
          Color::kGood, Color::kCodeKeyword, Color::kCodeType, Color::kCodeNumber,
          Color::kCodeString, Color::kCodeComment, Color::kCodeName, Color::kAdded, Color::kRemoved,
          Color::kRewritten, Color::kMoved, Color::kDeviceFallback, Color::kBeyondBound}) {
      for (Color ground : {Color::kPanel, Color::kCanvas}) {
        EXPECT_GE(Contrast(theme.Rgb(text), theme.Rgb(ground)), 4.5)
            << (dark ? "dark " : "light ") << NameOf(text);
      }
    }
    // Of rows that are selected too.
    for (Color text : {Color::kText, Color::kTextSecondary, Color::kAccent, Color::kWarning,
                       Color::kGood, Color::kDeviceFallback, Color::kError}) {
      for (Color ground : {Color::kRaised, Color::kSelected, Color::kHighlighted}) {
        EXPECT_GE(Contrast(theme.Rgb(text), theme.Rgb(ground)), 4.5)
            << (dark ? "dark " : "light ") << NameOf(text) << " on " << NameOf(ground);
      }
    }
    for (const std::vector<Color>& group : kGroups) {
      for (Color mark : group) {
        if (mark == Color::kBitEqual) continue;  // meant to recede
        EXPECT_GE(Contrast(theme.Rgb(mark), theme.Rgb(Color::kCanvas)), 3)
            << (dark ? "dark " : "light ") << NameOf(mark);
      }
    }
  }
}

}  // namespace
}  // namespace hloscope::viewer
