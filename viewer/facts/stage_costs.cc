// Sums over the instructions that run by themselves.
#include "viewer/facts/stage_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/analysis/align/provenance.h"
#include "core/analysis/place/placement.h"
#include "core/hlo/analysis/cost.h"
#include "viewer/facts/pass_ranking.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/number_text.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

using hlo::Opcode;

// What runs the computations it calls as they stand: those are counted, the caller is not.
bool RunsItsBody(Opcode opcode) {
  return opcode == Opcode::kCall || opcode == Opcode::kWhile || opcode == Opcode::kConditional ||
         opcode == Opcode::kAsyncStart;
}

// The computations that run by themselves: the entry, and what calls, loops and conditionals of
// those run. Bodies of fusions and what a reduction applies are part of their caller.
std::vector<bool> RunningComputations(const hlo::Module& module) {
  std::vector<bool> runs(module.computations().size(), false);
  std::vector<hlo::ComputationId> open = {module.entry_id()};
  runs[module.entry_id().index] = true;
  while (!open.empty()) {
    const hlo::ComputationId next = open.back();
    open.pop_back();
    for (const hlo::Instruction& i : module.instructions(module[next])) {
      if (!RunsItsBody(i.opcode)) continue;
      for (hlo::ComputationId called : module.CalledComputations(i)) {
        if (runs[called.index]) continue;
        runs[called.index] = true;
        open.push_back(called);
      }
    }
  }
  return runs;
}

std::string Signed(bool is_less, std::string text) { return (is_less ? "−" : "+") + text; }

}  // namespace

StageCost CostOfStage(const hlo::Module& module) {
  StageCost cost{.instructions = std::ssize(module.instructions()), .is_known = true};
  cost.bytes = hlo::CostModel(module).Of(module.entry_id()).bytes();
  const std::vector<bool> runs = RunningComputations(module);
  for (uint32_t index = 0; index < module.instructions().size(); ++index) {
    const hlo::InstructionId id(index);
    const hlo::Instruction& i = module[id];
    if (!runs[i.computation.index] || RunsItsBody(i.opcode)) continue;
    const std::string_view target = module.GetString(i, hlo::AttributeKey::kCustomCallTarget);
    cost.kernels += i.opcode == Opcode::kFusion ||
                    (i.opcode == Opcode::kCustomCall && !analysis::LibraryOf(target).empty());
  }
  return cost;
}

const Pending<StageCosts>& StageCostsOf(Context& context, int32_t module) {
  using Costs = Result<std::shared_ptr<const StageCosts>>;
  return context.cache.Get(
      PartKey<StageCosts>{module}, "estimating all stages",
      [provenance = context.data.Provenance(module)](TaskControl& control) -> Costs {
        if (provenance == nullptr) return InputError("no such module");
        const analysis::Lineage& lineage = provenance->lineage();
        const dump::ModuleEntry& entry =
            provenance->model().modules()[static_cast<size_t>(provenance->module())];
        auto out = std::make_shared<StageCosts>();
        const StageCost* before = nullptr;
        out->costs.resize(static_cast<size_t>(lineage.stage_count()));
        out->gains.resize(out->costs.size());
        double most = 0;
        for (int32_t stage = 0; stage < lineage.stage_count(); ++stage) {
          if (control.stopped()) return EnvironmentError("stopped");
          control.Progress(stage, lineage.stage_count());
          auto read = lineage.Module(stage);
          if (!read) continue;
          const auto at = static_cast<size_t>(stage);
          const StageCost& now = out->costs[at] = CostOfStage(**read);
          if (before != nullptr) {
            out->gains[at] = {now.instructions - before->instructions, now.bytes - before->bytes,
                              now.kernels - before->kernels, true};
            if (out->gains[at].bytes < most && IsMadeByPass(entry, stage)) {
              most = out->gains[at].bytes;
              out->best = stage;
            }
          }
          before = &now;
        }
        return out;
      });
}

std::string SignedCountText(int64_t value) {
  return value == 0 ? "0" : Signed(value < 0, ShortCountText(std::abs(value)));
}

std::string SignedBytesText(double value) {
  if (value == 0) return "0";
  return Signed(value < 0, BytesText(static_cast<int64_t>(std::min(std::abs(value), 9e18))));
}

std::string GainText(const StageGain& gain) {
  std::string out;
  const auto add = [&](bool any, const std::string& text) {
    if (any) out += (out.empty() ? "" : ", ") + text;
  };
  add(gain.instructions != 0, SignedCountText(gain.instructions) + " instructions");
  add(gain.bytes != 0, SignedBytesText(gain.bytes) + " moved");
  add(gain.kernels != 0, SignedCountText(gain.kernels) + " fusions and library calls");
  return out.empty() ? "no difference in estimated cost" : out + " (estimate)";
}

}  // namespace hloscope::viewer
