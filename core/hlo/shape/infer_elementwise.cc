// Shape rules of elementwise operations (XLA: ShapeInference::InferUnaryOpShape,
// InferBinaryOpShape, InferClampShape, InferSelectShape).
#include <span>

#include "core/hlo/opcode_table.h"
#include "core/hlo/shape/infer.h"
#include "fmt/format.h"

namespace hloscope::hlo {
namespace {

// Sets of element kinds.
constexpr unsigned Bit(ElementKind kind) { return 1u << static_cast<unsigned>(kind); }
constexpr unsigned kPreds = Bit(ElementKind::kPred);
constexpr unsigned kIntegers = Bit(ElementKind::kSigned) | Bit(ElementKind::kUnsigned);
constexpr unsigned kFloats = Bit(ElementKind::kFloat);
constexpr unsigned kComplexes = Bit(ElementKind::kComplex);
constexpr unsigned kAll = kPreds | kIntegers | kFloats | kComplexes;

constexpr unsigned kAllButPreds = kAll & ~kPreds;

// What the opcodes take that do not take what most of their number of operands take.
constexpr OpcodeTable<unsigned> kUnaryKinds(
    {
        {Opcode::kAbs, Bit(ElementKind::kSigned) | kFloats | kComplexes},
        {Opcode::kCbrt, kFloats},
        {Opcode::kCeil, kFloats},
        {Opcode::kClz, kIntegers},
        {Opcode::kErf, kFloats},
        {Opcode::kFloor, kFloats},
        {Opcode::kNegate, kIntegers | kFloats | kComplexes},
        {Opcode::kNot, kPreds | kIntegers},
        {Opcode::kPopulationCount, kIntegers},
        {Opcode::kRoundNearestAfz, kFloats},
        {Opcode::kRoundNearestEven, kFloats},
        {Opcode::kSign, Bit(ElementKind::kSigned) | kFloats | kComplexes},
    },
    kFloats | kComplexes);
constexpr OpcodeTable<unsigned> kBinaryKinds(
    {
        {Opcode::kAnd, kPreds | kIntegers},
        {Opcode::kAtan2, kFloats | kComplexes},
        {Opcode::kDivide, kAllButPreds},
        {Opcode::kOr, kPreds | kIntegers},
        {Opcode::kPower, kAllButPreds},
        {Opcode::kRemainder, kAllButPreds},
        {Opcode::kShiftLeft, kAllButPreds},
        {Opcode::kShiftRightArithmetic, kAllButPreds},
        {Opcode::kShiftRightLogical, kAllButPreds},
        {Opcode::kSubtract, kAllButPreds},
        {Opcode::kXor, kPreds | kIntegers},
    },
    kAll);

std::string KindsText(unsigned kinds) {
  std::string text;
  auto add = [&](unsigned kind, std::string_view name) {
    if ((kinds & kind) == 0) return;
    if (!text.empty()) text += " or ";
    text += name;
  };
  add(kPreds, "pred");
  add(kIntegers & kinds,
      (kinds & Bit(ElementKind::kUnsigned)) != 0 ? "integers" : "signed integers");
  add(kFloats, "floats");
  add(kComplexes, "complex numbers");
  return text;
}

Status CheckKind(const InferenceInput& input, size_t operand, unsigned kinds) {
  HLOSCOPE_TRY(CheckArray(input, operand));
  const Shape& shape = *input.operands[operand];
  if ((Bit(Info(shape.element_type()).kind) & kinds) != 0) return {};
  return Fail(input, fmt::format("has operand {} of type {}, expected {}", operand,
                                 ToString(shape.element_type()), KindsText(kinds)));
}

// One dimension of two operands of the same rank, where size 1 stretches and `?` takes the other's.
bool MergeDimension(const Shape& lhs, const Shape& rhs, size_t i, Shape& result) {
  int64_t a = lhs.dimension(i), b = rhs.dimension(i);
  if (a == b && a != 1) {
    SetDimension(result, i, a, lhs.is_dynamic_dimension(i) || rhs.is_dynamic_dimension(i));
    return true;
  }
  if (a != 1 && b != 1 && !IsUnbounded(a) && !IsUnbounded(b)) return false;
  bool take_rhs = a == 1 || (b != 1 && IsUnbounded(a));
  SetDimension(result, i, take_rhs ? b : a, (take_rhs ? rhs : lhs).is_dynamic_dimension(i));
  return true;
}

// XLA: InferDegenerateDimensionBroadcastShape.
Result<Shape> MergeShapes(const InferenceInput& input, const Shape& lhs, const Shape& rhs,
                          ElementType type) {
  Shape result = Shape::Array(type, std::vector<int64_t>(lhs.rank(), 0));
  for (size_t i = 0; i < lhs.rank(); ++i) {
    if (MergeDimension(lhs, rhs, i, result)) continue;
    return Fail(input,
                fmt::format("has operands {} and {}, expected equal dimensions (dimension {})",
                            Text(lhs), Text(rhs), i));
  }
  return result;
}

// XLA: InferElementwiseBinaryOpShape without broadcast_dimensions: a scalar goes with any shape.
Result<Shape> InferPair(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckArrays(input));
  const Shape& lhs = *input.operands[0];
  const Shape& rhs = *input.operands[1];
  if (!SameTypeIgnoringPrecision(lhs.element_type(), rhs.element_type())) {
    return Fail(input, fmt::format("has operands of types {} and {}, expected equal types",
                                   ToString(lhs.element_type()), ToString(rhs.element_type())));
  }
  ElementType type = HigherPrecision(lhs.element_type(), rhs.element_type());
  bool unbounded = lhs.has_unbounded_dimension() || rhs.has_unbounded_dimension();
  if (!unbounded && SameDimensions(lhs, rhs)) {
    Shape result = WithElementType(lhs, type);
    for (size_t i = 0; i < rhs.rank(); ++i) {
      if (rhs.is_dynamic_dimension(i)) result.set_dynamic_dimension(i, true);
    }
    return result;
  }
  if (lhs.rank() == rhs.rank()) return MergeShapes(input, lhs, rhs, type);
  const Shape& larger = lhs.rank() > rhs.rank() ? lhs : rhs;
  if (!(lhs.IsScalar() || rhs.IsScalar())) {
    return Fail(input,
                fmt::format("has operands {} and {}, expected equal ranks", Text(lhs), Text(rhs)));
  }
  Shape result = WithElementType(larger, type);
  result.clear_layout();
  return result;
}

bool FitsOrScalar(const Shape& bound, const Shape& operand) {
  return bound.IsScalar() || CompatibleIgnoringPrecision(bound, operand);
}

// A result with the predicate's layout is packed as tightly as the choices are.
void PackAs(const Shape& choice, Shape& result) {
  int64_t bits = choice.has_layout() ? choice.layout().element_size_in_bits() : 0;
  if (!result.has_layout() || result.layout().element_size_in_bits() == bits) return;
  Layout layout = result.layout();
  LayoutExtras extras = layout.extras ? *layout.extras : LayoutExtras();
  extras.element_size_in_bits = bits;
  layout.extras = std::make_shared<const LayoutExtras>(std::move(extras));
  result.set_layout(std::move(layout));
}

}  // namespace

Result<Shape> InferUnary(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckKind(input, 0, kUnaryKinds[input.opcode]));
  const Shape& operand = *input.operands[0];
  if (input.opcode == Opcode::kAbs) {
    return WithElementType(operand, RealPart(operand.element_type()));
  }
  return operand;
}

Result<Shape> InferRealImag(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckKind(input, 0, kFloats | kComplexes));
  return WithElementType(*input.operands[0], RealPart(input.operands[0]->element_type()));
}

Result<Shape> InferIsFinite(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckKind(input, 0, kFloats));
  return WithElementType(*input.operands[0], ElementType::kPred);
}

Result<Shape> InferBinary(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckKind(input, 0, kBinaryKinds[input.opcode]));
  HLOSCOPE_TRY(CheckKind(input, 1, kBinaryKinds[input.opcode]));
  return InferPair(input);
}

Result<Shape> InferComplex(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckKind(input, 0, kFloats));
  HLOSCOPE_ASSIGN_OR_RETURN(Shape shape, InferPair(input));
  ElementType lhs = input.operands[0]->element_type(), rhs = input.operands[1]->element_type();
  if (lhs != rhs || (lhs != ElementType::kF32 && lhs != ElementType::kF64)) {
    return Fail(input, fmt::format("has operands of types {} and {}, expected both f32 or both f64",
                                   ToString(lhs), ToString(rhs)));
  }
  shape.set_element_type(lhs == ElementType::kF32 ? ElementType::kC64 : ElementType::kC128);
  return shape;
}

Result<Shape> InferCompare(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(Shape shape, InferPair(input));
  shape.set_element_type(ElementType::kPred);
  return shape;
}

// XLA: InferClampShape; min and max may be scalars.
Result<Shape> InferClamp(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckArrays(input));
  const Shape& min = *input.operands[0];
  const Shape& operand = *input.operands[1];
  const Shape& max = *input.operands[2];
  bool types = SameTypeIgnoringPrecision(min.element_type(), operand.element_type()) &&
               SameTypeIgnoringPrecision(max.element_type(), operand.element_type());
  bool sizes = FitsOrScalar(min, operand) && FitsOrScalar(max, operand);
  if (types && sizes) return operand;
  return Fail(input,
              fmt::format("has operands {}, {} and {}, expected equal {}", Text(min), Text(operand),
                          Text(max), types ? "dimensions (the bounds may be scalars)" : "types"));
}

// XLA: InferSelectShape; the predicate may be a scalar.
Result<Shape> InferSelect(const InferenceInput& input) {
  HLOSCOPE_TRY(CheckArrays(input));
  const Shape& pred = *input.operands[0];
  const Shape& on_true = *input.operands[1];
  const Shape& on_false = *input.operands[2];
  if (!CompatibleIgnoringPrecision(on_true, on_false)) {
    return Fail(input, fmt::format("has choices {} and {}, expected equal shapes", Text(on_true),
                                   Text(on_false)));
  }
  if (pred.element_type() != ElementType::kPred) {
    return Fail(input, fmt::format("has predicate {}, expected type pred", Text(pred)));
  }
  if (!pred.IsScalar() && !(SameDimensions(pred, on_true) && SameDimensions(pred, on_false))) {
    return Fail(input, fmt::format("has predicate {} and choices {}, expected equal dimensions",
                                   Text(pred), Text(on_true)));
  }
  Shape result = WithElementType(pred.IsScalar() ? on_true : pred,
                                 HigherPrecision(on_true.element_type(), on_false.element_type()));
  PackAs(on_true, result);
  for (size_t i = 0; i < result.rank(); ++i) {
    bool t = on_true.is_dynamic_dimension(i), f = on_false.is_dynamic_dimension(i);
    if (on_true.is_unbounded_dimension(i) || on_false.is_unbounded_dimension(i)) {
      bool take_false = on_true.is_unbounded_dimension(i);
      SetDimension(result, i, (take_false ? on_false : on_true).dimension(i), t && f);
    } else {
      bool p = !pred.IsScalar() && pred.is_dynamic_dimension(i);
      SetDimension(result, i, result.dimension(i), p || t || f);
    }
  }
  return result;
}

}  // namespace hloscope::hlo
