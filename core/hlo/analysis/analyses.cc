// The analyses that a module keeps.
#include "core/hlo/analysis/analyses.h"

#include "core/hlo/analysis/users.h"

namespace hloscope::hlo {
namespace {

const AnalysedModule& Keeper(const Module& module) {
  return static_cast<const AnalysedModule&>(module);
}

}  // namespace

const CallGraph& CallGraphOf(const Module& module) { return Keeper(module).call_graph.Get(module); }
const Effects& EffectsOf(const Module& module) { return Keeper(module).effects.Get(module); }
const UserIndex& UsersOf(const Module& module) { return Keeper(module).users.Get(module); }

}  // namespace hloscope::hlo
