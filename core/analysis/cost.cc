#include "core/analysis/cost.h"

#include <algorithm>

#include "core/hlo/dimension_numbers.h"

namespace hloscope::analysis {
namespace {

using hlo::Category;
using hlo::InstructionId;
using hlo::Opcode;

double Elements(const hlo::Shape& shape) {
  if (!shape.IsArray()) return 0;
  return static_cast<double>(std::max<int64_t>(0, shape.ElementCount().value_or(0)));
}

double Bytes(const hlo::Shape& shape) {
  return static_cast<double>(std::max<int64_t>(0, shape.ByteSize().value_or(0)));
}

// The product of a dot's contracted dimensions.
double ContractedElements(const hlo::Module& module, const hlo::Instruction& i) {
  auto operands = module.operands(i);
  if (operands.empty()) return 1;
  const hlo::Shape& left = module.shape(operands[0]);
  double product = 1;
  for (int64_t d : hlo::DotDimsOf(module, module.attributes(i)).lhs.contracting) {
    if (d >= 0 && static_cast<size_t>(d) < left.rank())
      product *= static_cast<double>(left.dimension(static_cast<size_t>(d)));
  }
  return product;
}

// For each output element of a convolution: the kernel without its output features.
double KernelElements(const hlo::Module& module, const hlo::Instruction& i) {
  auto operands = module.operands(i);
  const auto* dims = hlo::ConvDimsOf(module, module.attributes(i)).labels;
  if (operands.size() < 2 || dims == nullptr) return 1;
  const hlo::Shape& kernel = module.shape(operands[1]);
  const auto feature = static_cast<size_t>(std::max<int64_t>(0, dims->kernel_output_feature));
  if (feature >= kernel.rank() || kernel.dimension(feature) <= 0) return 1;
  return Elements(kernel) / static_cast<double>(kernel.dimension(feature));
}

double OwnFlops(const hlo::Module& module, const hlo::Instruction& i) {
  const double out = Elements(module[i.shape]);
  if (i.opcode == Opcode::kDot) return 2 * out * ContractedElements(module, i);
  if (i.opcode == Opcode::kConvolution) return 2 * out * KernelElements(module, i);
  switch (hlo::Info(i.opcode).category) {
    case Category::kElementwise:
      return out;
    case Category::kReduction:
    case Category::kNormalization: {
      auto operands = module.operands(i);
      return operands.empty() ? out : Elements(module.shape(operands[0]));
    }
    default:
      return 0;
  }
}

double BodyFlops(const hlo::Module& module, const hlo::Instruction& call) {
  // Two levels: fusions inside of calls; what is deeper is counted where it stands.
  double flops = 0;
  for (hlo::ComputationId c : module.CalledComputations(call)) {
    for (const hlo::Instruction& i : module.instructions(module[c])) {
      flops += OwnFlops(module, i);
      if (i.opcode != Opcode::kFusion) continue;
      for (hlo::ComputationId inner : module.CalledComputations(i)) {
        for (const hlo::Instruction& k : module.instructions(module[inner]))
          flops += OwnFlops(module, k);
      }
    }
  }
  return flops;
}

}  // namespace

Cost CostOf(const hlo::Module& module, InstructionId id) {
  const hlo::Instruction& i = module[id];
  Cost cost;
  const Category category = hlo::Info(i.opcode).category;
  if (category == Category::kSource || category == Category::kTuple || i.opcode == Opcode::kBitcast)
    return cost;
  cost.bytes = Bytes(module[i.shape]);
  for (InstructionId operand : module.operands(i)) cost.bytes += Bytes(module.shape(operand));
  const bool body = i.opcode == Opcode::kFusion || i.opcode == Opcode::kCall ||
                    i.opcode == Opcode::kWhile || i.opcode == Opcode::kConditional;
  cost.flops = body ? BodyFlops(module, i) : OwnFlops(module, i);
  return cost;
}

}  // namespace hloscope::analysis
