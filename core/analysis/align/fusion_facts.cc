// From an instruction to its names where fusion was decided.
#include "core/analysis/align/fusion_facts.h"

#include <algorithm>
#include <set>
#include <string>

#include "core/dump/own_compilation.h"

namespace hloscope::analysis {
namespace {

using hlo::InstructionId;

// What came of it and is less than that is somebody else.
constexpr float kMinSure = 0.5F;

// Adds the names that an instruction has in stage `there`.
Status AddNames(const Lineage& lineage, int32_t stage, InstructionId id, int32_t there,
                std::set<std::string, std::less<>>& names) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto module, lineage.Module(there));
  ChainOptions options;
  options.least_confidence = kMinSure;
  HLOSCOPE_ASSIGN_OR_RETURN(const Chain chain, stage < there
                                                   ? lineage.Descendants(stage, id, options)
                                                   : lineage.Ancestors(stage, id, options));
  for (const LineageStep& step : chain.steps) {
    if (step.stage == there) names.emplace(module->name(step.instruction));
  }
  return {};
}

// The instruction, or of a fusion all that is in it.
std::vector<InstructionId> PartsOf(const hlo::Module& module, InstructionId id) {
  const hlo::ComputationId body = module[id].opcode == hlo::Opcode::kFusion
                                      ? module.GetComputation(module[id], hlo::AttributeKey::kCalls)
                                      : hlo::ComputationId();
  if (!body.valid()) return {id};
  std::vector<InstructionId> parts;
  const hlo::Computation& inside = module[body];
  for (uint32_t k = 0; k < inside.instruction_count; ++k) {
    const InstructionId part(inside.first_instruction + k);
    const bool is_outside = module[part].opcode == hlo::Opcode::kParameter;
    if (!is_outside) parts.push_back(part);
  }
  return parts;
}

}  // namespace

Result<FusionFacts> FusionFactsOf(const Provenance& provenance, int32_t stage, InstructionId id) {
  HLOSCOPE_ASSIGN_OR_RETURN(dump::FusionDecisions read,
                            dump::FusionDecisionsOf(provenance.model(), provenance.module()));
  FusionFacts facts;
  facts.file = read.file;
  const int32_t there = provenance.model().FindStage(provenance.module(), read.stage);
  if (read.file < 0 || there < 0) return facts;
  const Lineage& lineage = provenance.lineage();
  HLOSCOPE_ASSIGN_OR_RETURN(const auto module, lineage.Module(stage));
  std::set<std::string, std::less<>> names;
  for (const InstructionId part : PartsOf(*module, id)) {
    HLOSCOPE_TRY(AddNames(lineage, stage, part, there, names));
  }
  for (dump::FusionDecision& decision : read.decisions) {
    if (!names.contains(decision.producer) && !names.contains(decision.consumer)) continue;
    facts.decisions.push_back(std::move(decision));
  }
  std::ranges::stable_sort(facts.decisions, {}, &dump::FusionDecision::is_fused);
  return facts;
}

}  // namespace hloscope::analysis
