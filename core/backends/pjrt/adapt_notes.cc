// StripForeignNotes and FillElidedConstants: what is not meaning but notes of another compiler, and
// constants whose elements are not in the file.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "core/backends/pjrt/adapt_steps.h"
#include "core/base/counted.h"
#include "core/eval/numbers/random_fill.h"
#include "core/hlo/analysis/call_graph.h"

namespace hloscope::replay::pjrt {

using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

// Layouts are physical; the plugin chooses its own. A custom call with constraints on them has a
// function that was written for those.
bool KeepsItsLayouts(const Module& module, InstructionId id) {
  return module[id].opcode == Opcode::kCustomCall &&
         module.Find(id, AttributeKey::kOperandLayoutConstraints) != nullptr;
}

Shape Plain(const Shape& shape) { return shape.WithoutLayouts().WithDefaultLayouts(); }

// Names are unique in a whole module, not only in a computation.
class UniqueNames {
 public:
  hlo::StringId operator()(hlo::StringId name, hlo::ModuleBuilder& builder) {
    if (used_.insert(name.index).second) return name;
    for (;;) {
      const hlo::StringId other =
          builder.Intern(fmt::format("{}.again{}", builder.module()[name], next_++));
      if (used_.insert(other.index).second) return other;
    }
  }

 private:
  std::unordered_set<uint32_t> used_;
  size_t next_ = 1;
};

void StripHeader(hlo::ModuleHeader& header) {
  header.is_scheduled = false;
  header.entry_layout.reset();
  header.input_output_alias.clear();
  header.buffer_donors.clear();
  header.allow_spmd_sharding_propagation_to_parameters.clear();
  header.allow_spmd_sharding_propagation_to_output.clear();
  header.spmd_output_sharding.reset();
  header.is_partitioned = false;
  header.stack_frames = {};
}

}  // namespace

Status StripForeignNotes(AdaptState& state) {
  const Module& module = *state.module;
  const hlo::ModuleHeader& header = module.header();
  if (header.is_scheduled) {
    state.Warn("the schedule was dropped: the plugin makes its own");
  } else if (!state.options.platform.run_passes) {
    state.Warn(
        "XLA's passes are off and the module has no schedule: if it is not optimised, copies and "
        "layouts that it needs are missing and results may be wrong");
  }
  for (const hlo::InputOutputAlias& alias : header.input_output_alias) {
    if (!alias.must_alias) continue;
    state.Warn("input-output aliasing was dropped: results get memory of their own");
    break;
  }
  size_t configs = 0;
  UniqueNames names;
  auto edit = [&](InstructionId id, InstructionEdit& change) {
    change.name = names(change.name, change.builder);
    change.Drop(AttributeKey::kMetadata);
    change.Drop(AttributeKey::kOrigin);
    change.Drop(AttributeKey::kStatistics);
    change.Drop(AttributeKey::kUnknown);
    if (change.opcode == Opcode::kConstant) {
      if (const auto* value = module.Get<Literal>(module[id], AttributeKey::kConstantValue)) {
        Literal plain = *value;
        if (plain.shape().IsArray()) {
          const bool keeps = !state.options.platform.run_passes && change.shape.has_layout();
          plain.set_layout(keeps ? hlo::Layout{change.shape.layout().minor_to_major, nullptr}
                                 : hlo::Layout::Default(plain.shape().rank()));
        }
        change.Set(change.builder.Make(AttributeKey::kConstantValue, std::move(plain)));
      }
    }
    if (!state.options.platform.run_passes || KeepsItsLayouts(module, id)) return;
    change.shape = Plain(change.shape);
    if (change.opcode == Opcode::kCustomCall) return;
    configs += module.Find(id, AttributeKey::kBackendConfig) != nullptr ? 1 : 0;
    change.Drop(AttributeKey::kBackendConfig);
  };
  state.module = EditModule(module, edit, StripHeader);
  if (configs > 0) {
    state.Warn(
        fmt::format("the backend_config of {} was dropped", Counted(configs, "instruction")));
  }
  return {};
}

Status FillElidedConstants(AdaptState& state) {
  const Module& module = *state.module;
  const hlo::CallGraph& graph = hlo::CallGraphOf(module);
  std::vector<InstructionId> elided;
  for (uint32_t k = 0; k < module.instructions().size(); ++k) {
    const hlo::Instruction& i = module.instructions()[k];
    if (i.opcode != Opcode::kConstant || !graph.IsReached(i.computation)) continue;
    const auto* literal = module.Get<Literal>(i, AttributeKey::kConstantValue);
    if (literal == nullptr || literal->elided()) elided.push_back(InstructionId(k));
  }
  if (elided.empty()) return {};
  const InstructionId first = elided.front();
  if (!state.options.load.fill_elided) {
    return InputError(
        fmt::format("{}: the value of constant {} is elided in the file ({{...}})",
                    module.name(first), hlo::ToString(module.shape(first), false)),
        "use the .hlo.pb of the dump, dump with --xla_dump_large_constants, or give --constants or "
        "--fill-elided");
  }
  for (InstructionId id : elided) {
    if (module.shape(id).IsArray() && module.shape(id).ByteSize()) continue;
    return UnsupportedError(fmt::format("{}: an elided {} cannot be generated", module.name(id),
                                        hlo::ToString(module.shape(id), false)));
  }
  state.module = EditModule(module, [&](InstructionId id, InstructionEdit& change) {
    if (!std::ranges::binary_search(elided, id)) return;
    std::vector<std::byte> bytes(static_cast<size_t>(change.shape.ByteSize().value_or(0)));
    eval::FillRandom(change.shape.element_type(),
                     eval::SeedOfConstant(*state.options.load.fill_elided, module.name(id)),
                     bytes.data(), change.shape.ElementCount().value_or(0));
    change.Set(change.builder.Make(AttributeKey::kConstantValue,
                                   Literal::Dense(change.shape, std::move(bytes))));
  });
  return {};
}

}  // namespace hloscope::replay::pjrt
