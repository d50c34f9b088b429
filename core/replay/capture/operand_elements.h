// OperandElements: which elements of its operands an element of an instruction's result is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/hlo/module.h"
#include "core/runtime/value.h"

namespace hloscope::replay {

class OperandElements {
 public:
  // Of an execution that had these operands and gave an array of that shape; all must outlive it.
  OperandElements(const hlo::Module& module, hlo::InstructionId id,
                  std::span<const runtime::Value> operands, const hlo::Shape& result);

  // Elements of operand `slot`, in row-major order, that element `at` of the result takes or is
  // computed from; nullopt where that is not known of the opcode.
  std::optional<std::vector<int64_t>> Of(size_t slot, int64_t at) const;

 private:
  using Index = std::vector<int64_t>;
  using Elements = std::optional<std::vector<int64_t>>;

  Elements OfElementwise(size_t slot, int64_t at) const;
  Elements OfMovement(size_t slot, const Index& index) const;
  Elements OfPad(size_t slot, const Index& index) const;
  Elements OfConcatenate(size_t slot, Index index) const;
  Elements OfUpdate(size_t slot, const Index& index) const;
  Elements OfReduce(size_t slot, const Index& index) const;
  Elements OfDot(size_t slot, const Index& index) const;
  std::optional<Index> Starts(size_t first, const hlo::Shape& whole, const hlo::Shape& part) const;
  const hlo::Shape& shape(size_t slot) const { return operands_[slot].shape(); }
  std::span<const int64_t> Ints(hlo::AttributeKey key) const {
    return module_.GetInts(module_[id_], key);
  }

  const hlo::Module& module_;
  hlo::InstructionId id_;
  std::span<const runtime::Value> operands_;
  const hlo::Shape& result_;
};

}  // namespace hloscope::replay
