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

}  // namespace

void EnterCallee(Search& search) {
  for (bool entered = true; entered && !search.stopped();) {
    const Candidate from = search.best();
    const hlo::Module& module = *from.module;
    std::vector<ComputationId> callees;
    for (uint32_t i = 0; i < module.entry().instruction_count; ++i) {
      const InstructionId id(module.entry().first_instruction + i);
      if (!hlo::HasTrait(module[id].opcode, hlo::kTraitRunsBody)) continue;
      for (const ComputationId callee : module.CalledComputations(module[id])) {
        if (std::ranges::find(callees, callee) == callees.end()) callees.push_back(callee);
      }
    }
    entered =
        search
            .First(callees.size(),
                   [&](size_t i) -> std::optional<Candidate> {
                     Candidate inner{WithEntry(module, callees[i]), search.ArgumentsOf(callees[i])};
                     inner.arguments.resize(module.Parameters(callees[i]).size());
                     return Edit(inner).Finish();
                   })
            .has_value();
  }
}

void InlineCalls(Search& search) {
  search.RemoveChunks([](const Candidate& c) { return BodiesOf(*c.module).size(); }, InlineSome);
}

}  // namespace hloscope::debug
