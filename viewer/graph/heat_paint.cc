// Heat of nodes, found for those that are drawn.
#include "viewer/graph/heat_paint.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/hlo/opcode_traits.h"
#include "viewer/model/document.h"
#include "viewer/widgets/heat_ramp.h"

namespace hloscope::viewer {

using hlo::ComputationId;
using hlo::InstructionId;

HeatPaint::HeatPaint(std::shared_ptr<const hlo::Module> module,
                     std::shared_ptr<const HeatFacts> facts, KernelPaint kernels)
    : module_(std::move(module)), facts_(std::move(facts)), kernels_(std::move(kernels)) {
  if (module_ == facts_->of) return;
  // Arguments are the same in every stage.
  const auto here = module_->Parameters(module_->entry_id());
  const auto there = facts_->of->Parameters(facts_->of->entry_id());
  for (size_t k = 0; k < std::min(here.size(), there.size()); ++k) {
    if (here[k].valid()) of_parameter_[here[k].index] = facts_->Of(there[k]);
  }
}

double HeatPaint::ValueOf(InstructionId id) const { return ValueOf(id, 0); }

double HeatPaint::ValueOf(InstructionId id, int depth) const {
  if (module_ == facts_->of) {
    if (const double own = facts_->Of(id); own > 0) return own;
  } else if (const auto known = of_parameter_.find(id.index); known != of_parameter_.end()) {
    return known->second;
  }
  const uint32_t kernel = kernels_.Of(id);
  if (kernel != graph::kNoKernel && kernels_.kernels->module == facts_->of)
    return facts_->Of(kernels_.kernels->map.kernels[kernel].instruction);
  if (!hlo::HasTrait((*module_)[id].opcode, hlo::kTraitRunsBody)) return 0;
  double hottest = 0;
  for (ComputationId called : module_->CalledComputations((*module_)[id]))
    hottest = std::max(hottest, HottestIn(called, depth));
  return hottest;
}

double HeatPaint::HottestIn(ComputationId computation, int depth) const {
  constexpr int kDeepest = 64;
  if (depth == kDeepest) return 0;
  const auto [at, is_new] = of_computation_.try_emplace(computation.index, 0.0);
  if (!is_new) return at->second;
  double hottest = 0;
  const hlo::Computation& body = (*module_)[computation];
  for (uint32_t k = 0; k < body.instruction_count; ++k)
    hottest = std::max(hottest, ValueOf(InstructionId(body.first_instruction + k), depth + 1));
  return of_computation_[computation.index] = hottest;
}

double HeatPaint::ValueOf(const graph::Tree& tree, graph::NodeId id) const {
  const graph::Node& node = tree[id];
  if (node.kind == graph::NodeKind::kInstruction) return ValueOf(node.instruction);
  return below_.Of(
      tree, id,
      [this](InstructionId each, double& hottest) { hottest = std::max(hottest, ValueOf(each)); },
      [](double inside, double& hottest) { hottest = std::max(hottest, inside); });
}

std::shared_ptr<const HeatPaint> HeatPaintOf(Context& context, int32_t stage,
                                             const std::shared_ptr<const hlo::Module>& module,
                                             const std::shared_ptr<const HeatFacts>& facts) {
  const std::shared_ptr<const StageKernels> kernels = CompiledKernelsOf(context, facts->module);
  if (kernels == nullptr) return nullptr;
  const int32_t compiled = context.document.dump()->FinalStage(facts->module);
  std::shared_ptr<const SourceKernels> source;
  if (stage != compiled) {
    source =
        SourceKernelsOf(context, facts->module, compiled, module, kernels->module, kernels, stage);
    if (source == nullptr) return nullptr;
  }
  return std::make_shared<HeatPaint>(module, facts, KernelPaint{kernels, source});
}

std::vector<LegendEntry> HeatLegend(const Theme& theme, const HeatFacts& facts,
                                    std::string_view of) {
  constexpr int kSteps = 4;
  std::vector<LegendEntry> legend;
  for (int k = 0; k <= kSteps; ++k) {
    const double place = static_cast<double>(k) / kSteps;
    std::string text =
        k == 0 && facts.measure != HeatMeasure::kError ? "0" : facts.ToText(facts.ValueAt(place));
    if (k == kSteps) {
      const std::string share = facts.ShareText(facts.most);
      text += share.empty() ? " or more" : fmt::format(" ({} of all)", share);
    }
    legend.push_back({HeatColor(theme, place), std::move(text)});
  }
  legend.front().text =
      fmt::format("{}{}: {}", of, HeatRowOf(facts.measure).title, legend.front().text);
  for (const std::string& note : facts.notes) legend.push_back({theme[Color::kPanel], note});
  return legend;
}

std::string HeatText(const HeatFacts& facts, double value) {
  const std::string share = facts.ShareText(value);
  return facts.ToText(value) + (share.empty() ? "" : fmt::format(", {} of all", share));
}

}  // namespace hloscope::viewer
