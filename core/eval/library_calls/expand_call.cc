// Asking a custom call's kernel for its expansion instead of its value.
#include "core/eval/library_calls/expand_call.h"

#include <cstring>

#include "core/eval/library_calls/custom_calls.h"
#include "core/eval/machine/device_set.h"
#include "core/eval/machine/machine.h"
#include "core/eval/machine/run_state.h"

namespace hloscope::eval {

using hlo::InstructionId;
using hlo::Module;

Result<std::shared_ptr<const Module>> ExpandCall(const Module& module, InstructionId id) {
  const CustomCallRow* row =
      FindCustomCall(module.GetString(module[id], hlo::AttributeKey::kCustomCallTarget));
  if (row == nullptr || !row->has_expansion) return nullptr;
  std::shared_ptr<const Module> expansion;
  EvaluateOptions options;
  options.threads = 1;
  options.expansion = &expansion;
  RunState run(options);
  DeviceSet alone(module, {1, 1});
  Machine machine(module, options, run, alone);
  // An expansion goes by shapes; no element is looked at but those of integers that are options, as
  // older calls of LAPACK have them, which then have to be constants.
  std::vector<Value> operands;
  for (InstructionId operand : module.operands(id)) {
    const hlo::Shape& shape = module.shape(operand);
    if (!shape.IsArray() || !shape.is_static()) return nullptr;
    if (shape.IsScalar() && hlo::IsInteger(shape.element_type())) {
      const auto* value =
          module.Get<hlo::Literal>(module[operand], hlo::AttributeKey::kConstantValue);
      if (value == nullptr || value->elided()) return nullptr;
      operands.push_back(Value::FromLiteral(*value));
      continue;
    }
    HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, machine.Allocate(shape));
    operands.push_back(Value::Array(shape, std::move(buffer)));
  }
  KernelCall call{machine, id, operands, {}, nullptr};
  const Result<Value> value = row->kernel(call);
  if (expansion == nullptr && !value.has_value()) return std::unexpected(value.error());
  return expansion;
}

}  // namespace hloscope::eval
