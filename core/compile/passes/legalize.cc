// Legalization: batch normalizations (XLA: BatchNormExpander), maps and bitcasts of parts of a byte
// become elementwise instructions, which fusion can put together.
#include <algorithm>
#include <numeric>

#include "core/compile/kernel_rules.h"
#include "core/compile/passes/edit.h"
#include "core/hlo/opcode_table.h"

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
    operands_.clear();
    static constexpr hlo::OpcodeTable<void (Expander::*)()> kExpanded(
        {{Opcode::kBatchNormGrad, &Expander::ExpandGrad},
         {Opcode::kBatchNormInference, &Expander::ExpandInference},
         {Opcode::kBatchNormTraining, &Expander::ExpandTraining},
         {Opcode::kBitcastConvert, &Expander::ExpandBits},
         {Opcode::kConstant, &Expander::ExpandConstant},
         {Opcode::kGetDimensionSize, &Expander::ExpandSize}},
        &Expander::ExpandMap);
    (this->*kExpanded[edit_.opcode(id)])();
  }

 private:
  // Of a batch normalization in the type that its sums are made in.
  InstructionId Operand(size_t slot) {
    if (Info(edit_.opcode(like_)).category != hlo::Category::kNormalization) {
      return edit_.operand(like_, slot);
    }
    if (operands_.empty()) {
      const auto types = edit_.original().operands(like_);
      const bool is_narrow = std::ranges::all_of(types, [&](InstructionId operand) {
        const ElementType type = edit_.original().shape(operand).element_type();
        return hlo::BitWidth(type) <= 32 && type != ElementType::kF8E8M0FNU;
      });
      for (size_t k = 0; k < types.size(); ++k) {
        operands_.push_back(
            As(is_narrow ? ElementType::kF32 : ElementType::kF64, edit_.operand(like_, k)));
      }
    }
    return operands_[slot];
  }

  // Converted where it has another type.
  InstructionId As(ElementType type, InstructionId operand, Opcode how = Opcode::kConvert) {
    Shape shape = PlainArray(type, edit_.shape(operand).dimensions());
    if (edit_.shape(operand).element_type() == type) return operand;
    return edit_.Add(like_, ToString(how), how, std::move(shape), {operand});
  }

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

  void ReplaceByTuple(std::initializer_list<InstructionId> elements) {
    const Shape shape = edit_.shape(like_);
    std::vector<InstructionId> converted;
    for (const InstructionId element : elements) {
      converted.push_back(As(shape.elements()[converted.size()].element_type(), element));
    }
    edit_.Replace(like_, edit_.Add(like_, "tuple", Opcode::kTuple, shape, converted));
  }

  // The operations of XLA in its order, which decides about infinities and zeros; the evaluator's
  // kernels have the same.
  void ExpandInference() {
    const InstructionId scale = Op(Opcode::kMultiply, {Operand(1), RootOfVariance(Operand(4))});
    const InstructionId shift =
        Op(Opcode::kSubtract, {Operand(2), Op(Opcode::kMultiply, {Operand(3), scale})});
    const InstructionId scaled = Op(Opcode::kMultiply, {Operand(0), ForAll(scale)});
    const ElementType type = edit_.shape(like_).element_type();
    edit_.Replace(like_, As(type, Op(Opcode::kAdd, {scaled, ForAll(shift)})));
  }

  void ExpandTraining() {
    const InstructionId mean = Mean(Operand(0));
    const InstructionId deviation = Op(Opcode::kSubtract, {Operand(0), ForAll(mean)});
    const InstructionId variance = Mean(Op(Opcode::kMultiply, {deviation, deviation}));
    const InstructionId normal =
        Op(Opcode::kMultiply, {deviation, ForAll(RootOfVariance(variance))});
    const InstructionId scaled = Op(Opcode::kMultiply, {normal, ForAll(Operand(1))});
    ReplaceByTuple({Op(Opcode::kAdd, {scaled, ForAll(Operand(2))}), mean, variance});
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

  // ---- Bits of elements of less than a byte, the lowest first along a last dimension.

  static ElementType UnsignedOf(int bits) {
    for (const hlo::ElementTypeInfo& info : hlo::kElementTypes) {
      if (info.kind == hlo::ElementKind::kUnsigned && info.bits == bits) return info.type;
    }
    return ElementType::kInvalid;
  }

  InstructionId Whole(ElementType type, uint64_t value) {
    std::vector<std::byte> bytes(sizeof(value));
    std::ranges::copy(std::as_bytes(std::span(&value, 1)), bytes.begin());
    bytes.resize(static_cast<size_t>(hlo::StorageBytes(type)));
    return edit_.AddScalar(like_, type, std::move(bytes));
  }

  // How far each narrow element stands from the lowest bit of the wide one.
  InstructionId Shifts(const Shape& shape, int bits) {
    const auto last = static_cast<int64_t>(shape.rank()) - 1;
    const InstructionId number =
        edit_.Add(like_, "iota", Opcode::kIota, shape, {},
                  {edit_.rewriter().builder().MakeInt(AttributeKey::kIotaDimension, last)});
    const InstructionId factor = Whole(shape.element_type(), static_cast<uint64_t>(bits));
    return Op(Opcode::kMultiply, {number, Broadcast(factor, shape, {})});
  }

  void ExpandBits() {
    const Shape to = edit_.shape(like_);
    const int from_bits = hlo::BitWidth(edit_.shape(Operand(0)).element_type());
    const int to_bits = hlo::BitWidth(to.element_type());
    const ElementType wide = UnsignedOf(std::max(from_bits, to_bits));
    const InstructionId bits = As(UnsignedOf(from_bits), Operand(0), Opcode::kBitcastConvert);
    InstructionId made;
    if (from_bits > to_bits) {
      const Shape shape = PlainArray(wide, to.dimensions());
      std::vector<int64_t> dimensions(to.rank() - 1);
      std::iota(dimensions.begin(), dimensions.end(), 0);
      const InstructionId all = Broadcast(bits, shape, dimensions);
      made = As(UnsignedOf(to_bits), Op(Opcode::kShiftRightLogical, {all, Shifts(shape, to_bits)}));
    } else {
      const InstructionId widened = As(wide, bits);
      const Shape shape = edit_.shape(widened);
      const InstructionId placed = Op(Opcode::kShiftLeft, {widened, Shifts(shape, from_bits)});
      const ComputationId either = edit_.AddReducer(like_, "bits", Opcode::kOr, wide);
      hlo::ModuleBuilder& builder = edit_.rewriter().builder();
      const int64_t last = static_cast<int64_t>(shape.rank()) - 1;
      made = edit_.Add(like_, "reduce", Opcode::kReduce, PlainArray(wide, to.dimensions()),
                       {placed, Whole(wide, 0)},
                       {builder.MakeInts(AttributeKey::kDimensions, std::span(&last, 1)),
                        builder.MakeComputation(AttributeKey::kToApply, either)});
    }
    edit_.Replace(like_, As(to.element_type(), made, Opcode::kBitcastConvert));
  }

  void ExpandSize() {
    const auto d = static_cast<size_t>(edit_.Ints(like_, AttributeKey::kDimensions)[0]);
    const auto size = edit_.shape(Operand(0)).dimension(d);
    edit_.Replace(like_, Whole(edit_.shape(like_).element_type(), static_cast<uint64_t>(size)));
  }

  // ---- A constant of several arrays.

  InstructionId Part(const hlo::Literal& value) {
    if (!value.shape().IsTuple()) {
      return edit_.Add(like_, "constant", Opcode::kConstant, value.shape().WithoutLayouts(), {},
                       {edit_.rewriter().builder().Make(AttributeKey::kConstantValue, value)});
    }
    std::vector<InstructionId> parts;
    for (const hlo::Literal& element : value.elements()) parts.push_back(Part(element));
    return edit_.Add(like_, "tuple", Opcode::kTuple, value.shape().WithoutLayouts(), parts);
  }
  void ExpandConstant() {
    const Module& module = edit_.original();
    edit_.Replace(like_,
                  Part(*module.Get<hlo::Literal>(module[like_], AttributeKey::kConstantValue)));
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
      edit_.NoteOrigin(copies[k], id, hlo::OriginKind::kCopied);
      if (is_constant && !shape.IsScalar()) copies[k] = Broadcast(copies[k], wanted, {});
    }
    edit_.Replace(like_, copies[body.root.index - body.first_instruction]);
  }

  Edit edit_;
  InstructionId like_;                   // what is being expanded
  std::vector<InstructionId> operands_;  // its operands in another type
  ComputationId sum_f32_, sum_f64_;
};

bool AreWhole(const Module& module, std::span<const InstructionId> ids) {
  return std::ranges::all_of(ids, [&](InstructionId id) { return IsWholeArray(module.shape(id)); });
}

bool IsBatchNorm(const Module& module, InstructionId id) {
  const auto operands = module.operands(id);
  return Info(module[id].opcode).category == hlo::Category::kNormalization &&
         AreWhole(module, operands) && std::ranges::all_of(operands, [&](InstructionId operand) {
           return hlo::IsFloat(module.shape(operand).element_type());
         });
}

// Between widths of which one is less than a byte, and a power of two.
bool IsBitcastOfParts(const Module& module, InstructionId id) {
  const InstructionId both[] = {id, module.operands(id)[0]};
  const int from = hlo::BitWidth(module.shape(both[1]).element_type()),
            to = hlo::BitWidth(module.shape(id).element_type());
  const auto is_plain = [&](InstructionId each) {
    const int bits = hlo::BitWidth(module.shape(each).element_type());
    return bits != 6 && bits <= 64 && module.shape(each).element_type() != ElementType::kPred;
  };
  return from != to && std::min(from, to) < 8 && AreWhole(module, both) && is_plain(both[0]) &&
         is_plain(both[1]);
}

// A body that means the same on arrays.
bool IsMapOfElements(const Module& module, InstructionId id) {
  if (!IsElemental(module, id)) return false;
  const hlo::Computation& body = module[module.GetComputation(module[id], AttributeKey::kToApply)];
  return std::ranges::all_of(module.instructions(body), [](const hlo::Instruction& each) {
    return each.opcode == Opcode::kParameter || each.opcode == Opcode::kConstant ||
           Info(each.opcode).category == hlo::Category::kElementwise;
  });
}

bool IsExpanded(const Module& module, InstructionId id) {
  const Opcode opcode = module[id].opcode;
  if (opcode == Opcode::kMap) return IsMapOfElements(module, id);
  if (opcode == Opcode::kBitcastConvert) return IsBitcastOfParts(module, id);
  if (opcode == Opcode::kConstant) {
    const auto* value = module.Get<hlo::Literal>(module[id], AttributeKey::kConstantValue);
    return module.shape(id).IsTuple() && value != nullptr && !value->elided();
  }
  if (opcode != Opcode::kGetDimensionSize) return IsBatchNorm(module, id);
  const Shape& shape = module.shape(module.operands(id)[0]);
  return shape.IsArray() && shape.is_static();
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
