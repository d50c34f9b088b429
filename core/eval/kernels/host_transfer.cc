// Kernels of infeed and outfeed: values that the program takes from and gives to its host.
#include "core/eval/machine/kernels.h"
#include "core/eval/numbers/random_fill.h"

namespace hloscope::eval {
namespace {

using hlo::Shape;

// The next value for an array, or one made up where nobody feeds the run.
Result<Value> NextArray(KernelCall& call, const Shape& shape) {
  const EvaluateOptions& options = call.machine.options();
  if (options.infeed) {
    HLOSCOPE_ASSIGN_OR_RETURN(const hlo::Literal literal, options.infeed(shape));
    if (!hlo::Compatible(literal.shape(), shape, {.dynamic_dimensions = false})) {
      return InputError("infeed: " + hlo::ToString(literal.shape(), false) + " was given for " +
                        hlo::ToString(shape, false));
    }
    return Value::FromLiteral(literal);
  }
  if (!shape.IsArray()) return Unsupported(call, "there is no infeed value");
  // What is made up is drawn too.
  if (const Status known = call.machine.CheckRandomState(hlo::Generator::kSeeded); !known)
    return Value::Missing(known.error());
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(shape));
  FillRandom(shape.element_type(), call.machine.NextRandom(), buffer.data(), ElementCount(shape));
  return Value::Array(shape, std::move(buffer));
}

// Leaves in order. Shapes nest no deeper than the reader's limit.
Result<Value> Next(KernelCall& call, const Shape& shape) {
  if (shape.IsToken()) return Value::Token();
  if (!shape.IsTuple()) return NextArray(call, shape);
  std::vector<Value> elements;
  for (const Shape& element : shape.elements()) {
    HLOSCOPE_ASSIGN_OR_RETURN(Value value, Next(call, element));
    elements.push_back(std::move(value));
  }
  return Value::Tuple(std::move(elements));
}

Status Give(KernelCall& call, const hlo::Literal& literal) {
  if (literal.shape().IsArray()) return call.machine.options().outfeed(literal);
  for (const hlo::Literal& element : literal.elements()) HLOSCOPE_TRY(Give(call, element));
  return {};
}

}  // namespace

Result<Value> InfeedKernel(KernelCall& call) { return Next(call, call.shape()); }

// Giving is a side effect: what is missing cannot be given.
Result<Value> OutfeedKernel(KernelCall& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const hlo::Literal literal, call.operands[0].ToLiteral());
  if (call.machine.options().outfeed) HLOSCOPE_TRY(Give(call, literal));
  return Value::Token();
}

Result<Value> ShuffleKernel(KernelCall& call) {
  return Unsupported(call, "XLA does not specify the resulting order");
}

}  // namespace hloscope::eval
