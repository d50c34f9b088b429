// Answers from the steps of priority fusion and from the decisions of our own compiler.
#include "core/analysis/compilation/why_fusion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "core/analysis/align/fusion_facts.h"
#include "core/analysis/align/provenance.h"
#include "core/analysis/compilation/logged_fusion.h"
#include "core/analysis/compilation/named_instruction.h"
#include "core/analysis/compilation/recorded_fusion.h"
#include "core/base/closest_text.h"
#include "core/base/counted.h"
#include "core/dump/own_compilation.h"
#include "core/hlo/analysis/find_instruction.h"
#include "core/hlo/analysis/source_line.h"

namespace hloscope::analysis {
namespace {

using dump::DumpModel;
using dump::FusionStep;
using Node = FusionReplay::Node;
using ModelPtr = std::shared_ptr<const DumpModel>;

constexpr float kMinSure = 0.5F;  // of a link between stages

// Of the compiled module: the nearest name, else fusions that there are.
std::unexpected<Error> NotCompiled(const hlo::Module& compiled, const std::string& name) {
  constexpr size_t kShown = 5;
  std::vector<std::string_view> fusions;
  for (const hlo::Instruction& instruction : compiled.instructions()) {
    if (instruction.opcode == hlo::Opcode::kFusion) fusions.push_back(compiled[instruction.name]);
  }
  std::string hint = hlo::SimilarInstruction(compiled, name);
  if (hint.empty() && fusions.empty()) hint = "the compiled module has no fusion";
  if (hint.empty()) {
    const auto first = std::span(fusions).first(std::min(fusions.size(), kShown));
    hint =
        fmt::format("fusions: {}{}", fmt::join(first, ", "), fusions.size() > kShown ? ", …" : "");
  }
  return InputError(fmt::format("no instruction {} in the compiled module", name), hint);
}

std::unexpected<Error> NoInstruction(const RecordedFusion& process, const std::string& name) {
  ClosestText closest(name);
  for (const Node& node : process.replay->nodes()) {
    closest.Offer(node.name);
    for (const std::string& part : node.parts) closest.Offer(part);
  }
  return InputError(fmt::format("no instruction {} where fusion was decided", name),
                    closest.Hint().empty() ? "names are those before the pass priority-fusion, or "
                                             "of fusions after it"
                                           : closest.Hint());
}

// What an instruction of the compiled module was called at a stage; the name itself where it is
// none of it.
std::string NameAt(const ModelPtr& model, int32_t module, int32_t stage, const std::string& name) {
  const int32_t last = model->FinalStage(module);
  const auto compiled =
      last < 0 ? Result<std::shared_ptr<const hlo::Module>>(nullptr) : model->Module(module, last);
  if (stage < 0 || !compiled || *compiled == nullptr) return name;
  const hlo::InstructionId id = hlo::FindInstruction(**compiled, name);
  if (!id.valid()) return name;
  const Provenance provenance(model, module);
  ChainOptions options;
  options.least_confidence = kMinSure;
  const auto chain = provenance.lineage().Ancestors(last, id, options);
  if (!chain) return name;
  const auto at_stage = model->Module(module, stage);
  for (const LineageStep& step : chain->steps) {
    // A renamed fusion may be linked to the root that is in it.
    if (step.stage == stage && at_stage)
      return std::string((*at_stage)->name(KernelInstructions(**at_stage)[step.instruction.index]));
  }
  return name;
}

// By a name of the compiled module. One instruction and its constants are fused without a record:
// the instruction has its name from before the pass then.
const Node* CompiledNode(const ModelPtr& model, int32_t module, const RecordedFusion& process,
                         const std::string& name) {
  for (const int32_t stage : {process.stage_after, process.stage_before}) {
    const Node* node = process.replay->Find(NameAt(model, module, stage, name));
    if (node != nullptr) return node;
  }
  return nullptr;
}

// The nodes that an instruction is in at the end, or the fusion of that name.
std::vector<const Node*> NodesOf(const ModelPtr& model, int32_t module,
                                 const RecordedFusion& process, const std::string& name) {
  std::vector<const Node*> out = process.replay->With(name);
  if (!out.empty()) return out;
  const Node* node = process.replay->Find(name);
  if (node == nullptr) node = CompiledNode(model, module, process, name);
  if (node != nullptr) out.push_back(node);
  return out;
}

void AddSteps(const RecordedFusion& process, const Node& node, FusionAnswer& answer) {
  for (const size_t position : node.steps) {
    const FusionStep& step = process.read.steps[position];
    FusionReason reason{step.producer, step.consumer, process.SourceOf(step.producer), {}, 0};
    reason.step = static_cast<int64_t>(position) + 1;
    reason.text = fmt::format("step {}: {} into {}", reason.step, step.producer, step.consumer);
    if (step.fusion != step.consumer) reason.text += ", called " + step.fusion + " from then on";
    const auto [whole, latest] = process.EstimatesOf(step.producer, position);
    if (whole != nullptr)
      reason.text += fmt::format("; {}{}", latest != nullptr ? "estimated at first: " : "",
                                 EstimateText(whole->us_fused, whole->us_unfused));
    answer.because.push_back(std::move(reason));
  }
}

// Of a producer whose last record is an estimate.
void ExplainEstimates(const RecordedFusion& process, const Node& node, const FusionStep& last,
                      FusionAnswer& answer) {
  const auto is_slower = [](const FusionStep* step) {
    return step != nullptr && step->us_fused > step->us_unfused;
  };
  auto [whole, latest] = process.EstimatesOf(last.producer);
  const bool is_current = whole != nullptr;
  if (!is_current) whole = &last;  // something was fused into it since
  answer.estimate = {whole->us_fused, whole->us_unfused, whole->consumers};
  const std::string text = EstimateText(whole->us_fused, whole->us_unfused);
  if (is_slower(whole)) {
    answer.reason = is_current ? "XLA estimates that it is slower fused: " + text
                               : fmt::format(
                                     "XLA estimated that it is slower fused, before "
                                     "something was fused into it: {}",
                                     text);
    answer.is_certain = is_current;
  } else if (is_slower(latest)) {
    answer.reason = fmt::format(
        "XLA estimates that it is slower fused with what its {} become since: {} (at first {})",
        node.users.size() == 1 ? "user has" : "users have",
        EstimateText(latest->us_fused, latest->us_unfused), text);
    answer.is_certain = node.users.size() == 1;
  } else {
    answer.reason = fmt::format(
        "XLA estimated a gain ({}), and no later record says why it was not done", text);
    answer.is_certain = false;
  }
}

// What the last records of a producer say, by any of the names it had: XLA may refuse it several
// times between two fusions, for one reason each.
void ExplainRefusal(const RecordedFusion& process, const Node& node, const std::string& name,
                    const std::string& consumer, FusionAnswer& answer) {
  std::set<std::string> names = {node.name, name};
  std::vector<std::pair<const FusionStep*, int64_t>> refusals;  // since the last fusion, by reason
  const FusionStep* last = nullptr;
  bool is_over = false;  // something was fused since
  for (size_t k = 0; k < process.read.steps.size(); ++k) {
    const FusionStep& step = process.read.steps[k];
    is_over |= step.kind == FusionStep::Kind::kFusion;
    if (step.kind == FusionStep::Kind::kFusion || !names.contains(step.producer)) continue;
    if (is_over) refusals.clear();
    is_over = false;
    last = &step;
    answer.step = static_cast<int64_t>(k) + 1;
    if (step.kind != FusionStep::Kind::kIneligible) continue;
    std::erase_if(refusals, [&](const auto& one) { return one.first->reason == step.reason; });
    refusals.emplace_back(&step, answer.step);
  }
  if (last == nullptr) {
    answer.status = "unknown";
    answer.reason = name + " was never considered as a producer: no record names it";
    return;
  }
  const auto add = [&](int64_t number, std::string_view why) {
    answer.because.push_back({last->producer, consumer, process.SourceOf(last->producer),
                              fmt::format("step {}: {}", number, why), number});
  };
  if (last->kind == FusionStep::Kind::kIneligible) {
    for (const auto& [step, number] : refusals)
      answer.reason += (answer.reason.empty() ? "" : "; ") + step->reason;
    answer.is_certain = node.users.size() == 1;
    if (!answer.is_certain)
      answer.notes.push_back(
          fmt::format("{} is fused into all of its {} or into none: {}, which need not be {}", name,
                      Counted(node.users.size(), "user"),
                      refusals.size() == 1 ? "the reason is that of the first user that refuses"
                                           : "each reason is that of a user that refuses",
                      consumer));
  } else {
    ExplainEstimates(process, node, *last, answer);
  }
  for (const auto& [step, number] : refusals) add(number, step->reason);
  if (last->kind != FusionStep::Kind::kIneligible) add(answer.step, answer.reason);
}

Result<FusionAnswer> NotFusedByPriority(const ModelPtr& model, int32_t module,
                                        const RecordedFusion& process, const std::string& producer,
                                        const std::string& consumer) {
  FusionAnswer answer;
  answer.made_by = kPriorityFusion;
  answer.notes = process.notes;
  answer.replay_agrees = process.agrees;
  const auto from = NodesOf(model, module, process, producer);
  const auto to = NodesOf(model, module, process, consumer);
  if (from.empty()) return NoInstruction(process, producer);
  if (to.empty()) return NoInstruction(process, consumer);
  for (const Node* node : from) {
    if (std::ranges::find(to, node) == to.end()) continue;
    answer.status = "fused";
    answer.reason = fmt::format("both are in {}", node->name);
    AddSteps(process, *node, answer);
    if (!answer.because.empty()) answer.step = answer.because.back().step;
    return answer;
  }
  answer.status = "not_fused";
  auto uses = [&](const Node* user, const Node* used) {
    const auto index = static_cast<size_t>(used - process.replay->nodes().data());
    return user->operands.contains(index);
  };
  for (const Node* node : from) {
    for (const Node* user : to) {
      if (!uses(user, node)) continue;
      ExplainRefusal(process, *node, producer, consumer, answer);
      return answer;
    }
  }
  for (const Node* node : to) {
    for (const Node* user : from) {
      if (!uses(user, node)) continue;
      answer.notes.push_back(fmt::format("{} is the producer and {} its user", consumer, producer));
      ExplainRefusal(process, *node, consumer, producer, answer);
      return answer;
    }
  }
  answer.reason = fmt::format(
      "neither uses the other after the other fusions, and priority fusion joins a producer with "
      "its users only");
  return answer;
}

// The same of our own compiler.
void AddOwn(const std::vector<dump::FusionDecision>& decisions, FusionAnswer& answer) {
  for (const dump::FusionDecision& decision : decisions) {
    answer.because.push_back(
        {decision.producer,
         decision.consumer,
         {},
         fmt::format("{}: {} into {}: {}", decision.is_fused ? "fused" : "not fused",
                     decision.producer, decision.consumer, decision.reason),
         decision.line});
  }
}

Result<FusionAnswer> OwnNotFused(const DumpModel& model, int32_t module,
                                 const std::string& producer, const std::string& consumer) {
  HLOSCOPE_ASSIGN_OR_RETURN(dump::FusionDecisions read, dump::FusionDecisionsOf(model, module));
  FusionAnswer answer;
  answer.made_by = "fusion";
  answer.status = "unknown";
  if (!read.why_no_plan.empty()) answer.notes.push_back(read.why_no_plan);
  std::vector<dump::FusionDecision> about, others;
  bool is_known = false;
  for (const dump::FusionDecision& decision : read.decisions) {
    is_known = is_known || decision.producer == producer || decision.consumer == producer;
    if (decision.producer != producer) continue;
    (decision.consumer == consumer ? about : others).push_back(decision);
  }
  if (!is_known) {
    ClosestText closest(producer);
    for (const dump::FusionDecision& decision : read.decisions) closest.Offer(decision.producer);
    return InputError(
        fmt::format("no decision is about {}", producer),
        closest.Hint().empty() ? "names are those of the stage " + read.stage : closest.Hint());
  }
  AddOwn(about.empty() ? others : about, answer);
  answer.reason =
      "no decision is about these two: either the second does not use the first, or no kernel "
      "computes it (a library call, a loop)";
  if (about.empty()) return answer;
  answer.status = about.back().is_fused ? "fused" : "not_fused";
  answer.reason = about.back().reason;
  answer.step = about.back().line;
  return answer;
}

// The pass after which the instruction is a fusion for the first time.
std::string MadeBy(const Provenance& provenance, int32_t last, hlo::InstructionId id) {
  ChainOptions options;
  options.least_confidence = kMinSure;
  const auto chain = provenance.lineage().Ancestors(last, id, options);
  if (!chain) return {};
  int32_t first = last;
  for (const LineageStep& step : chain->steps) {
    const auto module = provenance.lineage().Module(step.stage);
    if (!module) continue;
    const hlo::InstructionId kernel = KernelInstructions(**module)[step.instruction.index];
    if ((**module)[kernel].opcode == hlo::Opcode::kFusion) first = std::min(first, step.stage);
  }
  const auto& stages =
      provenance.model().modules()[static_cast<size_t>(provenance.module())].stages;
  return stages[static_cast<size_t>(first)].pass;
}

}  // namespace

Result<FusionAnswer> WhyNotFused(const ModelPtr& model, int32_t module, const std::string& producer,
                                 const std::string& consumer) {
  if (dump::IsOwnCompilation(*model, module))
    return OwnNotFused(*model, module, producer, consumer);
  HLOSCOPE_ASSIGN_OR_RETURN(const auto process, ReadRecordedFusion(*model, module));
  if (!process) {
    auto logged = LoggedNotFused(*model, module, producer, consumer);
    if (!logged || logged->because.empty()) {
      HLOSCOPE_TRY(UsersByName(*model, module, producer));
      HLOSCOPE_TRY(UsersByName(*model, module, consumer));
    }
    if (!logged) return NoDecisions(*model, module);
    return *std::move(logged);
  }
  return NotFusedByPriority(model, module, *process, producer, consumer);
}

Result<FusionAnswer> WhyFusion(const ModelPtr& model, int32_t module, const std::string& fusion) {
  FusionAnswer answer;
  answer.status = "made";
  const int32_t last = model->FinalStage(module);
  HLOSCOPE_ASSIGN_OR_RETURN(const auto compiled, model->Module(module, last));
  const hlo::InstructionId id = hlo::FindInstruction(*compiled, fusion);
  const Provenance provenance(model, module);
  if (dump::IsOwnCompilation(*model, module)) {
    if (!id.valid()) return NotCompiled(*compiled, fusion);
    HLOSCOPE_ASSIGN_OR_RETURN(const FusionFacts facts, FusionFactsOf(provenance, last, id));
    answer.made_by = "fusion";
    AddOwn(facts.decisions, answer);
    answer.reason =
        fmt::format("{} about what is in it", Counted(answer.because.size(), "decision"));
    return answer;
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const auto process, ReadRecordedFusion(*model, module));
  const Node* node = nullptr;
  if (process) {
    answer.notes = process->notes;
    answer.replay_agrees = process->agrees;
    node = process->replay->Find(fusion);
    if (node == nullptr || node->steps.empty())
      node = CompiledNode(model, module, *process, fusion);
  }
  if (node != nullptr && !node->steps.empty()) {
    answer.made_by = kPriorityFusion;
    AddSteps(*process, *node, answer);
    answer.step = answer.because.back().step;
    answer.reason =
        fmt::format("{} into {}, the last at step {}",
                    Counted(node->steps.size(), "producer was fused", "producers were fused"),
                    node->name, answer.step);
    return answer;
  }
  if (!id.valid()) return NotCompiled(*compiled, fusion);
  if ((*compiled)[id].opcode != hlo::Opcode::kFusion)
    return InputError(fmt::format("{} is not a fusion", fusion),
                      "--not-fused A B asks about two instructions");
  answer.made_by = MadeBy(provenance, last, id);
  if (!process) {
    auto logged = LoggedDecisionsOf(*model, module, fusion);
    if (logged && !logged->because.empty()) return *std::move(logged);
    if (logged && answer.made_by.empty()) {
      return UnsupportedError(
          fmt::format("no decision in the log names {}", fusion),
          "another pass made or renamed it: --not-fused A B asks about the names before");
    }
  }
  if (answer.made_by.empty()) return NoDecisions(*model, module);
  answer.reason = answer.made_by == kPriorityFusion && process
                      ? "small constants were fused into one instruction, for which priority "
                        "fusion writes no records"
                      : "the pass " + answer.made_by + " made it, which writes no decisions";
  return answer;
}

}  // namespace hloscope::analysis
