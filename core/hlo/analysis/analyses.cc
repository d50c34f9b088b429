// The analyses that a module keeps.
#include "core/hlo/analysis/async_chain.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/analysis/cost.h"
#include "core/hlo/analysis/effects.h"
#include "core/hlo/analysis/users.h"
#include "core/hlo/kept_analyses.h"

namespace hloscope::hlo {
namespace {

enum Slot : size_t { kCallGraph, kEffects, kUsers, kAsyncChains, kCosts, kSlotCount };
static_assert(kSlotCount == KeptAnalyses::kSlots);

template <typename T>
const T& Get(Slot slot, const Module& module) {
  return static_cast<const KeptModule&>(module).analyses.Get<T>(slot, module);
}

}  // namespace

const CallGraph& CallGraphOf(const Module& module) { return Get<CallGraph>(kCallGraph, module); }
const Effects& EffectsOf(const Module& module) { return Get<Effects>(kEffects, module); }
const UserIndex& UsersOf(const Module& module) { return Get<UserIndex>(kUsers, module); }
const AsyncChains& AsyncChainsOf(const Module& module) {
  return Get<AsyncChains>(kAsyncChains, module);
}
const CostModel& CostsOf(const Module& module) { return Get<CostModel>(kCosts, module); }

}  // namespace hloscope::hlo
