// What an instruction computes and moves, told from its shapes alone (cost_rules.def): the work
// axis of a roofline.
#pragma once

#include <cstdint>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::hlo {

// Counts as XLA's HloCostAnalysis: a multiplication with an addition are two operations,
// transcendental functions are counted beside them, bytes are those of operands and results.
// Doubles: shapes may name more than 2^63.
struct Cost {
  double flops = 0, transcendentals = 0;
  double bytes_read = 0, bytes_written = 0;
  bool is_known =
      true;  // false where a custom call or a cycle of calls is in it: then a lower bound

  double bytes() const { return bytes_read + bytes_written; }
  // Operations for each byte moved; 0 where none is moved.
  double intensity() const { return bytes() == 0 ? 0 : (flops + transcendentals) / bytes(); }
  Cost& operator+=(const Cost& other);
};

// The costs of all instructions of a module, each computation once. A while counts one turn of its
// condition and body, a conditional its dearest branch.
class CostModel {
 public:
  explicit CostModel(const Module& module);
  const Cost& Of(InstructionId id) const { return costs_[id.index]; }
  const Cost& Of(ComputationId id) const { return sums_[id.index]; }

 private:
  std::vector<Cost> costs_;
  std::vector<Cost> sums_;
};
// Worked out when first asked for and kept with the module; threads may ask at the same time.
const CostModel& CostsOf(const Module& module);

// Whether its elements count as transcendentals (cost_rules.def).
bool IsTranscendental(Opcode opcode);

// As a whole number: of more than an int64_t holds the largest one.
int64_t WholeBytes(double bytes);
// Bytes of an array as XLA lays it out, of a tuple its table of pointers, 0 of tokens.
double ByteCount(const Shape& shape);
// Bytes of all arrays in the shape.
double LeafByteCount(const Shape& shape);

}  // namespace hloscope::hlo
