// What is reduced is padded with the initial value.
#include "core/debug/kernels/initial_values.h"

#include <array>
#include <string>
#include <vector>

#include "core/hlo/rewrite/rewriter.h"

namespace hloscope::debug {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

Result<std::shared_ptr<const Module>> InitialValuesAgain(
    const std::shared_ptr<const Module>& module, int64_t times) {
  hlo::Rewriter rewriter(module);
  int64_t made = 0;
  for (uint32_t i = 0; i < module->instructions().size(); ++i) {
    const InstructionId id(i);
    if ((*module)[id].opcode != Opcode::kReduce) continue;
    const auto dimensions = module->GetInts((*module)[id], AttributeKey::kDimensions);
    const auto originals = module->operands(id);
    if (dimensions.empty()) continue;
    std::vector<InstructionId> operands = rewriter.operands(id);
    const size_t arrays = operands.size() / 2;
    for (size_t k = 0; k < arrays; ++k) {
      hlo::Shape shape = module->shape(originals[k]).WithoutLayouts();
      std::vector<int64_t> padding(3 * shape.rank());
      const auto d = static_cast<size_t>(dimensions[0]);
      padding[3 * d + 1] = times;
      shape.set_dimension(d, shape.dimension(d) + times);
      const std::array attributes = {rewriter.builder().MakeInts(AttributeKey::kPadding, padding)};
      const std::array from = {operands[k], operands[arrays + k]};
      operands[k] = rewriter.Add((*module)[id].computation, "again." + std::to_string(made++),
                                 Opcode::kPad, std::move(shape), from, attributes);
    }
    std::vector<hlo::Attribute> attributes;
    for (const hlo::Attribute& attribute : module->attributes((*module)[id])) {
      if (attribute.key != AttributeKey::kControlPredecessors) attributes.push_back(attribute);
    }
    const InstructionId again =
        rewriter.Add((*module)[id].computation, "again." + std::to_string(made++), Opcode::kReduce,
                     module->shape(id), operands, attributes);
    rewriter.ReplaceAllUses(id, again);
    rewriter.Remove(id);
  }
  if (made == 0) return nullptr;
  HLOSCOPE_ASSIGN_OR_RETURN(hlo::RewriteResult result, rewriter.Finish());
  return std::move(result.module);
}

}  // namespace hloscope::debug
