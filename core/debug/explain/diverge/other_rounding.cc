#include "core/debug/explain/diverge/other_rounding.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/hlo/dimension_numbers.h"
#include "core/hlo/rewrite/rewriter.h"

namespace hloscope::debug {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Rewriter;
using hlo::Shape;

namespace {

using ModuleResult = Result<std::shared_ptr<const Module>>;

bool IsFloatArray(const Shape& shape) {
  return shape.IsArray() && shape.is_static() && hlo::IsFloat(shape.element_type());
}

// An operand and the dimension of it that is summed.
struct SummedOperand {
  uint32_t slot;
  int64_t dimension;
};

// The type in which its reducer adds up: two parameters and their sum, or all three converted, as
// float normalization writes sums of bf16. None: it has another reducer.
std::optional<ElementType> AddedIn(const Module& module, const hlo::Instruction& instruction) {
  const auto callees = module.CalledComputations(instruction);
  if (callees.size() != 1) return std::nullopt;
  int64_t count = 3;
  const auto unconverted = [&](InstructionId id) {
    if (module[id].opcode != Opcode::kConvert) return id;
    ++count;
    return module.operands(id)[0];
  };
  const InstructionId sum = unconverted(module[callees[0]].root);
  if (module[sum].opcode != Opcode::kAdd) return std::nullopt;
  for (const InstructionId added : module.operands(sum)) {
    if (module[unconverted(added)].opcode != Opcode::kParameter) return std::nullopt;
  }
  if (count != module[callees[0]].instruction_count) return std::nullopt;
  return module.shape(sum).element_type();
}

bool AddsUp(const Module& module, const hlo::Instruction& instruction) {
  return AddedIn(module, instruction).has_value();
}

// What a sum runs over, of the same size in all of them; empty where it is no such sum.
std::vector<SummedOperand> SummedBy(const Module& module, InstructionId id) {
  const hlo::Instruction& instruction = module[id];
  if (instruction.opcode == Opcode::kReduce) {
    const auto dimensions = module.GetInts(instruction, AttributeKey::kDimensions);
    const bool is_one_sum = AddsUp(module, instruction) && module.operands(id).size() == 2;
    if (!is_one_sum || dimensions.empty()) return {};
    const Shape& shape = module.shape(module.operands(id)[0]);
    return {{0, *std::ranges::max_element(dimensions, {}, [&](int64_t d) {
               return shape.dimension(static_cast<size_t>(d));
             })}};
  }
  if (instruction.opcode == Opcode::kDot) {
    const hlo::DotDims dims = hlo::DotDimsOf(module, id);
    if (dims.lhs.contracting.empty() || dims.rhs.contracting.empty()) return {};
    return {{0, dims.lhs.contracting[0]}, {1, dims.rhs.contracting[0]}};
  }
  if (instruction.opcode == Opcode::kConvolution) {
    const hlo::ConvDims dims = hlo::ConvDimsOf(module, id);
    const bool grouped = dims.feature_groups != 1 || dims.batch_groups != 1;
    if (dims.labels == nullptr || grouped) return {};
    return {{0, dims.labels->input_feature}, {1, dims.labels->kernel_input_feature}};
  }
  return {};
}

enum class SumOrder : uint8_t { kBlocks, kTree };

class SumCutter {
 public:
  SumCutter(const std::shared_ptr<const Module>& module, SumOrder order)
      : module_(*module), order_(order), rewriter_(module) {}

  ModuleResult Run() {
    for (uint32_t i = 0; i < module_.instructions().size(); ++i) Cut(InstructionId(i));
    if (cuts_ == 0) return nullptr;
    HLOSCOPE_ASSIGN_OR_RETURN(hlo::RewriteResult made, rewriter_.Finish());
    return std::move(made.module);
  }

 private:
  void Cut(InstructionId id) {
    if (module_[id].opcode == Opcode::kReduceWindow) return CutWindow(id);
    const std::vector<SummedOperand> summed = SummedBy(module_, id);
    if (summed.empty() || !IsFloatArray(module_.shape(id))) return;
    for (const SummedOperand& operand : summed) {
      if (!IsFloatArray(OperandShape(id, operand.slot))) return;
    }
    const int64_t size = SizeOf(id, summed[0]);
    const bool fits = order_ == SumOrder::kBlocks || module_[id].opcode == Opcode::kReduce;
    if (size < 2 || !fits) return;
    InstructionId sum =
        order_ == SumOrder::kTree ? Tree(id, summed[0], size) : Blocks(id, summed, size);
    if (PartShape(id).element_type() != module_.shape(id).element_type()) {
      sum = rewriter_.Add(module_[id].computation, NewName(), Opcode::kConvert, module_.shape(id),
                          {&sum, 1});
    }
    rewriter_.ReplaceAllUses(id, sum);
    rewriter_.Remove(id);
    ++cuts_;
  }

  // Along the longest dimension of the window, as running sums (cumsum) have one.
  void CutWindow(InstructionId id) {
    const hlo::Window* window = hlo::FindWindow(module_, id);
    const bool is_one_sum = AddsUp(module_, module_[id]) && module_.operands(id).size() == 2;
    if (order_ != SumOrder::kBlocks || window == nullptr || !is_one_sum) return;
    if (!IsFloatArray(module_.shape(id)) || window->dimensions.empty()) return;
    const auto longest =
        std::ranges::max_element(window->dimensions, {}, &hlo::WindowDimension::size);
    if (longest->size < 2 || longest->window_reversal) return;
    constexpr int64_t kBlocks = 16;
    const int64_t size = longest->size, block = (size + kBlocks - 1) / kBlocks;
    const auto dimension = static_cast<size_t>(longest - window->dimensions.begin());
    InstructionId sum;
    for (int64_t begin = 0; begin < size; begin += block) {
      hlo::Window part = *window;
      hlo::WindowDimension& cut = part.dimensions[dimension];
      cut.size = std::min(block, size - begin);
      cut.padding_low -= begin * cut.window_dilation;
      cut.padding_high -= (size - begin - cut.size) * cut.window_dilation;
      const InstructionId added = WindowOf(id, std::move(part), begin > 0);
      sum = sum.valid() ? AddUp(id, module_.shape(id), sum, added) : added;
    }
    rewriter_.ReplaceAllUses(id, sum);
    rewriter_.Remove(id);
    ++cuts_;
  }

  InstructionId WindowOf(InstructionId id, hlo::Window window, bool from_zero) {
    std::vector<InstructionId> operands = rewriter_.operands(id);
    if (from_zero) operands[1] = Zero(id);
    std::vector<Attribute> attributes = AttributesOf(id);
    for (Attribute& attribute : attributes) {
      if (attribute.key != AttributeKey::kWindow) continue;
      attribute = rewriter_.builder().Make(AttributeKey::kWindow, std::move(window));
    }
    return rewriter_.Add(module_[id].computation, NewName(), Opcode::kReduceWindow,
                         module_.shape(id), operands, attributes);
  }

  InstructionId Blocks(InstructionId id, const std::vector<SummedOperand>& summed, int64_t size) {
    constexpr int64_t kBlocks = 64;
    const int64_t block = (size + kBlocks - 1) / kBlocks;
    InstructionId sum;
    for (int64_t begin = 0; begin < size; begin += block) {
      const InstructionId part = Block(id, summed, begin, std::min(begin + block, size));
      sum = sum.valid() ? AddUp(id, PartShape(id), sum, part) : part;
    }
    return sum;
  }

  // One half upon the other, again and again, as lanes of a warp do; what is left is one.
  InstructionId Tree(InstructionId id, const SummedOperand& summed, int64_t size) {
    std::vector<InstructionId> operands = rewriter_.operands(id);
    InstructionId values = operands[summed.slot];
    Shape shape = OperandShape(id, summed.slot);
    const auto dimension = static_cast<size_t>(summed.dimension);
    while (size > 1) {
      const int64_t upper = size / 2, lower = size - upper;
      const auto part = [&](int64_t begin, int64_t end) {
        return SliceOf(id, values, shape, dimension, begin, end);
      };
      const InstructionId high = part(lower, size), low = part(0, upper);
      const InstructionId rest = lower > upper ? part(upper, lower) : InstructionId();
      shape.set_dimension(dimension, upper);
      values = AddUp(id, shape, low, high);
      shape.set_dimension(dimension, lower);
      if (rest.valid()) {
        const std::array halves = {values, rest};
        const std::array attributes = {
            rewriter_.builder().MakeInts(AttributeKey::kDimensions, std::array{summed.dimension})};
        values = rewriter_.Add(module_[id].computation, NewName(), Opcode::kConcatenate, shape,
                               halves, attributes);
      }
      size = lower;
    }
    operands[summed.slot] = values;
    return rewriter_.Add(module_[id].computation, NewName(), module_[id].opcode, module_.shape(id),
                         operands, AttributesOf(id));
  }

  // Sums of products are kept in f32, whatever they are rounded to in the end; a reducer rounds to
  // its own type.
  Shape PartShape(InstructionId id) const {
    Shape shape = module_.shape(id);
    if (module_[id].opcode == Opcode::kReduce || hlo::Info(shape.element_type()).bits >= 32) {
      return shape;
    }
    shape = shape.WithoutLayouts();
    shape.set_element_type(ElementType::kF32);
    return shape;
  }

  const Shape& OperandShape(InstructionId id, uint32_t slot) const {
    return module_.shape(module_.operands(id)[slot]);
  }
  int64_t SizeOf(InstructionId id, const SummedOperand& summed) const {
    return OperandShape(id, summed.slot).dimension(static_cast<size_t>(summed.dimension));
  }

  InstructionId Block(InstructionId id, const std::vector<SummedOperand>& summed, int64_t begin,
                      int64_t end) {
    std::vector<InstructionId> operands = rewriter_.operands(id);
    for (const SummedOperand& each : summed) {
      operands[each.slot] = SliceOf(id, operands[each.slot], OperandShape(id, each.slot),
                                    static_cast<size_t>(each.dimension), begin, end);
    }
    if (module_[id].opcode == Opcode::kReduce && begin > 0) operands[1] = Zero(id);
    return rewriter_.Add(module_[id].computation, NewName(), module_[id].opcode, PartShape(id),
                         operands, AttributesOf(id));
  }

  std::vector<Attribute> AttributesOf(InstructionId id) const {
    std::vector<Attribute> attributes;
    for (const Attribute& attribute : module_.attributes(module_[id])) {
      if (attribute.key != AttributeKey::kControlPredecessors) attributes.push_back(attribute);
    }
    return attributes;
  }

  // Of `operand`, which has that shape.
  InstructionId SliceOf(InstructionId id, InstructionId operand, Shape shape, size_t dimension,
                        int64_t begin, int64_t end) {
    std::vector<int64_t> bounds;
    for (size_t d = 0; d < shape.rank(); ++d) {
      bounds.insert(bounds.end(),
                    {d == dimension ? begin : 0, d == dimension ? end : shape.dimension(d), 1});
    }
    shape.set_dimension(dimension, end - begin);
    const std::array attributes = {rewriter_.builder().MakeInts(AttributeKey::kSlice, bounds)};
    return rewriter_.Add(module_[id].computation, NewName(), Opcode::kSlice, std::move(shape),
                         {&operand, 1}, attributes);
  }

  InstructionId Zero(InstructionId id) {
    const Shape& shape = OperandShape(id, 1);
    std::vector<std::byte> bytes(static_cast<size_t>(shape.ByteSize().value_or(0)));
    const std::array attributes = {rewriter_.builder().Make(
        AttributeKey::kConstantValue, hlo::Literal::Dense(shape, std::move(bytes)))};
    return rewriter_.Add(module_[id].computation, NewName(), Opcode::kConstant, shape, {},
                         attributes);
  }

  // In the type of the reducer, where there is one.
  InstructionId AddUp(InstructionId id, const Shape& shape, InstructionId sum, InstructionId part) {
    Shape added = shape;
    if (const auto type = AddedIn(module_, module_[id])) added.set_element_type(*type);
    const bool converts = added.element_type() != shape.element_type();
    const auto add = [&](Opcode opcode, const Shape& of, std::vector<InstructionId> operands) {
      return rewriter_.Add(module_[id].computation, NewName(), opcode, of, operands);
    };
    if (!converts) return add(Opcode::kAdd, shape, {sum, part});
    added = added.WithoutLayouts();
    const InstructionId narrow =
        add(Opcode::kAdd, added,
            {add(Opcode::kConvert, added, {sum}), add(Opcode::kConvert, added, {part})});
    return add(Opcode::kConvert, shape, {narrow});
  }

  std::string NewName() { return "block." + std::to_string(names_++); }

  const Module& module_;
  SumOrder order_;
  Rewriter rewriter_;
  int64_t cuts_ = 0, names_ = 0;
};

class Contracter {
 public:
  explicit Contracter(const std::shared_ptr<const Module>& module)
      : module_(*module), rewriter_(module) {}

  ModuleResult Run() {
    for (uint32_t i = 0; i < module_.instructions().size(); ++i) Contract(InstructionId(i));
    if (names_ == 0) return nullptr;
    rewriter_.RemoveDeadCode();
    HLOSCOPE_ASSIGN_OR_RETURN(hlo::RewriteResult made, rewriter_.Finish());
    return std::move(made.module);
  }

 private:
  void Contract(InstructionId id) {
    const hlo::Instruction& sum = module_[id];
    const bool adds = sum.opcode == Opcode::kAdd || sum.opcode == Opcode::kSubtract;
    if (!adds || sum.computation == module_.entry_id() || !IsNarrow(module_.shape(id))) return;
    const auto originals = module_.operands(id);
    const auto product = std::ranges::find_if(
        originals, [&](InstructionId o) { return module_[o].opcode == Opcode::kMultiply; });
    if (product == originals.end()) return;
    std::vector<InstructionId> operands = Wide(id, rewriter_.operands(id));
    operands[static_cast<size_t>(product - originals.begin())] =
        Add(id, Opcode::kMultiply, ElementType::kF64, Wide(id, rewriter_.operands(*product)));
    const InstructionId exact = Add(id, sum.opcode, ElementType::kF64, operands);
    const ElementType type = module_.shape(id).element_type();
    rewriter_.ReplaceAllUses(id, Add(id, Opcode::kConvert, type, {exact}));
  }

  static bool IsNarrow(const Shape& shape) {
    return IsFloatArray(shape) && shape.element_type() != ElementType::kF64;
  }

  std::vector<InstructionId> Wide(InstructionId beside, std::vector<InstructionId> operands) {
    for (InstructionId& operand : operands) {
      operand = Add(beside, Opcode::kConvert, ElementType::kF64, {operand});
    }
    return operands;
  }

  // Of the dimensions of `beside`, and in its computation.
  InstructionId Add(InstructionId beside, Opcode opcode, ElementType type,
                    const std::vector<InstructionId>& operands) {
    Shape shape = module_.shape(beside).WithoutLayouts();
    shape.set_element_type(type);
    return rewriter_.Add(module_[beside].computation, "contracted." + std::to_string(names_++),
                         opcode, std::move(shape), operands);
  }

  const Module& module_;
  Rewriter rewriter_;
  int64_t names_ = 0;
};

}  // namespace

ModuleResult SumsInBlocks(const std::shared_ptr<const Module>& module) {
  return SumCutter(module, SumOrder::kBlocks).Run();
}

ModuleResult SumsInTree(const std::shared_ptr<const Module>& module) {
  return SumCutter(module, SumOrder::kTree).Run();
}

ModuleResult ProductsContracted(const std::shared_ptr<const Module>& module) {
  return Contracter(module).Run();
}

}  // namespace hloscope::debug
