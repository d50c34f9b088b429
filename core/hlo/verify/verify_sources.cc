// Instructions whose shape is given and not inferred: constants, iota, random numbers, device ids.
#include "core/base/counted.h"
#include "core/hlo/opcode_table.h"
#include "core/hlo/verify/verify_context.h"

namespace hloscope::hlo {
namespace {

using std::to_string;

// No XLA can hold more: a literal travels in a protobuf message.
constexpr int64_t kLargestConstant = int64_t{1} << 31;

void CheckConstant(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  const auto* literal = module.Get<Literal>(module[id], AttributeKey::kConstantValue);
  if (literal == nullptr) return;
  const Shape& shape = module.shape(id);
  if (!SameShape(shape, literal->shape())) {
    context.Error(id, "constant",
                  context.Name(id) + " is " + context.Text(shape) + ", but its value is " +
                      context.Text(literal->shape()));
  } else if (shape.ByteSize().value_or(kLargestConstant) >= kLargestConstant) {
    context.Error(id, "constant",
                  context.Name(id) + " is a constant of " +
                      to_string(shape.ByteSize().value_or(-1)) + " bytes, the limit is " +
                      to_string(kLargestConstant - 1));
  }
}

void CheckIota(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  const Shape& shape = module.shape(id);
  ElementType type = shape.element_type();
  if (!shape.IsArray() || shape.rank() == 0) {
    context.Error(id, "iota",
                  context.Name(id) + ": iota needs a result of at least one dimension, not " +
                      context.Text(shape));
    return;
  }
  int64_t dimension = module.GetInt(module[id], AttributeKey::kIotaDimension, -1);
  if (dimension < 0 || dimension >= static_cast<int64_t>(shape.rank())) {
    context.Error(id, "iota",
                  context.Name(id) + ": iota_dimension is " + to_string(dimension) + ", but " +
                      context.Text(shape) + " has dimensions 0 to " + to_string(shape.rank() - 1));
  } else if (!IsInteger(type) && !IsFloat(type) && !IsComplex(type)) {
    context.Error(id, "iota",
                  context.Name(id) + ": iota of " + std::string(ToString(type)) +
                      ", expected an integer, floating-point or complex type");
  }
}

void CheckRng(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  auto operands = module.operands(id);
  if (operands.size() != 2) {
    context.Error(
        id, "operand-count",
        context.Name(id) + ": rng has " + Counted(operands.size(), "operand") + ", expected 2");
    return;
  }
  const Shape& a = module.shape(operands[0]);
  const Shape& b = module.shape(operands[1]);
  if (!a.IsScalar() || !b.IsScalar()) {
    context.Error(id, "rng",
                  context.Name(id) + ": rng needs scalar operands, but has " + context.Text(a) +
                      " and " + context.Text(b));
    return;
  }
  ElementType type = a.element_type(), result = module.shape(id).element_type();
  bool floats = IsFloat(type) && IsFloat(result);
  if (type != b.element_type() || (type != result && !floats)) {
    context.Error(id, "rng",
                  context.Name(id) + " is " + context.Text(id) + ", but its operands are " +
                      context.Text(a) + " and " + context.Text(b));
    return;
  }
  if (type != result) {
    context.Strict(
        id, "mixed-precision",
        context.Name(id) + " is " + context.Text(id) + ", but its operands are " + context.Text(a));
  }
  int64_t distribution = module.GetInt(module[id], AttributeKey::kDistribution);
  bool uniform = distribution == static_cast<int64_t>(RandomDistribution::kUniform);
  bool normal = distribution == static_cast<int64_t>(RandomDistribution::kNormal);
  bool fits = (uniform && (IsFloat(type) || IsInteger(type) || type == ElementType::kPred)) ||
              (normal && IsFloat(type));
  if (fits) return;
  context.Error(id, "rng",
                context.Name(id) + ": rng cannot draw " +
                    std::string(EnumText(AttributeKey::kDistribution, distribution)) + " of " +
                    std::string(ToString(type)));
}

void CheckRngBitGenerator(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  const Shape& shape = module.shape(id);
  const Shape& state = module.shape(module.operands(id)[0]);
  auto unsigned_or_signed = [](const Shape& s) { return s.IsArray() && !s.IsTuple(); };
  if (!shape.IsTuple()) {
    if (unsigned_or_signed(shape)) return;
  } else if (shape.elements().size() == 2 && SameShape(shape.elements()[0], state)) {
    return;
  }
  context.Error(id, "rng-bit-generator",
                context.Name(id) + " is " + context.Text(shape) + ", expected a tuple of the " +
                    "state " + context.Text(state) + " and the numbers");
}

void ExpectShape(VerifyContext& context, InstructionId id, const Shape& expected) {
  if (SameShape(context.module().shape(id), expected)) return;
  context.Error(id, "shape-mismatch",
                context.Name(id) + " is " + context.Text(id) + ", but " +
                    std::string(ToString(context.module()[id].opcode)) + " returns " +
                    context.Text(expected));
}

void ExpectDeviceNumber(VerifyContext& context, InstructionId id) {
  ExpectShape(context, id, Shape::Scalar(ElementType::kU32));
}

void ExpectRngState(VerifyContext& context, InstructionId id) {
  ExpectShape(context, id, Shape::Array(ElementType::kU64, {2}));
}

}  // namespace

void VerifyDeclaredShape(VerifyContext& context, InstructionId id) {
  using enum Opcode;
  static constexpr OpcodeTable<void (*)(VerifyContext&, InstructionId)> kDeclared = {
      {kConstant, CheckConstant},
      {kIota, CheckIota},
      {kPartitionId, ExpectDeviceNumber},
      {kReplicaId, ExpectDeviceNumber},
      {kRng, CheckRng},
      {kRngBitGenerator, CheckRngBitGenerator},
      {kRngGetAndUpdateState, ExpectRngState},
  };
  const auto check = kDeclared[context.module()[id].opcode];
  if (check != nullptr) check(context, id);
}

}  // namespace hloscope::hlo
