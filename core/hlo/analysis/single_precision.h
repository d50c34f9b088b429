// SinglePrecision: which values of double precision are no more exact than f32.
#pragma once

#include <cstddef>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::hlo {

// A leaf is so where it is f64 or c128 and something that it is computed from was rounded to f32 or
// less. What goes through integers and booleans does not count, and parameters of the entry are
// exact. Takes time linear in the leaves, times how deeply computations call one another.
class SinglePrecision {
 public:
  explicit SinglePrecision(const Module& module);
  bool Of(InstructionId id, size_t leaf) const;

 private:
  void Visit(const Module& module, InstructionId id);
  void Merge(InstructionId to, size_t first, const std::vector<bool>& from);
  std::vector<bool> Of(InstructionId id) const;
  bool Computed(const Module& module, InstructionId id, const Shape& leaf) const;

  std::vector<size_t> first_;  // by instruction, into `rounded_`; empty: nothing is of f64
  std::vector<bool> rounded_;  // by leaf of an instruction
  bool changed_ = false;
};

}  // namespace hloscope::hlo
