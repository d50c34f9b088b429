// DotSide: the dimensions of an operand of a dot by what they are to the product.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/codegen/emit/index.h"
#include "core/hlo/module.h"

namespace hloscope::codegen {

struct DotSide {
  hlo::InstructionId id;
  std::span<const int64_t> sizes;
  std::vector<size_t> batch, sums;
  std::vector<size_t> outer, block;  // free ones; those of the block are neighbours
  int64_t block_size = 1;

  DotSide(const hlo::Module& module, hlo::InstructionId dot, size_t which);

  int64_t OuterSize() const;
  // `numbers`: by dimension; `block`: of all of the block's.
  Index IndexOf(const std::vector<LaneNumber>& numbers, const LaneNumber& block_number) const;
};

}  // namespace hloscope::codegen
