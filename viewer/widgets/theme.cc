// The palette, dark and light, and the colours of opcodes by their role.
#include "viewer/widgets/theme.h"

#include <algorithm>
#include <cmath>

#include "core/graph/looks.h"

namespace hloscope::viewer {
namespace {

struct ColorRow {
  std::string_view name;
  uint32_t dark, light;
};
constexpr ColorRow kRows[] = {
#define COLOR(name, dark, light, help) {#name, dark, light},
#include "viewer/widgets/palette.def"
#undef COLOR
};

uint32_t Packed(uint32_t rgb, float alpha) {
  auto a = static_cast<uint32_t>(std::lround(std::clamp(alpha, 0.0f, 1.0f) * 255));
  return a << 24 | (rgb & 0xff) << 16 | (rgb & 0xff00) | (rgb >> 16 & 0xff);
}

}  // namespace

Theme::Theme(bool dark) : dark_(dark), colors_{} {
  for (size_t i = 0; i < kColorCount; ++i) {
    colors_[i] = Packed(dark ? kRows[i].dark : kRows[i].light, 1);
  }
}

uint32_t Theme::With(Color color, float alpha) const { return Packed(Rgb(color), alpha); }

uint32_t Theme::Rgb(Color color) const {
  const ColorRow& row = kRows[static_cast<size_t>(color)];
  return dark_ ? row.dark : row.light;
}

std::string_view NameOf(Color color) { return kRows[static_cast<size_t>(color)].name.substr(1); }

Color ColorOf(hlo::Opcode opcode) {
  constexpr Color kOfRoles[] = {
#define ROLE(name, text, color) Color::name,
#include "core/graph/roles.def"
#undef ROLE
  };
  return kOfRoles[static_cast<size_t>(graph::RoleOf(opcode))];
}

Color ColorOf(Verdict verdict) {
  constexpr Color kOfVerdicts[] = {
#define VERDICT(name, words, color, mark, help) Color::color,
#include "viewer/model/verdicts.def"
#undef VERDICT
  };
  return kOfVerdicts[static_cast<size_t>(verdict)];
}

std::string_view SignOf(Color role) {
  switch (role) {
    case Color::kContraction:
      return "×";
    case Color::kReduction:
      return "Σ";
    case Color::kMovement:
      return "↔";
    case Color::kBroadcast:
      return "↗";
    case Color::kCollective:
      return "◊";
    case Color::kParameter:
      return "▸";
    case Color::kControl:
      return "○";
    case Color::kElementwise:
      return "+";
    default:
      return "■";
  }
}

}  // namespace hloscope::viewer
