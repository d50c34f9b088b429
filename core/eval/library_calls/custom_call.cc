// custom-call: finds the row of its target and runs it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/eval/library_calls/call_config.h"
#include "core/eval/library_calls/custom_calls.h"
#include "core/eval/library_calls/expansion.h"
#include "core/eval/loops/blocks.h"
#include "core/eval/machine/kernels.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;

constexpr CustomCallRow kRows[] = {
#define CUSTOM_CALL(target, kernel, source) {target, &kernel##Call, false, source, {}, {}},
#define CUSTOM_CALL_EXPANDED(target, kernel, source) {target, &kernel##Call, true, source, {}, {}},
#define CUSTOM_CALL_UNSUPPORTED(target, why, fix) {target, nullptr, false, {}, why, fix},
#include "core/eval/library_calls/custom_calls.def"
#undef CUSTOM_CALL
#undef CUSTOM_CALL_EXPANDED
#undef CUSTOM_CALL_UNSUPPORTED
};

// `?` is any one character, `*` any number of them.
bool Matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

}  // namespace

const CustomCallRow* FindCustomCall(std::string_view target) {
  const auto* row = std::ranges::find_if(
      kRows, [&](const CustomCallRow& candidate) { return Matches(candidate.target, target); });
  return row == std::end(kRows) ? nullptr : row;
}

bool TakesNoWork(const hlo::Module& module, hlo::InstructionId id) {
  if (module[id].opcode != hlo::Opcode::kCustomCall) return false;
  const auto* const row =
      FindCustomCall(module.GetString(module[id], AttributeKey::kCustomCallTarget));
  constexpr Kernel kFree[] = {&IdentityCall, &EffectCall, &CalledComputationCall, &EnterManualCall,
                              &LeaveManualCall};
  return row != nullptr && std::ranges::find(kFree, row->kernel) != std::end(kFree);
}

namespace {

// What a value of that shape holds: buffers of memory hold an array.
const hlo::Shape& Held(const hlo::Shape& shape) {
  return shape.IsBuffer() ? shape.elements()[0] : shape;
}

}  // namespace

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

// result[i] = operand[(i − amount) mod size] along one dimension.
Result<Value> RotateRightCall(KernelCall& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig config, CallConfig::Of(call));
  const int64_t dimension = config.Integer("dimension", -1), amount = config.Integer("amount", -1);
  if (call.operands.size() != 1 || !call.operands[0].is_array() || dimension < 0 ||
      std::cmp_greater_equal(dimension, call.operand_shape(0).rank())) {
    return Unsupported(call, "its backend_config has no valid dimension");
  }
  const auto sizes = Dimensions(call.operand_shape(0));
  const auto d = static_cast<size_t>(dimension);
  if (amount < 0 || amount > sizes[d])
    return Unsupported(call, "it rotates by more than the size of the dimension");
  Expansion x(call);
  std::vector<int64_t> begin(sizes.size(), 0), cut = sizes;
  cut[d] = sizes[d] - amount;
  const Expansion::Node kept = x.Slice(x.Operand(0), begin, cut);
  begin[d] = cut[d];
  const Expansion::Node parts[] = {x.Slice(x.Operand(0), begin, sizes), kept};
  const hlo::Attribute along =
      x.builder().MakeInts(AttributeKey::kDimensions, std::span(&dimension, 1));
  return x.Run(x.Add(hlo::Opcode::kConcatenate, x.ShapeOf(x.Operand(0)), parts, {&along, 1}));
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

Result<Value> CustomCallKernel(KernelCall& call) {
  const std::string_view target =
      call.module().GetString(call.instruction(), AttributeKey::kCustomCallTarget);
  const CustomCallRow* row = FindCustomCall(target);
  if (row == nullptr) {
    return Unsupported(call, fmt::format("unknown custom call target {}", target));
  }
  if (row->kernel != nullptr) return row->kernel(call);
  return UnsupportedError(
      fmt::format("{}: {} cannot be evaluated: {}", call.module().name(call.id), target, row->why),
      std::string(row->fix));
}

}  // namespace hloscope::eval
