// Counting what two modules compute.
#include "core/backends/pjrt/stablehlo_changes.h"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "core/backends/pjrt/adapt_steps.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/literal.h"
#include "core/hlo/opcode_table.h"
#include "core/hlo/string_pool.h"

namespace hloscope::replay::pjrt {
namespace {

using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;

// The shapes of the last three are those of what they carry, in tuples of another form.
constexpr hlo::OpcodeSet kPlumbing = {
    Opcode::kParameter, Opcode::kTuple,       Opcode::kGetTupleElement,    Opcode::kCall,
    Opcode::kCopy,      Opcode::kBitcast,     Opcode::kAfterAll,           Opcode::kDomain,
    Opcode::kWhile,     Opcode::kConditional, Opcode::kOptimizationBarrier};

// "add f32[4]" and the elements of a constant.
struct Kind {
  std::string name;
  uint64_t elements = 0;
  auto operator<=>(const Kind&) const = default;
};

Kind KindOf(const Module& module, InstructionId id) {
  Kind kind{fmt::format("{} {}", hlo::ToString(module[id].opcode),
                        hlo::ToString(module.shape(id).WithoutLayouts(), false)),
            0};
  const auto* value = module.Get<hlo::Literal>(module[id], hlo::AttributeKey::kConstantValue);
  if (value != nullptr && !value->elided()) {
    const auto bytes = value->bytes();
    kind.elements = hlo::HashBytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return kind;
}

std::map<Kind, int64_t> Census(const Module& module) {
  const hlo::CallGraph& graph = hlo::CallGraphOf(module);
  std::map<Kind, int64_t> counts;
  for (uint32_t k = 0; k < module.instructions().size(); ++k) {
    const InstructionId id(k);
    if (!graph.IsReached(module[id].computation) || kPlumbing.Has(module[id].opcode)) continue;
    int64_t& count = counts[KindOf(module, id)];
    // A constant may stand in every computation that uses it.
    count = module[id].opcode == Opcode::kConstant ? 1 : count + 1;
  }
  return counts;
}

// What is more often in `b` than in `a`.
std::vector<std::string> More(const std::map<Kind, int64_t>& a, const std::map<Kind, int64_t>& b) {
  std::vector<std::string> names;
  for (const auto& [kind, count] : b) {
    const auto found = a.find(kind);
    const int64_t more = count - (found == a.end() ? 0 : found->second);
    if (more > 0) names.push_back(more == 1 ? kind.name : fmt::format("{} × {}", more, kind.name));
  }
  return names;
}

}  // namespace

std::string StableHloChanges(const Module& asked, const Module& taken) {
  const auto a = Census(asked), b = Census(taken);
  const std::vector<std::string> added = More(a, b), removed = More(b, a);
  std::string text;
  if (!added.empty()) text += fmt::format("{} added", ListSome(added));
  if (!removed.empty()) {
    text += fmt::format("{}{} removed", text.empty() ? "" : ", ", ListSome(removed));
  }
  return text;
}

}  // namespace hloscope::replay::pjrt
