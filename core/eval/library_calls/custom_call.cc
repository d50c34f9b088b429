// custom-call: finds the row of its target and runs it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "core/eval/library_calls/custom_calls.h"
#include "core/eval/loops/blocks.h"
#include "core/eval/machine/indices.h"
#include "core/eval/machine/kernels.h"
#include "core/hlo/expand/expand.h"
#include "core/runtime/device_set.h"

namespace hloscope::eval {

using hlo::AttributeKey;
using hlo::expand::CustomCall;
using hlo::expand::Held;

// Notes to the compiler: on one device the value itself, or a tuple of all of them.
Result<Value> IdentityCall(KernelCall& call) {
  if (call.operands.empty()) return Unsupported(call, "it has no operand");
  if (call.shape().IsTuple() && call.operands[0].is_array()) {
    bool fits = call.shape().elements().size() == call.operands.size();
    for (size_t i = 0; fits && i < call.operands.size(); ++i) {
      fits = call.operands[i].is_array() &&
             hlo::Compatible(Held(call.shape().elements()[i]), call.operand_shape(i));
    }
    if (!fits) return Unsupported(call, "its results do not match its operands");
    return Value::Tuple({call.operands.begin(), call.operands.end()});
  }
  const Value& operand = call.operands[0];
  if (operand.is_array() && !hlo::Compatible(Held(call.shape()), operand.shape())) {
    return Unsupported(call, "the evaluator runs one device");
  }
  return operand;
}

// Memory whose contents nobody may rely on: zeros, so that runs agree.
Result<Value> ZeroBufferCall(KernelCall& call) {
  const hlo::Shape& shape = Held(call.shape());
  if (!shape.IsArray()) return Unsupported(call, "its result is not an array");
  return Zeros(call, shape);
}

// Something is shown or checked; nothing comes back but a token or an empty tuple.
Result<Value> EffectCall(KernelCall& call) {
  if (call.shape().IsToken()) return Value::Token();
  if (call.shape().IsTuple() && call.shape().elements().empty()) return Value::Tuple({});
  return Unsupported(call, "only its side effect is known");
}

// Fails with its own words.
Result<Value> RefuseCall(KernelCall& call) {
  const auto* config =
      call.module().Get<hlo::BackendConfig>(call.instruction(), AttributeKey::kBackendConfig);
  const bool has_words = config != nullptr && config->text.valid();
  return InputError(has_words ? std::string(call.module()[config->text]) : "refused");
}

// The computation it names says what it does.
Result<Value> CalledComputationCall(KernelCall& call) {
  const auto called = call.module().CalledComputations(call.instruction());
  if (called.size() != 1) return Unsupported(call, "it has no called computation");
  const auto parameters = call.module().Parameters(called[0]);
  bool fits = parameters.size() == call.operands.size();
  for (size_t i = 0; fits && i < parameters.size(); ++i) {
    fits = parameters[i].valid() &&
           (!call.operands[i].is_array() ||
            hlo::Compatible(call.module().shape(parameters[i]), call.operand_shape(i)));
  }
  const hlo::InstructionId root = call.module()[called[0]].root;
  if (!fits || !hlo::Compatible(call.module().shape(root), call.shape())) {
    return Unsupported(call, "its called computation does not match its operands");
  }
  return call.machine.Call(called[0], {std::make_move_iterator(call.operands.begin()),
                                       std::make_move_iterator(call.operands.end())});
}

namespace {

constexpr auto kKernels = [] {
  std::array<Kernel, hlo::expand::kCustomCalls> kernels{};
#define CUSTOM_CALL(target, meaning, source) \
  kernels[static_cast<size_t>(CustomCall::k##meaning)] = &meaning##Call;
#define CUSTOM_CALL_EXPANDED(target, name, source)
#define CUSTOM_CALL_UNSUPPORTED(target, why, fix)
#include "core/hlo/expand/custom_calls.def"
#undef CUSTOM_CALL
#undef CUSTOM_CALL_EXPANDED
#undef CUSTOM_CALL_UNSUPPORTED
  return kernels;
}();

// Runs the module that the call stands for. Observers see the call, not what it is made of.
Result<Value> ExpandedCall(KernelCall& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(
      const auto expansion,
      hlo::expand::Expand(call.module(), call.id, IntegerScalars(call.operands)));
  EvaluateOptions options = call.machine.options();
  options.observer = nullptr;
  DeviceSet alone(*expansion, {1, 1});
  Machine machine(*expansion, options, call.machine.run(), alone);
  return machine.Call(expansion->entry_id(), {std::make_move_iterator(call.operands.begin()),
                                              std::make_move_iterator(call.operands.end())});
}

}  // namespace

Result<Value> CustomCallKernel(KernelCall& call) {
  const std::string_view target =
      call.module().GetString(call.instruction(), AttributeKey::kCustomCallTarget);
  const auto* const row = hlo::expand::FindCustomCall(target);
  if (row == nullptr) {
    return Unsupported(call, fmt::format("unknown custom call target {}", target));
  }
  if (row->meaning == CustomCall::kExpansion) return ExpandedCall(call);
  if (row->runs()) return kKernels[static_cast<size_t>(row->meaning)](call);
  return UnsupportedError(
      fmt::format("{}: {} cannot be evaluated: {}", call.module().name(call.id), target, row->why),
      std::string(row->fix));
}

}  // namespace hloscope::eval
