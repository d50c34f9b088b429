// Evaluate: checks the arguments and runs the entry computation.
#include "core/eval/evaluator.h"

#include <fmt/format.h>

#include <new>

#include "core/eval/machine.h"

namespace hloscope::eval {
namespace {

Status CheckArguments(const hlo::Module& module, std::span<const hlo::InstructionId> parameters,
                      std::span<const hlo::Literal> arguments) {
  if (parameters.size() != arguments.size()) {
    return InputError(fmt::format("{} takes {} parameters, {} arguments were given", module.name(),
                                  parameters.size(), arguments.size()));
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].valid()) return InputError(fmt::format("there is no parameter {}", i));
    const hlo::Shape& want = module.shape(parameters[i]);
    if (!hlo::Compatible(want, arguments[i].shape(), {.dynamic_dimensions = false})) {
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
  for (const hlo::Literal& argument : arguments) values.push_back(Value::FromLiteral(argument));
  RunState run(options);
  Machine machine(module, options, run);
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
