// Legalization: batch normalizations (XLA: BatchNormExpander) and maps become elementwise
// instructions, which fusion can put together.
#include <algorithm>

#include "core/compile/kernel_rules.h"
#include "core/compile/passes/edit.h"

namespace hloscope::compile {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

// Writes what takes the place of one instruction.
class Expander {
 public:
  explicit Expander(const std::shared_ptr<const Module>& module) : edit_(module) {}

  Result<PassResult> Finish() { return edit_.Finish(); }
  bool IsPinned(InstructionId id) const { return edit_.IsPinned(id); }

  void Expand(InstructionId id) {
    like_ = id;
    switch (edit_.opcode(id)) {
      case Opcode::kBatchNormInference:
        return ExpandInference();
      case Opcode::kBatchNormTraining:
        return ExpandTraining();
      case Opcode::kBatchNormGrad:
        return ExpandGrad();
      default:
        return ExpandMap();
    }
  }

 private:
  InstructionId Operand(size_t slot) { return edit_.operand(like_, slot); }

  InstructionId Op(Opcode opcode, std::initializer_list<InstructionId> operands) {
    const Shape shape = edit_.shape(*operands.begin());
    return edit_.Add(like_, ToString(opcode), opcode, shape, operands);
  }

  InstructionId Broadcast(InstructionId operand, const Shape& shape,
                          std::span<const int64_t> dimensions) {
    const Shape wanted = shape;
    const Attribute list =
        edit_.rewriter().builder().MakeInts(AttributeKey::kDimensions, dimensions);
    return edit_.Add(like_, "broadcast", Opcode::kBroadcast, wanted, {operand}, {list});
  }

  InstructionId Number(double value, const Shape& shape) {
    const Shape wanted = shape;
    std::vector<std::byte> bytes(sizeof(double));
    if (wanted.element_type() == ElementType::kF32) {
      const auto narrow = static_cast<float>(value);
      bytes.assign(reinterpret_cast<const std::byte*>(&narrow),
                   reinterpret_cast<const std::byte*>(&narrow) + sizeof(narrow));
    } else {
      std::ranges::copy(std::as_bytes(std::span(&value, 1)), bytes.begin());
    }
    const InstructionId scalar = edit_.AddScalar(like_, wanted.element_type(), std::move(bytes));
    return wanted.IsScalar() ? scalar : Broadcast(scalar, wanted, {});
  }

  // ---- Batch normalization; one value for each feature of the first operand.

  int64_t Feature() { return edit_.Int(like_, AttributeKey::kFeatureIndex); }
  double Epsilon() { return edit_.values().FloatOf(*edit_.Find(like_, AttributeKey::kEpsilon)); }

  InstructionId ForAll(InstructionId by_feature) {
    const int64_t feature = Feature();
    return Broadcast(by_feature, edit_.shape(Operand(0)), std::span(&feature, 1));
  }

  InstructionId RootOfVariance(InstructionId variance) {
    const InstructionId raised =
        Op(Opcode::kAdd, {variance, Number(Epsilon(), edit_.shape(variance))});
    return Op(Opcode::kRsqrt, {raised});
  }

  // Elements for each feature.
  double Count() {
    const Shape& shape = edit_.shape(Operand(0));
    double count = 1;
    for (size_t d = 0; d < shape.rank(); ++d) {
      if (std::cmp_not_equal(d, Feature())) count *= static_cast<double>(shape.dimension(d));
    }
    return count;
  }

  ComputationId Sum(ElementType type) {
    ComputationId& sum = type == ElementType::kF32 ? sum_f32_ : sum_f64_;
    if (!sum.valid()) sum = edit_.AddReducer(like_, "batch_norm_sum", Opcode::kAdd, type);
    return sum;
  }

  // Over everything but the feature.
  InstructionId SumByFeature(InstructionId values) {
    const Shape shape = edit_.shape(values);
    const int64_t feature = Feature();
    std::vector<int64_t> dimensions;
    for (int64_t d = 0; std::cmp_less(d, shape.rank()); ++d) {
      if (d != feature) dimensions.push_back(d);
    }
    const ElementType type = shape.element_type();
    const InstructionId zero = Number(0, Shape::Scalar(type));
    hlo::ModuleBuilder& builder = edit_.rewriter().builder();
    return edit_.Add(like_, "reduce", Opcode::kReduce,
                     Shape::Array(type, {shape.dimension(static_cast<size_t>(feature))}),
                     {values, zero},
                     {builder.MakeInts(AttributeKey::kDimensions, dimensions),
                      builder.MakeComputation(AttributeKey::kToApply, Sum(type))});
  }

  InstructionId Mean(InstructionId values) {
    const InstructionId sum = SumByFeature(values);
    return Op(Opcode::kDivide, {sum, Number(Count(), edit_.shape(sum))});
  }

  InstructionId Normalized(InstructionId deviation, InstructionId scale, InstructionId offset,
                           InstructionId variance) {
    const InstructionId factor = Op(Opcode::kMultiply, {RootOfVariance(variance), scale});
    const InstructionId scaled = Op(Opcode::kMultiply, {deviation, ForAll(factor)});
    return Op(Opcode::kAdd, {scaled, ForAll(offset)});
  }

  void ReplaceByTuple(std::initializer_list<InstructionId> elements) {
    const Shape shape = edit_.shape(like_);
    edit_.Replace(like_, edit_.Add(like_, "tuple", Opcode::kTuple, shape, elements));
  }

  void ExpandInference() {
    const InstructionId deviation = Op(Opcode::kSubtract, {Operand(0), ForAll(Operand(3))});
    edit_.Replace(like_, Normalized(deviation, Operand(1), Operand(2), Operand(4)));
  }

  void ExpandTraining() {
    const InstructionId mean = Mean(Operand(0));
    const InstructionId deviation = Op(Opcode::kSubtract, {Operand(0), ForAll(mean)});
    const InstructionId variance = Mean(Op(Opcode::kMultiply, {deviation, deviation}));
    ReplaceByTuple({Normalized(deviation, Operand(1), Operand(2), variance), mean, variance});
  }

  void ExpandGrad() {
    const InstructionId scale = Operand(1), grad = Operand(4);
    const InstructionId root = RootOfVariance(Operand(3));
    const InstructionId deviation = Op(Opcode::kSubtract, {Operand(0), ForAll(Operand(2))});
    const InstructionId grad_offset = SumByFeature(grad);
    const InstructionId product = SumByFeature(Op(Opcode::kMultiply, {grad, deviation}));
    const InstructionId grad_scale = Op(Opcode::kMultiply, {product, root});
    const Shape by_feature = edit_.shape(product);
    const InstructionId count = Number(Count(), by_feature);
    const InstructionId mean_grad = Op(Opcode::kDivide, {grad_offset, count});
    const InstructionId slope =
        Op(Opcode::kDivide,
           {Op(Opcode::kMultiply, {Op(Opcode::kMultiply, {product, root}), root}), count});
    const InstructionId centred = Op(Opcode::kSubtract, {grad, ForAll(mean_grad)});
    const InstructionId straight =
        Op(Opcode::kSubtract, {centred, Op(Opcode::kMultiply, {deviation, ForAll(slope)})});
    const InstructionId factor = Op(Opcode::kMultiply, {scale, root});
    ReplaceByTuple({Op(Opcode::kMultiply, {straight, ForAll(factor)}), grad_scale, grad_offset});
  }

  // ---- Map: its body on arrays.

  void ExpandMap() {
    hlo::Rewriter& rewriter = edit_.rewriter();
    const Module& module = edit_.original();
    const hlo::Computation& body =
        module[module.GetComputation(module[like_], AttributeKey::kToApply)];
    const Shape shape = edit_.shape(like_);
    std::vector<InstructionId> copies(body.instruction_count);
    for (uint32_t k = 0; k < body.instruction_count; ++k) {
      const InstructionId id(body.first_instruction + k);
      Shape wanted = shape;
      wanted.set_element_type(module.shape(id).element_type());
      if (module[id].opcode == Opcode::kParameter) {
        copies[k] =
            Operand(static_cast<size_t>(module.GetInt(module[id], AttributeKey::kParameterNumber)));
        continue;
      }
      std::vector<InstructionId> operands;
      for (const InstructionId operand : module.operands(id)) {
        operands.push_back(copies[operand.index - body.first_instruction]);
      }
      const auto attributes = module.attributes(module[id]);
      const bool is_constant = module[id].opcode == Opcode::kConstant;
      copies[k] = rewriter.Add(rewriter.computation(like_), edit_.UniqueName(module.name(id)),
                               module[id].opcode, is_constant ? module.shape(id) : wanted, operands,
                               attributes);
      if (is_constant && !shape.IsScalar()) copies[k] = Broadcast(copies[k], wanted, {});
    }
    edit_.Replace(like_, copies[body.root.index - body.first_instruction]);
  }

  Edit edit_;
  InstructionId like_;  // what is being expanded
  ComputationId sum_f32_, sum_f64_;
};

// Only types that need no wider one for their sums.
bool IsPlainBatchNorm(const Module& module, InstructionId id) {
  if (Info(module[id].opcode).category != hlo::Category::kNormalization) return false;
  return std::ranges::all_of(module.operands(id), [&](InstructionId operand) {
    const Shape& shape = module.shape(operand);
    return (shape.element_type() == ElementType::kF32 ||
            shape.element_type() == ElementType::kF64) &&
           shape.element_type() == module.shape(module.operands(id)[0]).element_type() &&
           shape.is_static() && shape.ElementCount().value_or(0) > 0;
  });
}

bool IsExpanded(const Module& module, InstructionId id) {
  if (module[id].opcode == Opcode::kMap) return IsElemental(module, id);
  return IsPlainBatchNorm(module, id);
}

}  // namespace

Result<PassResult> Legalize(const std::shared_ptr<const Module>& module, Compilation&) {
  std::vector<InstructionId> expanded;
  for (uint32_t k = 0; k < module->instructions().size(); ++k) {
    if (IsExpanded(*module, InstructionId(k))) expanded.emplace_back(k);
  }
  if (expanded.empty()) return PassResult{};
  Expander expander(module);
  for (const InstructionId id : expanded) {
    if (!expander.IsPinned(id)) expander.Expand(id);
  }
  return expander.Finish();
}

}  // namespace hloscope::compile
