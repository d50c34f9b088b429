// ValueSignatures: which fused instruction has a value that a register holds. Bits tell, since no
// line of PTX says where it comes from.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/literal.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

struct SignatureMatch {
  std::string instruction;  // empty: none
  bool same_bits = false;
  bool at_element = false;  // else it is another element's
};

class ValueSignatures {
 public:
  // Evaluates `alone` (one fusion or instruction as a module) on its arguments and keeps what each
  // instruction inside makes. `element`: linear index, in row-major order, of the element asked
  // for; arrays of as many elements as the result are looked up there first.
  static Result<ValueSignatures> Make(const hlo::Module& alone,
                                      std::span<const hlo::Literal> arguments, int64_t element,
                                      int64_t elements);

  // The same of values that are known already: those of instructions of `alone`.
  static ValueSignatures Of(const hlo::Module& alone,
                            std::span<const std::pair<hlo::InstructionId, hlo::Literal>> values,
                            int64_t element, int64_t elements);

  // The first instruction that makes these bits, of values as wide; for floats up to 4 ULP away at
  // the element. 0, 1 and other small integers say nothing.
  SignatureMatch Find(uint64_t bits, uint32_t bytes) const;
  // The same, and where a register of that PTX type holds a pair ("f16x2") also of its halves.
  SignatureMatch FindIn(uint64_t bits, uint32_t bytes, std::string_view type) const;

 private:
  struct Row {
    std::string instruction;
    hlo::ElementType type;
    uint32_t bytes;
    bool has_element;
    uint64_t element;              // its bits
    std::vector<uint64_t> sorted;  // all bits there are, each once
  };
  std::vector<Row> rows_;
};

}  // namespace hloscope::debug
