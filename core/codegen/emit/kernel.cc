#include "core/codegen/emit/kernel.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "core/hlo/dimension_numbers.h"
#include "core/hlo/window.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

Kernel::Kernel(const Module& m, InstructionId kernel, Machine for_machine)
    : module(m), id(kernel), machine(for_machine) {
  if (m[id].opcode != Opcode::kFusion) {
    roots = {id};
    const auto operands = m.operands(id);
    parameters.assign(operands.begin(), operands.end());
    instructions = {id};
    return;
  }
  const ComputationId called = m.GetComputation(m[id], AttributeKey::kCalls);
  parameters = m.Parameters(called);
  const hlo::Computation& computation = m[called];
  const bool is_tuple = m[computation.root].opcode == Opcode::kTuple;
  for (uint32_t k = 0; k < computation.instruction_count; ++k) {
    const InstructionId each(computation.first_instruction + k);
    if (m[each].opcode == Opcode::kParameter || (is_tuple && each == computation.root)) continue;
    instructions.push_back(each);
  }
  if (is_tuple) {
    const auto operands = m.operands(computation.root);
    roots.assign(operands.begin(), operands.end());
  } else {
    roots = {computation.root};
  }
}

Kernel::Kernel(const Module& m, InstructionId kernel, const Overwritten& by_kernel)
    : Kernel(m, kernel) {
  if (const auto found = by_kernel.find(kernel.index); found != by_kernel.end()) {
    overwritten = found->second;
  }
}

std::vector<hlo::WindowDimension> WindowOf(const Kernel& kernel, size_t rank) {
  return hlo::WindowDimensions(hlo::FindWindow(kernel.module, kernel.roots[0]), rank);
}

bool Kernel::IsParameter(InstructionId i) const {
  return std::ranges::find(parameters, i) != parameters.end();
}

bool Kernel::IsOverwritten(size_t operand) const {
  return std::ranges::find(overwritten, operand) != overwritten.end();
}

namespace {

// Attributes that say nothing of what is computed.
bool IsSilent(AttributeKey key) {
  switch (key) {
    case AttributeKey::kSharding:
    case AttributeKey::kFrontendAttributes:
    case AttributeKey::kControlPredecessors:
    case AttributeKey::kStatistics:
    case AttributeKey::kOrigin:
    case AttributeKey::kMetadata:
    case AttributeKey::kBackendConfig:
    case AttributeKey::kUnknown:
    case AttributeKey::kParameterNumber:
    case AttributeKey::kToApply:
    case AttributeKey::kResultAccuracy:
    case AttributeKey::kParameterReplication:
      return true;
    default:
      return false;
  }
}

class KeyWriter {
 public:
  explicit KeyWriter(const Module& module) : module_(module) {}

  void Name(InstructionId id) {
    const auto number = numbers_.size();
    numbers_.emplace(id.index, number);
  }
  void Operand(InstructionId id) {
    const auto found = numbers_.find(id.index);
    fmt::format_to(std::back_inserter(out_), "%{} ",
                   found == numbers_.end() ? SIZE_MAX : found->second);
  }
  void Shape(InstructionId id) {
    hlo::AppendTo(out_, module_.shape(id), false);
    out_ += ' ';
  }

  void Write(InstructionId id) {
    const Instruction& i = module_[id];
    Shape(id);
    out_ += hlo::ToString(i.opcode);
    out_ += ' ';
    for (InstructionId operand : module_.operands(id)) Operand(operand);
    for (const hlo::Attribute& attribute : module_.attributes(i)) {
      if (!IsSilent(attribute.key)) Attribute(attribute);
    }
    if (i.opcode == Opcode::kCustomCall) Options(i);
    if (const auto applied = module_.GetComputation(i, AttributeKey::kToApply); applied.valid()) {
      Computation(applied);
    }
    out_ += '\n';
    Name(id);
  }

  std::string Take() { return std::move(out_); }

 private:
  // What a custom call is told.
  void Options(const Instruction& i) {
    const auto* config = module_.Get<hlo::BackendConfig>(i, AttributeKey::kBackendConfig);
    if (config != nullptr && config->text.valid()) out_ += module_[config->text];
  }
  void Attribute(const hlo::Attribute& attribute) {
    fmt::format_to(std::back_inserter(out_), "{}=", static_cast<int>(attribute.key));
    switch (hlo::Info(attribute.key).kind) {
      case hlo::ValueKind::kLiteral: {
        const auto bytes = module_.Of<hlo::Literal>(attribute).bytes();
        for (const std::byte byte : bytes) {
          fmt::format_to(std::back_inserter(out_), "{:02x}", static_cast<unsigned>(byte));
        }
        break;
      }
      case hlo::ValueKind::kInts:
      case hlo::ValueKind::kSlices:
      case hlo::ValueKind::kPadding:
        fmt::format_to(std::back_inserter(out_), "{}", fmt::join(module_.IntsOf(attribute), ","));
        break;
      case hlo::ValueKind::kWindow:
        for (const hlo::WindowDimension& w : module_.Of<hlo::Window>(attribute).dimensions) {
          out_ += hlo::Text(w) + ";";
        }
        break;
      case hlo::ValueKind::kDimLabels:
        DimLabels(module_.Of<hlo::ConvolutionDims>(attribute));
        break;
      default:
        fmt::format_to(std::back_inserter(out_), "{}", module_.IntOf(attribute));
    }
    out_ += ' ';
  }
  void DimLabels(const hlo::ConvolutionDims& dims) {
    fmt::format_to(std::back_inserter(out_), "{} {} {} {} {} {} {} {} {}", dims.input_batch,
                   dims.input_feature, dims.kernel_input_feature, dims.kernel_output_feature,
                   dims.output_batch, dims.output_feature, fmt::join(dims.input_spatial, ","),
                   fmt::join(dims.kernel_spatial, ","), fmt::join(dims.output_spatial, ","));
  }
  void Computation(hlo::ComputationId id) {
    KeyWriter inner(module_);
    for (InstructionId parameter : module_.Parameters(id)) {
      inner.Shape(parameter);
      inner.Name(parameter);
    }
    const hlo::Computation& computation = module_[id];
    for (uint32_t k = 0; k < computation.instruction_count; ++k) {
      const InstructionId each(computation.first_instruction + k);
      if (module_[each].opcode != Opcode::kParameter) inner.Write(each);
    }
    inner.Operand(computation.root);
    out_ += '{' + inner.Take() + '}';
  }

  const Module& module_;
  std::unordered_map<uint32_t, size_t> numbers_;
  std::string out_;
};

}  // namespace

std::string KeyOf(const Kernel& kernel) {
  KeyWriter writer(kernel.module);
  for (InstructionId parameter : kernel.parameters) {
    writer.Shape(parameter);
    writer.Operand(parameter);  // tells equal operands of a single instruction
    writer.Name(parameter);
  }
  for (InstructionId each : kernel.instructions) writer.Write(each);
  for (InstructionId root : kernel.roots) writer.Operand(root);
  std::string key = writer.Take();
  for (const size_t operand : kernel.overwritten)
    fmt::format_to(std::back_inserter(key), "={}", operand);
  return key;
}

}  // namespace hloscope::codegen
