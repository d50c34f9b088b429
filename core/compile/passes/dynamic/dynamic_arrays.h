// DynamicArray: an array of dynamic size as the array of its bounds beside its sizes; and the
// writer of modules that are made of such.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/hlo/module_builder.h"

namespace hloscope::compile {

// An array of its bounds and the s32 size of each dimension; no instruction where that is the
// bound. The elements behind the sizes are those that the reference evaluator has there.
struct DynamicArray {
  hlo::InstructionId whole;
  std::vector<hlo::InstructionId> sizes;

  bool is_dynamic() const;
};

// The shape with bounds for sizes and no layout; of one array.
hlo::Shape BoundShape(const hlo::Shape& shape);
// True if there is an array of dynamic size in the shape.
bool HasDynamicArray(const hlo::Shape& shape);

// Writes the computations of a module anew, in their order, so that they keep their ids.
class DynamicWriter {
 public:
  explicit DynamicWriter(const hlo::Module& module);

  hlo::ModuleBuilder& builder() { return builder_; }
  const hlo::Module& original() const { return original_; }

  // A new instruction at the end of the computation; the name is made unique.
  hlo::InstructionId Add(std::string_view name, hlo::Opcode opcode, hlo::Shape shape,
                         std::span<const hlo::InstructionId> operands,
                         std::span<const hlo::Attribute> attributes = {});
  hlo::InstructionId Add(std::string_view name, hlo::Opcode opcode, hlo::Shape shape,
                         std::initializer_list<hlo::InstructionId> operands,
                         std::initializer_list<hlo::Attribute> attributes = {}) {
    return Add(name, opcode, std::move(shape), std::span(operands), std::span(attributes));
  }
  hlo::InstructionId Number(int64_t value);  // s32
  hlo::InstructionId Zero(hlo::ElementType type);
  // Of two s32.
  hlo::InstructionId Sum(hlo::InstructionId a, hlo::InstructionId b);
  hlo::InstructionId Broadcast(hlo::InstructionId value, const hlo::Shape& shape,
                               std::span<const int64_t> dimensions);
  // The elements within the sizes, `fill` behind them. `fill` is a scalar of the type.
  hlo::InstructionId Masked(const DynamicArray& array, const hlo::Shape& shape,
                            hlo::InstructionId fill);

  // A computation for the instruction of the module as it was, written behind all others.
  using WriteBody = std::function<hlo::InstructionId(DynamicWriter& writer)>;
  hlo::ComputationId AddLater(hlo::InstructionId of, std::string_view name, WriteBody body);
  // Writes the next of them; invalid where there is none left. Of which instruction it is.
  hlo::InstructionId WriteNext();

  // One value of type `shape`, as the evaluator has it, and the parts of such.
  hlo::InstructionId Joined(const DynamicArray& array, const hlo::Shape& shape);
  DynamicArray Split(hlo::InstructionId value, const hlo::Shape& shape);

 private:
  const hlo::Module& original_;
  hlo::ModuleBuilder builder_;
  uint32_t next_number_ = 0;
  struct Later {
    hlo::InstructionId of;
    hlo::ComputationId computation;
    WriteBody body;
  };
  std::deque<Later> later_;

  hlo::StringId Unique(std::string_view name);
};

// The number that leaves every other as it is when the reducer is applied to both; nullopt where
// that is not known, or does not fit the type.
std::optional<double> UnseenBy(const hlo::Module& module, hlo::ComputationId reducer,
                               hlo::ElementType type);

// What an instruction makes of arrays of dynamic size; the sizes of one result.
struct DynamicCall {
  DynamicWriter& writer;
  hlo::InstructionId id;  // in the module as it was
  std::vector<DynamicArray> operands;
};

// The result, by the rule of the opcode; nullopt where there is none that holds: the evaluator runs
// it.
std::optional<DynamicArray> Compute(DynamicCall& call);
std::optional<DynamicArray> DynamicReshape(DynamicCall& call);

}  // namespace hloscope::compile
