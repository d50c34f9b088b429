// Evaluate: checks the arguments and runs the entry computation.
#include "core/eval/evaluator.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "core/eval/indices.h"
#include "core/eval/machine.h"

namespace hloscope::eval {
namespace {

// Arrays may be shorter than a bound: then that is their size at run time.
bool FitsParameter(const hlo::Shape& given, const hlo::Shape& want) {
  if (given.IsTuple() && want.IsTuple()) {
    return std::ranges::equal(given.elements(), want.elements(), FitsParameter);
  }
  if (!given.IsArray() || !want.IsArray()) return hlo::Compatible(given, want);
  if (given.element_type() != want.element_type() || given.rank() != want.rank()) return false;
  for (size_t d = 0; d < want.rank(); ++d) {
    const int64_t size = given.dimension(d), bound = want.dimension(d);
    const bool fits = size == bound || (want.is_dynamic_dimension(d) && size < bound);
    if (!fits || size < 0) return false;
  }
  return true;
}

// The literal as the value of a parameter, within its bounds.
Result<Value> Bind(Machine& machine, const hlo::Literal& literal, const hlo::Shape& want) {
  if (!want.IsTuple()) {
    Value value = Value::FromLiteral(literal);
    if (!want.IsArray()) return value;
    if (std::ranges::equal(literal.shape().dimensions(), want.dimensions())) return value;
    return WithinBounds(machine, value, want);
  }
  std::vector<Value> elements;
  for (size_t i = 0; i < want.elements().size(); ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(Value element,
                              Bind(machine, literal.elements()[i], want.elements()[i]));
    elements.push_back(std::move(element));
  }
  return Value::Tuple(std::move(elements));
}

Status CheckArguments(const hlo::Module& module, std::span<const hlo::InstructionId> parameters,
                      std::span<const hlo::Literal> arguments) {
  if (parameters.size() != arguments.size()) {
    return InputError(fmt::format("{} takes {} parameters, {} arguments were given", module.name(),
                                  parameters.size(), arguments.size()));
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].valid()) return InputError(fmt::format("there is no parameter {}", i));
    const hlo::Shape& want = module.shape(parameters[i]);
    if (!FitsParameter(arguments[i].shape(), want)) {
      return InputError(fmt::format("parameter {} ({}) is {}, its argument {}", i,
                                    module.name(parameters[i]), hlo::ToString(want, false),
                                    hlo::ToString(arguments[i].shape(), false)));
    }
    if (arguments[i].elided()) {
      return InputError(fmt::format("the bytes of argument {} are not there", i));
    }
  }
  return {};
}

Result<Evaluation> Run(const hlo::Module& module, std::span<const hlo::Literal> arguments,
                       const EvaluateOptions& options) {
  HLOSCOPE_TRY(CheckArguments(module, module.Parameters(module.entry_id()), arguments));
  std::vector<Value> values;
  values.reserve(arguments.size());
  RunState run(options);
  Machine machine(module, options, run);
  const auto parameters = module.Parameters(module.entry_id());
  for (size_t i = 0; i < arguments.size(); ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(Value value,
                              Bind(machine, arguments[i], module.shape(parameters[i])));
    values.push_back(std::move(value));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Value result, machine.Call(module.entry_id(), std::move(values)));
  return Evaluation{std::move(result), run.steps(), run.peak_bytes()};
}

}  // namespace

Result<Evaluation> Evaluate(const hlo::Module& module, std::span<const hlo::Literal> arguments,
                            const EvaluateOptions& options) {
  try {
    return Run(module, arguments, options);
  } catch (const std::bad_alloc&) {
    return EnvironmentError("out of memory while evaluating", "free memory, or a smaller module");
  }
}

}  // namespace hloscope::eval
