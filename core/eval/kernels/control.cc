// Kernels of structure and control: parameters, constants, tuples, calls, loops, branches,
// asynchronous pairs.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/base/counted.h"
#include "core/eval/machine/indices.h"
#include "core/eval/machine/kernels.h"
#include "core/eval/machine/loop_watch.h"
#include "core/eval/numbers/random_fill.h"
#include "core/hlo/analysis/async_chain.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/effects.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::ComputationId;

std::vector<Value> TakeOperands(KernelCall& call) {
  return {std::make_move_iterator(call.operands.begin()),
          std::make_move_iterator(call.operands.end())};
}

bool IsTrue(const Value& pred) { return *pred.as<uint8_t>() != 0; }

// What decides is missing, so nobody knows what runs: with effects inside, the run ends, and random
// numbers that may have been drawn inside are lost.
Result<Value> Undecided(const KernelCall& call, const Value& missing) {
  const hlo::Effects& effects = hlo::EffectsOf(call.module());
  if (effects.IsSeen(call.id)) return std::unexpected(missing.error());
  call.machine.LoseRandomState(call.id, missing.error());
  return missing;
}

// A literal of `shape` with made-up elements, floats small and finite as replayed inputs are. They
// follow from the seed and the constant's name, which rewriting and cutting out keep.
Result<Value> Generated(KernelCall& call, const hlo::Shape& shape) {
  if (shape.IsTuple()) return Unsupported(call, "an elided tuple cannot be generated");
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(shape));
  const uint64_t seed =
      SeedOfConstant(*call.machine.options().fill_elided, call.module().name(call.id));
  FillRandom(shape.element_type(), seed, buffer.data(), ElementCount(shape));
  return Value::Array(shape, std::move(buffer));
}

}  // namespace

Result<Value> ParameterKernel(KernelCall& call) {
  const auto number =
      static_cast<size_t>(call.module().GetInt(call.instruction(), AttributeKey::kParameterNumber));
  if (number >= call.arguments.size()) {
    return UnsupportedError(fmt::format("parameter {} is bound after the call began", number),
                            "bind all operands of the asynchronous call at its start");
  }
  return std::move(call.arguments[number]);
}

Result<Value> ConstantKernel(KernelCall& call) {
  const auto* literal =
      call.module().Get<hlo::Literal>(call.instruction(), AttributeKey::kConstantValue);
  if (literal == nullptr) return Unsupported(call, "the constant has no value");
  if (!literal->elided()) return Value::FromLiteral(*literal);
  if (call.machine.options().fill_elided) return Generated(call, call.shape());
  return InputError(
      fmt::format("{}: the value of constant {} is elided in the file ({{...}}), and a result "
                  "depends on it",
                  call.module().name(call.id), hlo::ToString(call.shape(), false)),
      "use the .hlo.pb of the dump, dump with --xla_dump_large_constants, or give --constants or "
      "--fill-elided");
}

Result<Value> TokenKernel(KernelCall&) { return Value::Token(); }

Result<Value> NothingKernel(KernelCall&) { return Value::Tuple({}); }

Result<Value> TupleKernel(KernelCall& call) { return Value::Tuple(TakeOperands(call)); }

Result<Value> GetTupleElementKernel(KernelCall& call) {
  if (call.operands[0].is_missing()) return call.operands[0];
  const auto index =
      static_cast<size_t>(call.module().GetInt(call.instruction(), AttributeKey::kIndex));
  if (!call.operands[0].is_tuple() || index >= call.operands[0].elements().size()) {
    return Unsupported(call, "the operand has no such element");
  }
  return call.operands[0].elements()[index];
}

Result<Value> FirstOperandKernel(KernelCall& call) { return std::move(call.operands[0]); }

Result<Value> CallKernel(KernelCall& call) {
  const ComputationId callee =
      call.module().GetComputation(call.instruction(), AttributeKey::kToApply);
  return call.machine.Call(callee, TakeOperands(call));
}

Result<Value> FusionKernel(KernelCall& call) {
  const ComputationId callee =
      call.module().GetComputation(call.instruction(), AttributeKey::kCalls);
  return call.machine.Call(callee, TakeOperands(call));
}

namespace {

// A run that has to end says how far its loops were, the innermost first.
Result<Value> InLoop(const KernelCall& call, int64_t iteration, Result<Value> value) {
  if (!value.has_value() && IsExecutionFailure(value.error().error_class)) {
    value.error().message += fmt::format("; {} had run {}", call.module().name(call.id),
                                         Counted(iteration, "iteration"));
  }
  return value;
}

}  // namespace

Result<Value> WhileKernel(KernelCall& call) {
  const auto& instruction = call.instruction();
  const ComputationId condition =
      call.module().GetComputation(instruction, AttributeKey::kCondition);
  const ComputationId body = call.module().GetComputation(instruction, AttributeKey::kBody);
  Value state = std::move(call.operands[0]);
  LoopWatch watch(call.module(), condition, body);
  std::optional<LoopMemory> memory;
  if (const LoopInvariants* invariants = call.machine.InvariantsOf(body)) {
    memory.emplace(*invariants);
  }
  for (int64_t iteration = 0;; ++iteration) {
    if (const auto before = watch.CameRound(iteration, state)) {
      return Unsupported(
          call,
          fmt::format("infinite loop: iteration {} begins with the same values as iteration {}",
                      iteration, *before));
    }
    call.machine.set_iteration(iteration);
    HLOSCOPE_ASSIGN_OR_RETURN(Value go_on,
                              InLoop(call, iteration, call.machine.Call(condition, {state})));
    if (go_on.is_missing()) return Undecided(call, go_on);
    if (!IsTrue(go_on)) return state;
    // What an iteration does may count for little and take long: a loop inside that never ends is
    // given up for what it is, and has no value.
    Status may_go_on = call.machine.Charge(1);
    if (may_go_on.has_value()) may_go_on = call.machine.run().Look();
    if (!may_go_on.has_value()) {
      return InLoop(call, iteration, std::unexpected(may_go_on.error()));
    }
    std::vector<Value> arguments;
    arguments.push_back(std::move(state));
    HLOSCOPE_ASSIGN_OR_RETURN(
        state, InLoop(call, iteration,
                      call.machine.Call(body, std::move(arguments), memory ? &*memory : nullptr)));
  }
}

// Branch `index` of an indexed conditional, the last one where it is out of range; or the true and
// false computations, in that order.
Result<Value> ConditionalKernel(KernelCall& call) {
  if (call.operands[0].is_missing()) return Undecided(call, call.operands[0]);
  const auto branches = hlo::CallGraphOf(call.module()).calls(call.id);
  const auto index = static_cast<size_t>(TakenBranch(call.operands[0], std::ssize(branches)));
  if (index >= branches.size() || index + 1 >= call.operands.size()) {
    return Unsupported(call, "it has no such branch");
  }
  return call.machine.Call(branches[index].callee, {std::move(call.operands[index + 1])});
}

namespace {

// The value of an asynchronous call: its operands and its result, or why there is none yet.
Result<Value> Bound(KernelCall& call, ComputationId callee, std::vector<Value> operands) {
  const Value operand_tuple = Value::Tuple(operands);
  if (operands.size() < call.module().Parameters(callee).size()) {
    const auto unbound = Unsupported(call, "not all operands of the call are bound");
    return Value::Tuple({operand_tuple, Value::Missing(unbound.error())});
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Value result, call.machine.Call(callee, std::move(operands)));
  return Value::Tuple({operand_tuple, std::move(result)});
}

}  // namespace

// An asynchronous computation is done when its last operand is bound, mostly when it starts: the
// start's value is that of the matching synchronous instruction behind its operands and context,
// the done takes it out.
Result<Value> AsyncStartKernel(KernelCall& call) {
  const ComputationId callee =
      call.module().GetComputation(call.instruction(), AttributeKey::kCalls);
  if (!callee.valid()) return Unsupported(call, "the start has no computation");
  return Bound(call, callee, TakeOperands(call));
}

// More operands of the call, behind those that the start and earlier updates have bound.
Result<Value> AsyncUpdateKernel(KernelCall& call) {
  if (call.operands.size() == 1 || call.operands[0].is_missing()) return call.operands[0];
  const hlo::Module& module = call.module();
  hlo::InstructionId start = call.id;
  while (module[start].opcode == hlo::Opcode::kAsyncUpdate) start = module.operands(start)[0];
  if (module[start].opcode != hlo::Opcode::kAsyncStart) {
    start = hlo::AsyncChainsOf(module).start(call.id);
    if (!start.valid()) return Unsupported(call, "no async-start leads here");
  }
  const ComputationId callee = module.GetComputation(module[start], AttributeKey::kCalls);
  if (!callee.valid() || !call.operands[0].is_tuple()) {
    return Unsupported(call, "the start has no computation");
  }
  const auto bound = call.operands[0].elements()[0].elements();
  std::vector<Value> operands(bound.begin(), bound.end());
  operands.insert(operands.end(), call.operands.begin() + 1, call.operands.end());
  return Bound(call, callee, std::move(operands));
}

Result<Value> AsyncDoneKernel(KernelCall& call) {
  Value& start = call.operands[0];
  // Starts of collectives without a context yield their result itself.
  const auto source = call.module().operands(call.id)[0];
  const bool wrapped = call.module().shape(source).IsTuple() && start.is_tuple() &&
                       !hlo::Compatible(call.module().shape(source), call.shape());
  if (!wrapped) return std::move(start);
  if (start.elements().size() < 2) return Unsupported(call, "the start has no result");
  return start.elements()[1];
}

Result<Value> CopyStartKernel(KernelCall& call) {
  const Value context = Value::Token();
  return Value::Tuple({call.operands[0], call.operands[0], context});
}

Result<Value> CopyDoneKernel(KernelCall& call) {
  if (call.operands[0].is_missing()) return call.operands[0];
  if (!call.operands[0].is_tuple()) return Unsupported(call, "the operand is not a copy-start");
  return call.operands[0].elements()[0];
}

}  // namespace hloscope::eval
