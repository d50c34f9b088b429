// Reductions of what is called: as the whole module, or in the place of the call.
#include <algorithm>
#include <set>
#include <vector>

#include "core/debug/reduce/edit.h"
#include "core/debug/reduce/reductions.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::debug {
namespace {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Opcode;

// A computation that a call runs on whole values, and the operands that are its parameters.
struct Body {
  InstructionId call;
  ComputationId callee;
  uint32_t first_operand = 0, operand_count = 0;
};

// What stands for the call when it is inlined: of a loop its body once, of a conditional a branch.
void AppendBodies(const hlo::Module& module, InstructionId call, std::vector<Body>& bodies) {
  const hlo::Instruction& instruction = module[call];
  if (instruction.opcode == Opcode::kWhile) {
    bodies.push_back({call, module.GetComputation(instruction, AttributeKey::kBody), 0, 1});
    return;
  }
  const std::vector<ComputationId> callees = module.CalledComputations(instruction);
  if (instruction.opcode == Opcode::kConditional) {
    for (uint32_t i = 0; i < callees.size(); ++i) bodies.push_back({call, callees[i], i + 1, 1});
    return;
  }
  const bool has_one = instruction.opcode == Opcode::kFusion || instruction.opcode == Opcode::kCall;
  if (has_one && callees.size() == 1) {
    bodies.push_back({call, callees[0], 0, instruction.operand_count});
  }
}

std::vector<Body> BodiesOf(const hlo::Module& module) {
  std::vector<Body> bodies;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    AppendBodies(module, InstructionId(i), bodies);
  }
  std::erase_if(bodies, [&](const Body& body) {
    return !body.callee.valid() ||
           body.first_operand + body.operand_count > module[body.call].operand_count;
  });
  return bodies;
}

std::optional<Candidate> InlineSome(const Candidate& from, size_t begin, size_t end) {
  const std::vector<Body> bodies = BodiesOf(*from.module);
  Edit edit(from);
  std::set<uint32_t> inlined;
  for (size_t i = begin; i < std::min(end, bodies.size()); ++i) {
    const Body& body = bodies[i];
    if (!inlined.insert(body.call.index).second) continue;
    const std::vector<InstructionId> operands = edit.rewriter().operands(body.call);
    edit.Inline(body.call, body.callee,
                std::span(operands).subspan(body.first_operand, body.operand_count));
  }
  return edit.Finish();
}

// A computation that the entry calls, on what it was given in one of its executions.
struct Execution {
  ComputationId callee;
  int64_t number = 0;
};

// The executions of a computation in which it may fail by itself: the first, that in which it does
// where that is known, the last, and others ever further apart.
void AppendExecutions(const Search& search, ComputationId callee, bool is_of_loop,
                      std::vector<Execution>& executions) {
  std::vector<int64_t> numbers = {0};
  if (is_of_loop) {
    const int64_t count = search.ExecutionsOf(callee);
    if (search.failure().iteration) numbers.push_back(*search.failure().iteration);
    numbers.push_back(count - 1);
    for (int64_t step = 1; step < count; step *= 2) numbers.push_back(step);
    std::erase_if(numbers, [&](int64_t n) { return n < 0 || (n > 0 && n >= count); });
  }
  std::vector<int64_t> known;
  for (const int64_t number : numbers) {
    if (std::ranges::find(known, number) != known.end()) continue;
    known.push_back(number);
    executions.push_back({callee, number});
  }
}

std::vector<Execution> ExecutionsOf(const Search& search, const hlo::Module& module) {
  std::vector<Execution> executions;
  std::set<uint32_t> seen;
  for (uint32_t i = 0; i < module.entry().instruction_count; ++i) {
    const InstructionId id(module.entry().first_instruction + i);
    const Opcode opcode = module[id].opcode;
    if (!hlo::HasTrait(opcode, hlo::kTraitRunsBody)) continue;
    const bool is_loop = opcode == Opcode::kWhile || opcode == Opcode::kScan;
    for (const ComputationId callee : module.CalledComputations(module[id])) {
      if (seen.insert(callee.index).second) AppendExecutions(search, callee, is_loop, executions);
    }
  }
  return executions;
}

}  // namespace

void CutToSuspect(Search& search) {
  for (std::shared_ptr<const hlo::Module> last; last != search.best().module;) {
    if (search.stopped()) return;
    last = search.best().module;
    const InstructionId suspect = search.Suspect();
    if (!suspect.valid() || (*last)[suspect].opcode == Opcode::kParameter) return;
    search.First(1, [&](size_t) {
      const Candidate from = search.best();
      std::vector<InstructionId> cuts;
      for (const InstructionId operand : last->operands(suspect)) {
        const Opcode opcode = (*last)[operand].opcode;
        if (opcode != Opcode::kParameter && opcode != Opcode::kConstant) cuts.push_back(operand);
      }
      const KnownValues values = search.ValuesOf(from, cuts);
      Edit edit(from);
      for (const InstructionId cut : std::set(cuts.begin(), cuts.end())) {
        const auto value = values.find(cut.index);
        edit.ToParameter(cut, value == values.end() ? nullptr : &value->second);
      }
      edit.SetResults({{suspect}});
      return edit.Finish();
    });
    EnterCallee(search);
  }
}

void EnterCallee(Search& search) {
  for (bool entered = true; entered && !search.stopped();) {
    const Candidate from = search.best();
    const hlo::Module& module = *from.module;
    const std::vector<Execution> executions = ExecutionsOf(search, module);
    entered = search
                  .First(executions.size(),
                         [&](size_t i) -> std::optional<Candidate> {
                           const auto [callee, number] = executions[i];
                           std::vector<hlo::Literal> arguments = search.ArgumentsOf(callee, number);
                           // Without values of its own it is what the first is.
                           if (arguments.empty() && number > 0) return std::nullopt;
                           Candidate inner{WithEntry(module, callee), std::move(arguments)};
                           inner.arguments.resize(module.Parameters(callee).size());
                           return Edit(inner).Finish();
                         })
                  .has_value();
  }
}

void InlineCalls(Search& search) {
  search.RemoveChunks([](const Candidate& c) { return BodiesOf(*c.module).size(); }, InlineSome);
}

}  // namespace hloscope::debug
