// Adapt: the steps in order, and rewriting instruction by instruction.
#include "core/backends/pjrt/adapt.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/backends/pjrt/adapt_steps.h"
#include "core/hlo/sharding/manual_region.h"

namespace hloscope::replay::pjrt {

using hlo::Attribute;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;

void InstructionEdit::Drop(hlo::AttributeKey key) {
  std::erase_if(attributes, [&](const Attribute& a) { return a.key == key; });
}

void InstructionEdit::Set(Attribute attribute) {
  Drop(attribute.key);
  attributes.push_back(attribute);
}

std::shared_ptr<const Module> EditModule(
    const Module& module, const std::function<void(InstructionId, InstructionEdit&)>& edit,
    const std::function<void(hlo::ModuleHeader&)>& edit_header, const MoreComputations& more) {
  hlo::ModuleBuilder builder(module);
  builder.Reserve(module.instructions().size());
  std::vector<ComputationId> by_place;
  for (uint32_t c = 0; c < module.computations().size(); ++c) {
    by_place.push_back(builder.DeclareComputation(module.computations()[c].name));
  }
  if (more.declare) more.declare(builder);
  std::ranges::stable_sort(by_place, {},
                           [&](ComputationId c) { return module[c].first_instruction; });
  for (ComputationId c : by_place) {
    builder.BeginComputation(c);
    for (uint32_t i = 0; i < module[c].instruction_count; ++i) {
      const InstructionId id(module[c].first_instruction + i);
      const auto attributes = module.attributes(module[id]);
      InstructionEdit change{module[id].name,
                             module[id].opcode,
                             module.shape(id),
                             {attributes.begin(), attributes.end()},
                             builder};
      edit(id, change);
      builder.AddInstruction(change.name, change.opcode,
                             builder.InternShape(std::move(change.shape)), module.operands(id),
                             change.attributes, module.source_offset(id));
    }
    builder.EndComputation(module[c].root);  // nothing runs beside it any more
  }
  if (more.define) more.define(builder);
  builder.SetEntry(module.entry_id());
  if (edit_header) edit_header(builder.header());
  return builder.Build();
}

std::string ListSome(const std::vector<std::string>& names) {
  constexpr size_t kMax = 3;
  std::string text;
  const size_t shown = std::min(names.size(), kMax);
  for (size_t i = 0; i < shown; ++i) {
    const bool is_last = i + 1 == shown && names.size() <= kMax;
    text += i == 0 ? "" : is_last ? " and " : ", ";
    text += names[i];
  }
  if (names.size() > kMax) text += fmt::format(" and {} more", names.size() - kMax);
  return text;
}

// Shardy leaves its meshes and shardings in frontend attributes.
static bool IsForShardy(const Module& module) {
  return std::ranges::any_of(module.header().frontend_attributes.entries,
                             [&](const hlo::FrontendAttribute& entry) {
                               return module[entry.key].starts_with("xla.sdy.");
                             });
}

Partitioning PartitioningOf(const Module& module, const hlo::Topology& topology) {
  const bool is_divided = topology.unpartitioned && !hlo::AreValuesOwn(module);
  if (!is_divided || topology.counts.partitions == 1) return {};
  const hlo::ModuleHeader& header = module.header();
  return {true, IsForShardy(module), header.allow_spmd_sharding_propagation_to_parameters,
          header.allow_spmd_sharding_propagation_to_output};
}

Result<Adapted> Adapt(std::shared_ptr<const Module> module, const RunOptions& options) {
  Adapted adapted;
  adapted.module = std::move(module);
  AdaptState state{options, adapted.module, adapted,
                   hlo::TopologyOf(*adapted.module, options.limits.devices)};
  adapted.counts = state.topology.counts;
  adapted.partitioning = PartitioningOf(*adapted.module, state.topology);
  if (state.topology.unpartitioned) adapted.devices_per_list = adapted.counts.partitions;
#define ADAPTATION(function) HLOSCOPE_TRY(function(state));
#include "core/backends/pjrt/adaptations.def"
#undef ADAPTATION
  return adapted;
}

}  // namespace hloscope::replay::pjrt
