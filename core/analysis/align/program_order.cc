// Instructions by key and place.
#include "core/analysis/align/program_order.h"

#include <algorithm>
#include <tuple>

#include "core/hlo/analysis/call_graph.h"

namespace hloscope::analysis {
namespace {

// By instruction: its place in the order in which the entry comes to it, what a computation holds
// where it is first called. Of what is never called the largest number.
std::vector<uint32_t> PlacesInProgram(const hlo::Module& module) {
  std::vector<uint32_t> places(module.instructions().size(), UINT32_MAX);
  if (!module.entry_id().valid()) return places;
  struct Step {
    hlo::ComputationId computation;
    uint32_t next = 0;  // of its instructions
  };
  std::vector<bool> entered(module.computations().size());
  std::vector<Step> steps = {{module.entry_id()}};
  entered[module.entry_id().index] = true;
  const hlo::CallGraph& calls = hlo::CallGraphOf(module);
  uint32_t count = 0;
  while (!steps.empty()) {
    Step& step = steps.back();
    const hlo::Computation& computation = module[step.computation];
    if (step.next == computation.instruction_count) {
      steps.pop_back();
      continue;
    }
    const hlo::InstructionId id(computation.first_instruction + step.next);
    const auto called = calls.calls(id);
    const auto first = std::ranges::find_if(
        called, [&](const hlo::Call& call) { return !entered[call.callee.index]; });
    if (first == called.end()) {
      places[id.index] = count++;
      ++step.next;
    } else {
      entered[first->callee.index] = true;
      steps.push_back({first->callee});
    }
  }
  return places;
}

struct Placed {
  uint64_t key;
  uint32_t place, id;
};

std::vector<Placed> InOrder(std::span<const uint64_t> keys, std::span<const uint32_t> places) {
  std::vector<Placed> placed;
  for (uint32_t id = 0; id < keys.size(); ++id) {
    if (keys[id] != 0) placed.push_back({.key = keys[id], .place = places[id], .id = id});
  }
  std::ranges::sort(placed, {}, [](const Placed& p) { return std::tuple(p.key, p.place, p.id); });
  return placed;
}

// The entries of the key at `at`.
std::span<const Placed> AlikeFrom(const std::vector<Placed>& placed, size_t at) {
  size_t end = at;
  while (end < placed.size() && placed[end].key == placed[at].key) ++end;
  return std::span(placed).subspan(at, end - at);
}

}  // namespace

ProgramOrder::ProgramOrder(const hlo::Module& before, const hlo::Module& after)
    : places_before_(PlacesInProgram(before)), places_after_(PlacesInProgram(after)) {}

std::vector<std::pair<uint32_t, uint32_t>> ProgramOrder::Pairs(
    std::span<const uint64_t> keys_before, std::span<const uint64_t> keys_after) const {
  const std::vector<Placed> before = InOrder(keys_before, places_before_);
  const std::vector<Placed> after = InOrder(keys_after, places_after_);
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (size_t b = 0, a = 0; b < before.size() && a < after.size();) {
    // The smaller key has no partner.
    if (before[b].key != after[a].key) {
      before[b].key < after[a].key ? ++b : ++a;
      continue;
    }
    const auto of_b = AlikeFrom(before, b), of_a = AlikeFrom(after, a);
    for (size_t k = 0; of_b.size() == of_a.size() && k < of_b.size(); ++k)
      pairs.emplace_back(of_b[k].id, of_a[k].id);
    b += of_b.size();
    a += of_a.size();
  }
  return pairs;
}

}  // namespace hloscope::analysis
