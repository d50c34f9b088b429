// Operands seen through computations that are called from several places.
#pragma once

#include <cstdint>
#include <vector>

#include "core/analysis/align/alignment_side.h"

namespace hloscope::analysis {

// The calls entered on the way down, so that a parameter of a computation leads back to the call
// one came from. A frame is a position; -1 is none.
class CallFrames {
 public:
  explicit CallFrames(const AlignmentSide& side) : side_(side) {}

  // The frame inside a call made in frame `outer`.
  int32_t Enter(uint32_t call, int32_t outer);
  // What computes `id` as seen in `frame`; `frame` becomes that of the answer.
  uint32_t Resolve(uint32_t id, int32_t& frame);

 private:
  struct Frame {
    int32_t outer;
    uint32_t call;
  };
  bool Element(uint32_t& id, int32_t& frame);

  const AlignmentSide& side_;
  std::vector<Frame> frames_;
};

}  // namespace hloscope::analysis
