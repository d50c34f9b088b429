// Loops of few iterations over large arrays, element by element, one iteration after another:
// fusion makes kernels of several iterations, which go through memory once.
#include <algorithm>
#include <unordered_map>

#include "core/compile/passes/loop_form.h"
#include "core/compile/run_computations.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::OriginKind;
using hlo::Shape;

namespace {

constexpr int kMaxIterations = 8;
constexpr size_t kMaxInstructions = 512;  // of all iterations
constexpr int64_t kSmallBytes = 1024;     // of an array that may be taken apart
// Smaller states stay in the nearest cache from one iteration to the next.
constexpr int64_t kLargeBytes = 16 * 1024;

int64_t BytesOf(const Shape& shape) { return shape.IsArray() ? shape.ByteSize().value_or(-1) : 0; }

// Beside elementwise instructions, what reads each element where it writes it.
constexpr hlo::OpcodeSet kInStep = {Opcode::kParameter, Opcode::kTuple, Opcode::kGetTupleElement,
                                    Opcode::kConstant,  Opcode::kIota,  Opcode::kBroadcast,
                                    Opcode::kReshape,   Opcode::kCopy,  Opcode::kConvert};

// True for what makes an iteration cost the same in one kernel with the iterations before.
bool IsInStep(const Module& module, const hlo::Instruction& i) {
  if (i.opcode == Opcode::kSlice) {
    const int64_t bytes = BytesOf(module.shape(module.operands(i)[0]));
    return bytes >= 0 && bytes <= kSmallBytes;
  }
  return kInStep.Has(i.opcode) || Info(i.opcode).category == hlo::Category::kElementwise;
}

class Unrolled : public LoopForm {
 public:
  using LoopForm::LoopForm;

  // False where a control dependency holds an element of the state in its place.
  bool MayReplaceElements() const {
    return std::ranges::none_of(rewriter_.users(id_),
                                [&](InstructionId user) { return edit_.IsPinned(user); });
  }

  Status Run(int iterations) {
    std::vector<uint8_t> state;
    HLOSCOPE_ASSIGN_OR_RETURN(order_, rewriter_.Order(body_, state));
    values_ = rewriter_.operands(initial_);
    for (int iteration = 0; iteration < iterations; ++iteration) RunIteration();
    for (const InstructionId user : rewriter_.users(id_)) {
      edit_.Replace(user, values_[static_cast<size_t>(edit_.Int(user, AttributeKey::kIndex))]);
    }
    return {};
  }

 private:
  void RunIteration() {
    std::unordered_map<InstructionId, InstructionId> copies;
    for (const InstructionId id : order_) {
      if (edit_.opcode(id) == Opcode::kParameter || id == root_) continue;
      if (const auto k = ElementOf(id, in_body_)) {
        copies[id] = values_[*k];
        edit_.NoteOrigin(values_[*k], id, OriginKind::kReplaced);
      } else {
        std::vector<InstructionId> operands = rewriter_.operands(id);
        for (InstructionId& operand : operands) operand = copies.at(operand);
        copies[id] = Copied(id, rewriter_.computation(id_), operands);
      }
    }
    std::vector<InstructionId> next;
    for (const InstructionId value : rewriter_.operands(root_)) next.push_back(copies.at(value));
    values_ = std::move(next);
  }

  std::vector<InstructionId> order_;   // the body's
  std::vector<InstructionId> values_;  // the state so far
};

// Whether iterations of that body are worth a kernel: `iterations` is how many there are.
bool IsWorthUnrolling(const Module& module, const hlo::Instruction& loop, int iterations) {
  const ComputationId body = module.GetComputation(loop, AttributeKey::kBody);
  if (module[body].instruction_count * static_cast<size_t>(iterations) > kMaxInstructions)
    return false;
  bool has_large = false;
  for (uint32_t k = 0; k < module[body].instruction_count; ++k) {
    const InstructionId id(module[body].first_instruction + k);
    if (!IsInStep(module, module[id])) return false;
    has_large |= BytesOf(module.shape(id)) >= kLargeBytes;
  }
  return has_large;
}

}  // namespace

Result<PassResult> UnrollLoops(const std::shared_ptr<const Module>& module, Compilation&) {
  if (!HasOpcode(*module, Opcode::kWhile)) return PassResult{};
  const hlo::CallGraph& calls = CallGraphOf(*module);
  const std::vector<bool> runs = RunComputations(*module);
  Edit edit(module);
  for (uint32_t k = 0; k < module->instructions().size(); ++k) {
    const InstructionId id(k);
    const hlo::Instruction& i = (*module)[id];
    if (i.opcode != Opcode::kWhile || !runs[i.computation.index]) continue;
    if (!MayChangeLoop(edit, calls, id)) continue;
    Unrolled loop(edit, id);
    if (!loop.Read() || !loop.MayReplaceElements()) continue;
    const int iterations = loop.TripCount(kMaxIterations + 1).value_or(0);
    if (iterations < 2 || iterations > kMaxIterations || !IsWorthUnrolling(*module, i, iterations))
      continue;
    HLOSCOPE_TRY(loop.Run(iterations));
  }
  return edit.Finish();
}

}  // namespace hloscope::compile
