// Names, callers and program order of a module, gathered once.
#include "core/dump/instruction_lookup.h"

#include <algorithm>
#include <ranges>

#include "core/base/fnv.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/opcode_traits.h"

namespace hloscope::dump {

using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Opcode;

namespace {

bool IsKept(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

uint64_t HashOf(std::string_view name) {
  uint64_t hash = kFnvStart;
  for (char c : name) hash = FnvStep(hash, static_cast<uint8_t>(IsKept(c) ? c : '_'));
  return hash;
}

bool SameSanitized(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b,
                            [](char x, char y) { return x == y || (!IsKept(x) && !IsKept(y)); });
}

}  // namespace

std::string SanitizedName(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (!IsKept(c)) c = '_';
  }
  return out;
}

InstructionLookup::InstructionLookup(std::shared_ptr<const hlo::Module> module)
    : owner_(std::move(module)), module_(*owner_) {
  names_.reserve(module_.instructions().size());
  for (uint32_t k = 0; k < module_.instructions().size(); ++k)
    names_.push_back({HashOf(module_.name(InstructionId(k))), k});
  for (uint32_t k = 0; k < module_.computations().size(); ++k)
    computations_.push_back({HashOf(module_[module_[ComputationId(k)].name]), k});
  std::ranges::sort(names_);
  std::ranges::sort(computations_);
  FindFused();
  OrderProgram();
}

std::span<const InstructionLookup::Named> InstructionLookup::Range(const std::vector<Named>& list,
                                                                   std::string_view name) {
  return std::ranges::equal_range(list, HashOf(name), {}, &Named::hash);
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
    AddToProgram(id);
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

void InstructionLookup::AddToProgram(InstructionId id) {
  program_.push_back(id);
  const Opcode opcode = module_[id].opcode;
  if (opcode == Opcode::kCustomCall) {
    targets_[module_.GetString(module_[id], hlo::AttributeKey::kCustomCallTarget)].push_back(
        program_.size() - 1);
  } else if (hlo::HasFlag(opcode, hlo::kFlagCollective)) {
    collectives_[SanitizedName(hlo::ToString(opcode))].push_back(id);
  }
}

bool InstructionLookup::HasCode(InstructionId id) const {
  return !hlo::HasTrait(module_[id].opcode, hlo::kTraitNoCode);
}

InstructionId InstructionLookup::ByName(std::string_view name) const {
  for (const Named& named : Range(names_, name)) {
    if (module_.name(InstructionId(named.id)) == name) return InstructionId(named.id);
  }
  return {};
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
    for (const Named& named : Range(names_, name)) {
      InstructionId id(named.id);
      if (HasCode(id) && SameSanitized(module_.name(id), name)) found.push_back(id);
    }
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
  std::vector<size_t> places;
  for (const auto& [target, calls] : targets_) {
    if (!name.empty() && !std::ranges::search(target, name, same).empty())
      places.insert(places.end(), calls.begin(), calls.end());
  }
  std::ranges::sort(places);
  std::vector<InstructionId> found;
  for (size_t place : places) found.push_back(program_[place]);
  return found;
}

InstructionId InstructionLookup::ByCollectiveKernel(std::string_view name) const {
  constexpr std::string_view kEnd = "_fusion";
  if (!name.ends_with(kEnd)) return {};
  name.remove_suffix(kEnd.size());
  for (InstructionId id : ByKernelName(name)) {
    if (hlo::HasFlag(module_[id].opcode, hlo::kFlagCollective)) return id;
  }
  auto found = collectives_.find(SanitizedName(name));
  bool is_only = found != collectives_.end() && found->second.size() == 1;
  return is_only ? found->second.front() : InstructionId();
}

std::vector<InstructionId> InstructionLookup::ByComputationName(std::string_view name) const {
  std::vector<InstructionId> found;
  for (const Named& named : Range(computations_, name)) {
    ComputationId computation(named.id);
    if (!SameSanitized(module_[module_[computation].name], name)) continue;
    for (InstructionId id : hlo::CallGraphOf(module_).callers(computation)) {
      found.push_back(Launcher(id));
    }
    if (computation == module_.entry_id() && module_.entry().root.valid())
      found.push_back(module_.entry().root);
  }
  std::ranges::sort(found);
  found.erase(std::ranges::unique(found).begin(), found.end());
  return found;
}

}  // namespace hloscope::dump
