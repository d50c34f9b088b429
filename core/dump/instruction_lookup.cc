// Names, callers and program order of a module, gathered once.
#include "core/dump/instruction_lookup.h"

#include <algorithm>
#include <ranges>

#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::dump {

using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Opcode;

std::string SanitizedName(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    bool keep = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!keep) c = '_';
  }
  return out;
}

InstructionLookup::InstructionLookup(const hlo::Module& module) : module_(module) {
  names_.reserve(module.instructions().size());
  sanitized_.reserve(module.instructions().size());
  for (uint32_t k = 0; k < module.instructions().size(); ++k) {
    InstructionId id(k);
    names_.try_emplace(module.name(id), id);
    if (HasCode(id)) sanitized_.emplace(SanitizedName(module.name(id)), id);
  }
  for (uint32_t k = 0; k < module.computations().size(); ++k) {
    ComputationId id(k);
    computations_.emplace(SanitizedName(module[module[id].name]), id);
  }
  FindFused();
  OrderProgram();
}

void InstructionLookup::FindFused() {
  fused_.resize(module_.computations().size());
  for (const hlo::Call& call : hlo::CallGraphOf(module_).calls()) {
    if (module_[call.caller].opcode == Opcode::kFusion) fused_[call.callee.index] = true;
  }
}

// Computations that run by themselves: the entry, bodies, conditions, branches, calls. Reducers
// and fused computations run inside their caller.
void InstructionLookup::OrderProgram() {
  struct Open {
    ComputationId computation;
    uint32_t next = 0;
  };
  std::vector<bool> seen(module_.computations().size());
  std::vector<Open> open = {{module_.entry_id()}};
  if (!module_.entry_id().valid()) return;
  seen[module_.entry_id().index] = true;
  while (!open.empty()) {
    Open& top = open.back();
    const hlo::Computation& computation = module_[top.computation];
    if (top.next == computation.instruction_count) {
      open.pop_back();
      continue;
    }
    InstructionId id(computation.first_instruction + top.next++);
    program_.push_back(id);
    Opcode opcode = module_[id].opcode;
    bool runs = opcode == Opcode::kWhile || opcode == Opcode::kConditional ||
                opcode == Opcode::kCall || opcode == Opcode::kAsyncStart;
    if (!runs) continue;
    for (const hlo::Call& call : std::views::reverse(hlo::CallGraphOf(module_).calls(id))) {
      if (seen[call.callee.index]) continue;
      seen[call.callee.index] = true;
      open.push_back({call.callee});
    }
  }
}

bool InstructionLookup::HasCode(InstructionId id) const {
  return !hlo::HasTrait(module_[id].opcode, hlo::kTraitNoCode);
}

InstructionId InstructionLookup::ByName(std::string_view name) const {
  auto found = names_.find(name);
  return found == names_.end() ? InstructionId() : found->second;
}

InstructionId InstructionLookup::Launcher(InstructionId id) const {
  for (size_t steps = 0; steps < module_.computations().size(); ++steps) {
    uint32_t computation = module_[id].computation.index;
    const InstructionId caller = hlo::CallGraphOf(module_).FirstCaller(ComputationId(computation));
    if (!fused_[computation] || !caller.valid()) return id;
    id = caller;
  }
  return id;
}

std::vector<InstructionId> InstructionLookup::ByKernelName(std::string_view name) const {
  std::vector<InstructionId> found;
  if (InstructionId exact = ByName(name); exact.valid() && HasCode(exact)) {
    found.push_back(exact);
  } else {
    auto [begin, end] = sanitized_.equal_range(SanitizedName(name));
    for (auto at = begin; at != end; ++at) found.push_back(at->second);
  }
  // One that runs by itself is meant rather than one inside a fusion.
  auto inside = [&](InstructionId id) { return fused_[module_[id].computation.index]; };
  if (std::ranges::any_of(found, [&](InstructionId id) { return !inside(id); }))
    std::erase_if(found, inside);
  for (InstructionId& id : found) id = Launcher(id);
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

std::vector<InstructionId> InstructionLookup::ByTarget(std::string_view name) const {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  auto same = [&](char a, char b) { return lower(a) == lower(b); };
  std::vector<InstructionId> found;
  if (name.empty()) return found;
  for (InstructionId id : program_) {
    if (module_[id].opcode != Opcode::kCustomCall) continue;
    std::string_view target = module_.GetString(module_[id], hlo::AttributeKey::kCustomCallTarget);
    if (!std::ranges::search(target, name, same).empty()) found.push_back(id);
  }
  return found;
}

std::vector<InstructionId> InstructionLookup::ByComputationName(std::string_view name) const {
  std::vector<InstructionId> found;
  auto [begin, end] = computations_.equal_range(SanitizedName(name));
  for (auto at = begin; at != end; ++at) {
    const auto callers = hlo::CallGraphOf(module_).callers(at->second);
    for (InstructionId id : callers) found.push_back(Launcher(id));
    if (at->second == module_.entry_id() && module_.entry().root.valid())
      found.push_back(module_.entry().root);
  }
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

}  // namespace hloscope::dump
