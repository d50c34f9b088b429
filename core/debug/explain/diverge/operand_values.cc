// Following values backwards to where they were made.
#include "core/debug/explain/diverge/operand_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/debug/run/extract.h"
#include "core/eval/machine/evaluator.h"

namespace hloscope::debug {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using hlo::Opcode;
using replay::ValueKey;

namespace {

// Goes one step back at a time, in a loop: iterations and chains may be long.
class SourceFinder {
 public:
  SourceFinder(const Module& module, ValueKey key) : module_(module) {
    source_.key = std::move(key);
  }

  Result<ValueSource> Run() {
    for (;;) {
      HLOSCOPE_ASSIGN_OR_RETURN(const bool is_found, Step());
      if (is_found) return std::move(source_);
    }
  }

 private:
  ValueKey& key() { return source_.key; }
  InstructionId Operand(size_t i) { return module_.operands(key().instruction)[i]; }

  bool Found(ValueSource::Kind kind) {
    source_.kind = kind;
    return true;
  }

  Result<bool> Step() {
    const InstructionId id = key().instruction;
    switch (module_[id].opcode) {
      case Opcode::kTuple:
        return StepIntoTuple();
      case Opcode::kGetTupleElement: {
        const hlo::Shape& tuple = module_.shape(Operand(0));
        const int64_t index = module_.GetInt(module_[id], AttributeKey::kIndex);
        key().leaf += static_cast<int64_t>(tuple.ElementLeaves(static_cast<size_t>(index)).begin);
        key().instruction = Operand(0);
        return false;
      }
      case Opcode::kBitcast:
        source_.bitcasts.push_back(id);
        key().instruction = Operand(0);
        return false;
      case Opcode::kAddDependency:
      case Opcode::kDomain:
      case Opcode::kOptimizationBarrier:
        key().instruction = Operand(0);
        return false;
      case Opcode::kAfterAll:
        return Found(ValueSource::Kind::kToken);
      case Opcode::kConstant:
        return Found(ValueSource::Kind::kConstant);
      case Opcode::kParameter:
        return StepOutOfComputation();
      default:
        return Found(ValueSource::Kind::kCaptured);
    }
  }

  Result<bool> StepIntoTuple() {
    for (const InstructionId operand : module_.operands(key().instruction)) {
      const auto leaves = static_cast<int64_t>(module_.shape(operand).LeafCount());
      if (key().leaf < leaves) {
        key().instruction = operand;
        return false;
      }
      key().leaf -= leaves;
    }
    return InternalError(fmt::format("{} has no such leaf", module_.name(key().instruction)));
  }

  Result<bool> StepOutOfComputation() {
    const InstructionId id = key().instruction;
    const int64_t number = module_.GetInt(module_[id], AttributeKey::kParameterNumber);
    if (key().path.empty()) {
      source_.parameter_leaf = key().leaf;
      const auto parameters = module_.Parameters(module_.entry_id());
      for (int64_t p = 0; p < number; ++p) {
        const hlo::Shape& shape = module_.shape(parameters[static_cast<size_t>(p)]);
        source_.parameter_leaf += static_cast<int64_t>(shape.LeafCount());
      }
      return Found(ValueSource::Kind::kParameter);
    }
    runtime::Frame& frame = key().path.back();
    const hlo::Instruction& caller = module_[frame.caller];
    const auto operands = module_.operands(frame.caller);
    if (caller.opcode == Opcode::kWhile && frame.iteration > 0) {
      --frame.iteration;
      key().instruction = module_[module_.GetComputation(caller, AttributeKey::kBody)].root;
      return false;
    }
    if (caller.opcode == Opcode::kWhile) {
      key().instruction = operands[0];
    } else if (caller.opcode == Opcode::kCall) {
      key().instruction = operands[static_cast<size_t>(number)];
    } else if (caller.opcode == Opcode::kConditional) {
      const auto called = module_.CalledComputations(caller);
      const auto branch = std::ranges::find(called, module_[id].computation);
      key().instruction = operands[static_cast<size_t>(branch - called.begin()) + 1];
    } else {
      return UnsupportedError(
          fmt::format("the operands of the computation that {} calls are not captured",
                      module_.name(frame.caller)));
    }
    key().path.pop_back();
    return false;
  }

  const Module& module_;
  ValueSource source_;
};

Result<Literal> Bitcast(const Module& module, InstructionId id, Literal operand) {
  HLOSCOPE_ASSIGN_OR_RETURN(const ExtractedModule alone,
                            ExtractModule(module, id, 0, Metadata::kStripped));
  std::vector<Literal> arguments;
  if (!alone.parameters.empty()) arguments.push_back(std::move(operand));
  HLOSCOPE_ASSIGN_OR_RETURN(const eval::Evaluation evaluation,
                            eval::Evaluate(*alone.module, arguments));
  return evaluation.result.ToLiteral();
}

}  // namespace

Result<ValueSource> FindSource(const Module& module, ValueKey key) {
  return SourceFinder(module, std::move(key)).Run();
}

Result<Literal> ValueOf(const Module& module, const ValueSource& source,
                        std::span<const std::vector<Literal>> inputs,
                        const std::map<ProgramPoint, Literal>& captured) {
  Literal value = Literal::Token();
  switch (source.kind) {
    case ValueSource::Kind::kToken:
      break;
    case ValueSource::Kind::kConstant: {
      const auto* literal =
          module.Get<Literal>(module[source.key.instruction], AttributeKey::kConstantValue);
      if (literal == nullptr || literal->elided() || !literal->shape().IsArray()) {
        return UnsupportedError(
            fmt::format("the value of {} is not known", module.name(source.key.instruction)));
      }
      value = *literal;
      break;
    }
    case ValueSource::Kind::kParameter: {
      const auto device = static_cast<size_t>(source.key.device);
      const auto leaf = static_cast<size_t>(source.parameter_leaf);
      if (device >= inputs.size() || leaf >= inputs[device].size()) {
        return InternalError("an input is missing");
      }
      value = inputs[device][leaf];
      break;
    }
    case ValueSource::Kind::kCaptured: {
      const auto told = captured.find(PointOf(module, source.key));
      if (told == captured.end()) return InternalError("a captured value is missing");
      value = told->second;
      break;
    }
  }
  for (size_t i = source.bitcasts.size(); i-- > 0;) {
    HLOSCOPE_ASSIGN_OR_RETURN(value, Bitcast(module, source.bitcasts[i], std::move(value)));
  }
  return value;
}

}  // namespace hloscope::debug
