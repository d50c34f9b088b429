// Reductions of what a module says beside what it computes.
#include <array>
#include <functional>

#include "core/debug/reduce/edit.h"
#include "core/debug/reduce/reductions.h"
#include "core/hlo/rewrite/copy_module.h"

namespace hloscope::debug {
namespace {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::Instruction;
using hlo::ModuleBuilder;

// Leaves out the attributes for which `goes` is true.
template <typename Goes>
void LeaveOut(ModuleBuilder& builder, Goes goes) {
  ModuleBuilder::TakeParts(
      builder.parts(), [&](hlo::ModuleHeader&, auto&, auto&, std::vector<Instruction>& instructions,
                           auto&, std::vector<Attribute>& attributes, auto&&...) {
        for (Instruction& i : instructions) {
          uint16_t kept = 0;
          for (uint16_t k = 0; k < i.attribute_count; ++k) {
            const Attribute a = attributes[i.first_attribute + k];
            if (!goes(i, a)) attributes[i.first_attribute + kept++] = a;
          }
          i.attribute_count = kept;
        }
      });
}

template <AttributeKey... keys>
void DropKeys(ModuleBuilder& builder) {
  LeaveOut(builder,
           [](const Instruction&, const Attribute& a) { return ((a.key == keys) || ...); });
}

bool IsOptional(const Instruction& i, const Attribute& a) {
  if (hlo::IsCommon(a.key)) return true;
  for (const hlo::AttributeUse& use : hlo::Info(i.opcode).attributes) {
    if (use.key == a.key) return !use.required && !use.always_printed;
  }
  return false;
}

void DropLayouts(ModuleBuilder& builder) {
  builder.header().entry_layout.reset();
  const size_t count = builder.module().instructions().size();
  for (size_t i = 0; i < count; ++i) {
    Instruction& instruction = builder.instruction(hlo::InstructionId(i));
    instruction.shape = builder.InternShape(builder.module()[instruction.shape].WithoutLayouts());
  }
}

// One thing that can be left out of a module.
struct Strip {
  void (*drop)(ModuleBuilder&);
};
constexpr std::array kStrips = {
    Strip{[](ModuleBuilder& b) {
      DropKeys<AttributeKey::kMetadata, AttributeKey::kOrigin>(b);
      b.header().stack_frames = {};
      b.header().origin_recovery_table = {};
      b.header().debug_attributes = {};
    }},
    Strip{[](ModuleBuilder& b) {
      DropKeys<AttributeKey::kFrontendAttributes>(b);
      b.header().frontend_attributes = {};
      b.header().unknown.clear();
    }},
    Strip{[](ModuleBuilder& b) {
      b.header().input_output_alias.clear();
      b.header().buffer_donors.clear();
      b.header().alias_passthrough_params = false;
    }},
    Strip{[](ModuleBuilder& b) { DropKeys<AttributeKey::kControlPredecessors>(b); }},
    Strip{[](ModuleBuilder& b) {
      LeaveOut(b, [](const Instruction&, const Attribute& a) {
        return hlo::IsCommon(a.key) && a.key != AttributeKey::kSharding;
      });
    }},
    Strip{[](ModuleBuilder& b) { b.header().is_scheduled = false; }},
    Strip{DropLayouts},
    Strip{[](ModuleBuilder& b) {
      DropKeys<AttributeKey::kSharding>(b);
      b.header().spmd_output_sharding.reset();
      b.header().allow_spmd_sharding_propagation_to_parameters.clear();
      b.header().allow_spmd_sharding_propagation_to_output.clear();
      b.header().num_partitions = 1;
      b.header().is_partitioned = false;
    }},
    Strip{[](ModuleBuilder& b) { b.header().replica_count = 1; }},
};

Candidate Stripped(const Candidate& from, size_t begin, size_t end) {
  ModuleBuilder builder = hlo::CopyModule(*from.module);
  for (size_t i = begin; i < end; ++i) kStrips[i].drop(builder);
  return {builder.Build(), from.arguments};
}

// Where something is optional, by instruction.
std::vector<uint32_t> OptionalSites(const hlo::Module& module) {
  std::vector<uint32_t> sites;
  for (uint32_t i = 0; i < module.instructions().size(); ++i) {
    const Instruction& instruction = module.instructions()[i];
    for (const Attribute& a : module.attributes(instruction)) {
      if (!IsOptional(instruction, a)) continue;
      sites.push_back(i);
      break;
    }
  }
  return sites;
}

}  // namespace

void StripModule(Search& search) {
  // What was left out stays in the list: leaving it out again changes nothing.
  search.RemoveChunks([](const Candidate&) { return kStrips.size(); },
                      [](const Candidate& c, size_t begin, size_t end) -> std::optional<Candidate> {
                        return Stripped(c, begin, end);
                      });
}

void DropAttributes(Search& search) {
  search.RemoveChunks([](const Candidate& c) { return OptionalSites(*c.module).size(); },
                      [](const Candidate& c, size_t begin, size_t end) -> std::optional<Candidate> {
                        const std::vector<uint32_t> sites = OptionalSites(*c.module);
                        std::vector<bool> chosen(c.module->instructions().size(), false);
                        for (size_t i = begin; i < std::min(end, sites.size()); ++i) {
                          chosen[sites[i]] = true;
                        }
                        ModuleBuilder builder = hlo::CopyModule(*c.module);
                        const Instruction* first = builder.parts().instructions().data();
                        LeaveOut(builder, [&](const Instruction& i, const Attribute& a) {
                          return chosen[static_cast<size_t>(&i - first)] && IsOptional(i, a);
                        });
                        return Candidate{builder.Build(), c.arguments};
                      });
}

}  // namespace hloscope::debug
