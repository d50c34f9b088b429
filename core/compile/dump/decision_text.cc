// The decisions of fusion as a text.
#include <fmt/format.h>

#include <iterator>
#include <map>
#include <utility>

#include "core/base/counted.h"
#include "core/compile/dump/dump_texts.h"
#include "core/hlo/analysis/cost.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::compile {

namespace {

using hlo::InstructionId;

bool IsWork(const hlo::Module& module, InstructionId id) {
  return !HasTrait(module[id].opcode, hlo::kTraitNoCode) &&
         module[id].opcode != hlo::Opcode::kReshape;
}

size_t SizeOf(const hlo::Module& module, InstructionId id) {
  const hlo::ComputationId body = module.GetComputation(module[id], hlo::AttributeKey::kCalls);
  if (!body.valid()) return 1;
  size_t count = 0;
  const hlo::Computation& c = module[body];
  for (uint32_t k = 0; k < c.instruction_count; ++k) {
    count += IsWork(module, InstructionId(c.first_instruction + k)) ? 1 : 0;
  }
  return count;
}

// Of several on two instructions the last: a later step of fusion may put together what an earlier
// one left apart.
std::vector<FusionDecision> LastDecisions(const std::vector<FusionDecision>& decisions) {
  std::map<std::pair<uint32_t, uint32_t>, size_t> last;
  for (size_t k = 0; k < decisions.size(); ++k) {
    last[{decisions[k].producer.index, decisions[k].consumer.index}] = k;
  }
  std::vector<FusionDecision> kept;
  for (size_t k = 0; k < decisions.size(); ++k) {
    if (last[{decisions[k].producer.index, decisions[k].consumer.index}] == k) {
      kept.push_back(decisions[k]);
    }
  }
  return kept;
}

}  // namespace

std::string DecisionText(const Compilation& compiled, std::string_view stage) {
  const hlo::Module& module = *compiled.module;
  const hlo::CostModel& costs = hlo::CostsOf(module);
  std::string text =
      fmt::format("Fusion of {}: {}\n", module.name(), Counted(compiled.kernels.size(), "kernel"));
  const auto out = std::back_inserter(text);
  if (!compiled.why_no_plan.empty()) {
    fmt::format_to(out, "No plan, it runs instruction by instruction: {}\n", compiled.why_no_plan);
  }
  text += "\nkernels, with what they read and write in bytes\n";
  double read = 0, written = 0;
  for (const InstructionId id : compiled.kernels) {
    const hlo::Cost& cost = costs.Of(id);
    fmt::format_to(out, "  {}: {}, reads {:.0f}, writes {:.0f}\n", module.name(id),
                   Counted(SizeOf(module, id), "operation"), cost.bytes_read, cost.bytes_written);
    read += cost.bytes_read;
    written += cost.bytes_written;
  }
  fmt::format_to(out, "  all: reads {:.0f}, writes {:.0f}\n", read, written);
  fmt::format_to(out, "\ndecisions on the instructions of {}\n", stage);
  const hlo::Module& before = *compiled.before_fusion;
  for (const FusionDecision& decision : LastDecisions(compiled.decisions)) {
    fmt::format_to(out, "  {}: {} into {}: {}\n", decision.is_fused ? "fused" : "not fused",
                   before.name(decision.producer), before.name(decision.consumer), decision.reason);
  }
  return text;
}

}  // namespace hloscope::compile
