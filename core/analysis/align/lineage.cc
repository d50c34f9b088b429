#include "core/analysis/align/lineage.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/analysis/align/noted_alignment.h"

namespace hloscope::analysis {

int32_t Lineage::Neighbour(int32_t stage, int32_t direction) const {
  for (int32_t at = stage + direction; at >= 0 && at < stage_count_; at += direction) {
    if (loader_(at).has_value()) return at;
  }
  return -1;
}

Result<std::shared_ptr<const Alignment>> Lineage::Step(int32_t stage) const {
  {
    std::lock_guard lock(mutex_);
    auto kept = steps_.find(stage);
    if (kept != steps_.end()) return kept->second;
  }
  HLOSCOPE_ASSIGN_OR_RETURN(std::shared_ptr<const hlo::Module> before, loader_(stage));
  int32_t next = Neighbour(stage, 1);
  if (next < 0) return InputError(fmt::format("stage {} is the last that can be read", stage));
  HLOSCOPE_ASSIGN_OR_RETURN(std::shared_ptr<const hlo::Module> after, loader_(next));
  auto step = std::make_shared<const Alignment>(Between(stage, *before, next, *after));
  std::lock_guard lock(mutex_);
  return steps_.emplace(stage, std::move(step)).first->second;
}

Alignment Lineage::Between(int32_t before_stage, const hlo::Module& before, int32_t after_stage,
                           const hlo::Module& after) const {
  if (noted_ != nullptr && before_stage < after_stage) {
    if (const auto origins = noted_(before_stage, before, after_stage, after)) {
      if (auto exact = NotedAlignment(before, after, *origins)) return *std::move(exact);
    }
  }
  return Align(before, after);
}

Result<Chain> Lineage::Ancestors(int32_t stage, hlo::InstructionId id,
                                 const ChainOptions& options) const {
  return Walk(stage, id, -1, options);
}

Result<Chain> Lineage::Descendants(int32_t stage, hlo::InstructionId id,
                                   const ChainOptions& options) const {
  return Walk(stage, id, 1, options);
}

Result<Chain> Lineage::Walk(int32_t stage, hlo::InstructionId id, int32_t direction,
                            const ChainOptions& options) const {
  HLOSCOPE_ASSIGN_OR_RETURN(std::shared_ptr<const hlo::Module> module, loader_(stage));
  if (id.index >= module->instructions().size()) {
    return InputError(fmt::format("stage {} has no instruction {}", stage, id.index));
  }
  Chain chain;
  LineageStep start;
  start.stage = stage;
  start.instruction = id;
  chain.steps.push_back(start);
  chain.last_stage = stage;
  size_t begin = 0;
  for (int32_t at = stage;;) {
    int32_t to = Neighbour(at, direction);
    for (int32_t s = at + direction; s != to && s >= 0 && s < stage_count_; s += direction) {
      chain.skipped.push_back(s);
    }
    if (to < 0) break;
    HLOSCOPE_ASSIGN_OR_RETURN(bool goes_on, WalkStep(at, direction, to, begin, options, chain));
    if (!goes_on) return chain;
    chain.last_stage = at = to;
  }
  chain.unbroken = true;
  return chain;
}

// Adds the steps of stage `to` reached from those that begin at `begin`; false if there are
// none.
Result<bool> Lineage::WalkStep(int32_t at, int32_t direction, int32_t to, size_t& begin,
                               const ChainOptions& options, Chain& chain) const {
  HLOSCOPE_ASSIGN_OR_RETURN(std::shared_ptr<const Alignment> alignment,
                            Step(direction < 0 ? to : at));
  std::unordered_map<hlo::InstructionId, LineageStep> next;
  for (size_t k = begin; k < chain.steps.size(); ++k) {
    const LineageStep from = chain.steps[k];
    for (const Link& link : direction < 0 ? alignment->Origins(from.instruction)
                                          : alignment->Results(from.instruction)) {
      LineageStep step{.stage = to,
                       .instruction = direction < 0 ? link.before : link.after,
                       .reason = link.reason,
                       .link_confidence = link.confidence,
                       .confidence = from.confidence * link.confidence,
                       .from = static_cast<int32_t>(k),
                       .computes = from.computes && Computes(link.reason),
                       .is_same = from.is_same && IsIdentity(link.reason)};
      if (step.confidence < options.least_confidence) continue;
      auto [kept, added] = next.emplace(step.instruction, step);
      const auto rank = [](const LineageStep& s) { return std::pair(s.computes, s.confidence); };
      if (!added && rank(step) > rank(kept->second)) kept->second = step;
    }
  }
  if (next.empty()) return false;
  begin = chain.steps.size();
  for (const auto& [instruction, reached] : next) chain.steps.push_back(reached);
  std::sort(chain.steps.begin() + static_cast<ptrdiff_t>(begin), chain.steps.end(),
            [](const LineageStep& a, const LineageStep& b) {
              if (a.confidence != b.confidence) return a.confidence > b.confidence;
              return a.instruction < b.instruction;
            });
  size_t most = begin + static_cast<size_t>(std::max(options.steps_per_stage, 1));
  if (chain.steps.size() > most) {
    chain.steps.resize(most);
    chain.cut_short = true;
  }
  return true;
}

std::vector<hlo::InstructionId> KernelInstructions(const hlo::Module& module) {
  std::vector<hlo::InstructionId> caller(module.computations().size());
  for (uint32_t id = 0; id < module.instructions().size(); ++id) {
    const hlo::Instruction& i = module.instructions()[id];
    if (i.opcode != hlo::Opcode::kFusion) continue;
    hlo::ComputationId inside = module.GetComputation(i, hlo::AttributeKey::kCalls);
    if (inside.valid()) caller[inside.index] = hlo::InstructionId(id);
  }
  std::vector<hlo::InstructionId> kernels(module.instructions().size());
  for (uint32_t id = 0; id < kernels.size(); ++id) {
    hlo::InstructionId at(id);
    // A fusion inside a fusion is never deeper than there are computations.
    for (size_t steps = 0; steps < caller.size(); ++steps) {
      hlo::InstructionId outer = caller[module[at].computation.index];
      if (!outer.valid()) break;
      at = outer;
    }
    kernels[id] = at;
  }
  return kernels;
}

}  // namespace hloscope::analysis
