// Rewriting a module to double precision.
#include "core/eval/numbers/precise.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "core/eval/numbers/wide.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/float_types.h"
#include "core/hlo/module_builder.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::eval {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::ElementType;
using hlo::Instruction;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

// Custom calls whose kernels take any float type; of a name that ends in `*`, all that begin so.
constexpr std::string_view kWideTargets[] = {
    "AllocateBuffer",
    "MoveToDevice",
    "MoveToHost",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "ShardBarrierFrom",
    "ShardBarrierTo",
    "Sharding",
    "TopK",
    "__cublas$gemm",
    "__cublas$lt$matmul",
    "__cudnn$conv*",
    "__cudnn$norm",
    "__gpu$TopK",
    "annotate_device_placement",
};

bool IsWideTarget(std::string_view target) {
  return std::ranges::any_of(kWideTargets, [&](std::string_view row) {
    return row.ends_with('*') ? target.starts_with(row.substr(0, row.size() - 1)) : target == row;
  });
}

bool HasElidedConstant(const Module& module, const Instruction& instruction) {
  const auto* literal = module.Get<Literal>(instruction, AttributeKey::kConstantValue);
  return literal != nullptr && literal->elided();
}

bool KeepsItsTypes(const Module& module, const Instruction& instruction) {
  if (hlo::HasTrait(instruction.opcode, hlo::kTraitFixedTypes)) return true;
  if (instruction.opcode == Opcode::kBitcast) {
    const Shape& from = module.shape(module.operands(instruction)[0]);
    return from.element_type() != module[instruction.shape].element_type();
  }
  if (instruction.opcode == Opcode::kConstant) return HasElidedConstant(module, instruction);
  return instruction.opcode == Opcode::kCustomCall &&
         !IsWideTarget(module.GetString(instruction, AttributeKey::kCustomCallTarget));
}

// True if widening changes the shape's types.
bool IsNarrow(const Shape& shape) {
  return !hlo::Compatible(shape, WidenedShape(shape), {.dynamic_dimensions = false});
}

constexpr int kBitsOfF32 = 23, kExponentOfF64 = 11;

// 0 of what is no float.
int MantissaBits(ElementType type) {
  if (type == ElementType::kF64) return 52;
  if (type == ElementType::kF32) return kBitsOfF32;
  const hlo::FloatFormat* format = hlo::IsFloat(type) ? hlo::FindFloatFormat(type) : nullptr;
  return format == nullptr ? 0 : format->mantissa_bits;
}

int ExponentBits(ElementType type) {
  if (type == ElementType::kF64) return kExponentOfF64;
  if (type == ElementType::kF32) return 8;
  const hlo::FloatFormat* format = hlo::FindFloatFormat(type);
  return format == nullptr ? 0 : format->exponent_bits;
}

// The bits of mantissa to which an instruction asks its result to be rounded; nullopt: by nothing
// but its type, if that is f32 or wider.
std::optional<int> RoundedTo(const Module& module, InstructionId id) {
  const Instruction& instruction = module[id];
  const ElementType type = module.shape(id).element_type();
  if (!module.shape(id).IsArray() || !hlo::IsFloat(type)) return std::nullopt;
  const int bits = MantissaBits(type);
  if (instruction.opcode == Opcode::kConvert) {
    const int from = MantissaBits(module.shape(module.operands(id)[0]).element_type());
    return bits < from || (from == 0 && bits < kBitsOfF32) ? std::optional(bits) : std::nullopt;
  }
  using enum hlo::Category;
  const hlo::Category category = hlo::Info(instruction.opcode).category;
  const bool computes = category == kElementwise || category == kContraction ||
                        category == kReduction || category == kNormalization ||
                        category == kLinearAlgebra;
  const bool is_rounding = instruction.opcode == Opcode::kReducePrecision;
  return computes && !is_rounding && bits < kBitsOfF32 ? std::optional(bits) : std::nullopt;
}

class Widener {
 public:
  Widener(const Module& module, Roundings roundings, EntryTypes entry)
      : module_(module),
        roundings_(roundings),
        entry_(entry),
        builder_(module),
        kept_(ComputationsOfKeptCalls()),
        applied_(AppliedComputations()),
        new_ids_(module.instructions().size()) {
    for (const hlo::Computation& c : module.computations()) builder_.DeclareComputation(c.name);
  }

  std::shared_ptr<const Module> Run() {
    std::vector<ComputationId> order;
    for (uint32_t c = 0; c < module_.computations().size(); ++c) order.push_back(ComputationId(c));
    std::ranges::stable_sort(order, {},
                             [&](ComputationId id) { return module_[id].first_instruction; });
    for (ComputationId id : order) WidenComputation(id);
    builder_.SetEntry(module_.entry_id());
    builder_.header().entry_layout.reset();
    builder_.header().input_output_alias.clear();
    builder_.header().buffer_donors.clear();
    return builder_.Build();
  }

 private:
  // What only calls that keep their types call.
  std::vector<bool> ComputationsOfKeptCalls() const {
    const size_t count = module_.computations().size();
    std::vector<bool> kept(count, false);
    const hlo::CallGraph& graph = hlo::CallGraphOf(module_);
    for (ComputationId c : graph.callers_first()) {
      for (const hlo::Call& call : graph.calls(c)) {
        const Instruction& caller = module_[call.caller];
        const bool keeps = caller.opcode == Opcode::kCustomCall && KeepsItsTypes(module_, caller);
        if (kept[c.index] || keeps) kept[call.callee.index] = true;
      }
    }
    return kept;
  }

  // What is applied element by element: in which order is open, and how often it rounds with it.
  std::vector<bool> AppliedComputations() const {
    std::vector<bool> applied(module_.computations().size(), false);
    const hlo::CallGraph& graph = hlo::CallGraphOf(module_);
    for (ComputationId c : graph.callers_first()) {
      for (const hlo::Call& call : graph.calls(c)) {
        const bool applies = hlo::HasTrait(module_[call.caller].opcode, hlo::kTraitAppliesScalar);
        if (applied[c.index] || applies) applied[call.callee.index] = true;
      }
    }
    return applied;
  }

  void WidenComputation(ComputationId id) {
    const hlo::Computation& computation = module_[id];
    builder_.BeginComputation(id);
    for (uint32_t i = 0; i < computation.instruction_count; ++i) {
      const InstructionId old(computation.first_instruction + i);
      new_ids_[old.index] = kept_[id.index] ? Keep(old) : Widen(old);
    }
    builder_.EndComputation(new_ids_[computation.root.index], computation.execution_thread);
  }

  std::vector<InstructionId> Operands(InstructionId old) const {
    std::vector<InstructionId> operands;
    for (InstructionId operand : module_.operands(old)) {
      operands.push_back(new_ids_[operand.index]);
    }
    return operands;
  }

  std::vector<Attribute> Attributes(InstructionId old,
                                    std::optional<AttributeKey> left_out = {}) const {
    std::vector<Attribute> attributes;
    for (const Attribute& a : module_.attributes(module_[old])) {
      if (a.key != AttributeKey::kControlPredecessors && a.key != left_out) attributes.push_back(a);
    }
    return attributes;
  }

  InstructionId Add(InstructionId old, Opcode opcode, Shape shape,
                    std::span<const InstructionId> operands,
                    std::span<const Attribute> attributes) {
    return builder_.AddInstruction(module_[old].name, opcode,
                                   builder_.InternShape(std::move(shape)), operands, attributes);
  }

  InstructionId Keep(InstructionId old) {
    return Add(old, module_[old].opcode, module_.shape(old), Operands(old), Attributes(old));
  }

  InstructionId Widen(InstructionId old) {
    const Instruction& instruction = module_[old];
    const Opcode opcode = instruction.opcode;
    const Shape& shape = module_.shape(old);
    const bool of_entry = instruction.computation == module_.entry_id();
    if (opcode == Opcode::kParameter && of_entry && entry_ == EntryTypes::kKept) {
      return Converted(Keep(old), shape, true);
    }
    if (KeepsItsTypes(module_, instruction)) return WidenAround(old);
    if (opcode == Opcode::kConstant) return WidenConstant(old);
    const bool rounds = roundings_ == Roundings::kAsked && !applied_[instruction.computation.index];
    if (opcode == Opcode::kReducePrecision) {
      const bool stays = rounds && IsCoarseRounding(module_, old);
      return Add(old, stays ? opcode : Opcode::kCopy, WidenedShape(shape), Operands(old),
                 stays ? Attributes(old) : std::vector<Attribute>());
    }
    // A dot's algorithm may ask for narrower products.
    const std::vector<Attribute> attributes = Attributes(old, AttributeKey::kAlgorithm);
    const std::optional<int> bits = rounds ? RoundedTo(module_, old) : std::nullopt;
    if (!bits) return Add(old, opcode, WidenedShape(shape), Operands(old), attributes);
    const InstructionId exact = AddHelper(opcode, WidenedShape(shape), Operands(old), attributes);
    return Add(old, Opcode::kReducePrecision, WidenedShape(shape), {&exact, 1},
               std::array{builder_.MakeInt(AttributeKey::kExponentBits, kExponentOfF64),
                          builder_.MakeInt(AttributeKey::kMantissaBits, *bits)});
  }

  // The instruction as it was, on operands of its types.
  InstructionId WidenAround(InstructionId old) {
    std::vector<InstructionId> operands;
    for (InstructionId operand : module_.operands(old)) {
      operands.push_back(Converted(new_ids_[operand.index], module_.shape(operand), false));
    }
    const InstructionId kept =
        Add(old, module_[old].opcode, module_.shape(old), operands, Attributes(old));
    return Converted(kept, module_.shape(old), true);
  }

  InstructionId WidenConstant(InstructionId old) {
    const auto* literal = module_.Get<Literal>(module_[old], AttributeKey::kConstantValue);
    const Shape shape = WidenedShape(module_.shape(old));
    if (literal == nullptr || !IsNarrow(module_.shape(old))) return Keep(old);
    std::vector<Attribute> attributes = Attributes(old, AttributeKey::kConstantValue);
    attributes.push_back(
        builder_.Make(AttributeKey::kConstantValue, ConvertLiteral(*literal, shape)));
    return Add(old, Opcode::kConstant, shape, {}, attributes);
  }

  // The value of `id`, which has `shape` or its widened form, in the other one. Shapes nest no
  // deeper than the limit they were read with.
  InstructionId Converted(InstructionId id, const Shape& shape, bool to_wide) {
    if (!IsNarrow(shape)) return id;
    const Shape target = to_wide ? WidenedShape(shape) : shape.WithoutLayouts();
    if (!shape.IsTuple()) return AddHelper(Opcode::kConvert, target, {&id, 1}, {});
    std::vector<InstructionId> elements;
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      const Shape& element = shape.elements()[i];
      const std::array attributes = {
          builder_.MakeInt(AttributeKey::kIndex, static_cast<int64_t>(i))};
      const InstructionId part =
          AddHelper(Opcode::kGetTupleElement, to_wide ? element : WidenedShape(element), {&id, 1},
                    attributes);
      elements.push_back(Converted(part, element, to_wide));
    }
    return AddHelper(Opcode::kTuple, target, elements, {});
  }

  InstructionId AddHelper(Opcode opcode, Shape shape, std::span<const InstructionId> operands,
                          std::span<const Attribute> attributes) {
    const std::string name = "precise." + std::to_string(helpers_++);
    return builder_.AddInstruction(builder_.Intern(name), opcode,
                                   builder_.InternShape(std::move(shape)), operands, attributes);
  }

  const Module& module_;
  Roundings roundings_;
  EntryTypes entry_;
  hlo::ModuleBuilder builder_;
  std::vector<bool> kept_;     // computations that stay as they are
  std::vector<bool> applied_;  // computations that round nowhere
  std::vector<InstructionId> new_ids_;
  int64_t helpers_ = 0;
};

}  // namespace

Shape WidenedShape(const Shape& shape) {
  if (shape.IsTuple()) {
    std::vector<Shape> elements;
    for (const Shape& element : shape.elements()) elements.push_back(WidenedShape(element));
    return Shape::Tuple(std::move(elements));
  }
  const ElementType type = shape.element_type();
  const bool real = hlo::IsFloat(type) && type != ElementType::kF64;
  if (!real && type != ElementType::kC64) return shape;
  Shape wide = shape;
  wide.set_element_type(real ? ElementType::kF64 : ElementType::kC128);
  if (wide.has_layout()) wide.set_layout({wide.layout().minor_to_major, nullptr});
  return wide;
}

std::shared_ptr<const Module> WidenModule(const Module& module, Roundings roundings,
                                          EntryTypes entry) {
  return Widener(module, roundings, entry).Run();
}

bool ComputesInDouble(const Module& module) {
  bool has_double = false;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    for (const auto& [index, shape] : module.shape(InstructionId(i)).Leaves()) {
      const ElementType type =
          shape->IsArray() ? hlo::RealPart(shape->element_type()) : ElementType::kPred;
      if (hlo::IsFloat(type) && type != ElementType::kF64) return false;
      has_double |= type == ElementType::kF64;
    }
  }
  return has_double;
}

bool AsksForRounding(const Module& module) {
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const InstructionId id(i);
    if (RoundedTo(module, id) || IsCoarseRounding(module, id)) return true;
  }
  return false;
}

bool IsCoarseRounding(const Module& module, InstructionId id) {
  constexpr int kLastBits = 3;
  const Instruction& instruction = module[id];
  if (instruction.opcode != Opcode::kReducePrecision) return false;
  const ElementType type = module.shape(id).element_type();
  return module.GetInt(instruction, AttributeKey::kMantissaBits) + kLastBits < MantissaBits(type) ||
         module.GetInt(instruction, AttributeKey::kExponentBits) < ExponentBits(type);
}

Literal ConvertLiteral(const Literal& literal, const Shape& shape) {
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    for (size_t i = 0; i < literal.elements().size() && i < shape.elements().size(); ++i) {
      elements.push_back(ConvertLiteral(literal.elements()[i], shape.elements()[i]));
    }
    return Literal::Tuple(std::move(elements));
  }
  if (!shape.IsArray()) return literal;
  if (literal.elided()) return Literal::Elided(shape);
  std::vector<std::byte> bytes(static_cast<size_t>(shape.ByteSize().value_or(0)));
  ConvertElements(literal.shape().element_type(), literal.bytes().data(), shape.element_type(),
                  bytes.data(), shape.ElementCount().value_or(0));
  Literal converted = Literal::Dense(shape, std::move(bytes));
  const auto sizes = literal.dynamic_sizes();
  converted.set_dynamic_sizes({sizes.begin(), sizes.end()});
  return converted;
}

}  // namespace hloscope::eval
