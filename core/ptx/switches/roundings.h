// Roundings of a kernel done otherwise: to a side drawn by chance, which shows how far its rounding
// moves each result; or to nearest where it rounds otherwise.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ptx/machine/step_changer.h"
#include "core/ptx/ptx.h"
#include "core/ptx/text/syntax.h"

namespace hloscope::ptx {

// Sums, products, fma, roots, reciprocals and conversions of f32 and f64 round up or down, as the
// draw, the instruction and the bits of its operands say (stochastic arithmetic: what is exact
// stays so); approximate functions move to either end of their bound, sums of tensor cores by an
// ULP. Conversions to narrower types round as they do.
class RandomRounding final : public StepChanger {
 public:
  static constexpr uint32_t kDraws = 6;
  explicit RandomRounding(uint32_t draw) : draw_(draw) {}
  Step Changed(const Instruction& instruction, Step usual) const override;

 private:
  uint32_t draw_;
};

// False where an entry has products of tensor cores whose roundings are not drawn: those of warp
// groups, of tensor memory, of f8 and f16.
bool RoundingsAreDrawn(const Module& module, std::string_view entry);

struct DirectedRounding {
  Position position;
  std::string form;  // as written
};

// The arithmetic of an entry that rounds to zero or to an infinity, which no HLO instruction does.
// Left out are parts of functions that take the rounded bits apart as an integer (exp, log), or cut
// them to one (remainders, roundings away from zero).
std::vector<DirectedRounding> DirectedRoundings(const Module& module, std::string_view entry);

// The one at that place rounds to nearest.
class RoundingToNearest final : public StepChanger {
 public:
  explicit RoundingToNearest(Position place) : place_(place) {}
  Step Changed(const Instruction& instruction, Step usual) const override;

 private:
  Position place_;
};

}  // namespace hloscope::ptx
