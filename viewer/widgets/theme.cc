// The palette by light, and the colours and signs of opcodes by their category.
#include "viewer/widgets/theme.h"

#include <algorithm>
#include <cmath>

#include "viewer/model/experiment.h"

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
  using hlo::Category;
  using hlo::Opcode;
  // These are told apart from the rest of their category by how people look for them.
  switch (opcode) {
    case Opcode::kBroadcast:
    case Opcode::kIota:
    case Opcode::kDynamicUpdateSlice:
      return Color::kBroadcast;
    case Opcode::kParameter:
    case Opcode::kConstant:
      return Color::kParameter;
    default:
      break;
  }
  switch (hlo::Info(opcode).category) {
    case Category::kContraction:
    case Category::kLinearAlgebra:
      return Color::kContraction;
    case Category::kReduction:
    case Category::kNormalization:
    case Category::kSort:
      return Color::kReduction;
    case Category::kDataMovement:
    case Category::kDynamic:
      return Color::kMovement;
    case Category::kCollective:
      return Color::kCollective;
    case Category::kControl:
    case Category::kCustomCall:
    case Category::kHostTransfer:
      return Color::kControl;
    case Category::kElementwise:
    case Category::kSource:
      return Color::kElementwise;
    case Category::kFusion:
    case Category::kTuple:
      return Color::kFusion;
  }
  return Color::kFusion;
}

Color ColorOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSameBits:
      return Color::kBitEqual;
    case Verdict::kWithinUlp:
      return Color::kWithinUlp;
    case Verdict::kWithinBound:
      return Color::kWithinBound;
    case Verdict::kBeyond:
      return Color::kBeyondBound;
    case Verdict::kNotFinite:
      return Color::kNotFinite;
    case Verdict::kFailed:
      return Color::kDeviceNone;
  }
  return Color::kDeviceNone;
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
