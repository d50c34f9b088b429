// Theme: the colours of palette.def, dark or light.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/hlo/opcode.h"

namespace hloscope::viewer {

enum class Verdict : uint8_t;  // of verdict_table.h

enum class Color : uint8_t {
#define COLOR(name, dark, light, help) name,
#include "viewer/widgets/palette.def"
#undef COLOR
};
inline constexpr size_t kColorCount = 0
#define COLOR(...) +1
#include "viewer/widgets/palette.def"
#undef COLOR
    ;

class Theme {
 public:
  explicit Theme(bool dark);
  bool dark() const { return dark_; }
  // 0xAABBGGRR, as draw lists take it; alpha from 0 to 1.
  uint32_t operator[](Color color) const { return colors_[static_cast<size_t>(color)]; }
  uint32_t With(Color color, float alpha) const;
  // 0xRRGGBB.
  uint32_t Rgb(Color color) const;

 private:
  bool dark_;
  std::array<uint32_t, kColorCount> colors_;
};

std::string_view NameOf(Color color);
// The colour of an opcode's role.
Color ColorOf(hlo::Opcode opcode);
// The colour of a verdict of the divergence lab.
Color ColorOf(Verdict verdict);
// A sign for that role, for readers who do not see the colours: one character of the mono font.
std::string_view SignOf(Color role);

}  // namespace hloscope::viewer
