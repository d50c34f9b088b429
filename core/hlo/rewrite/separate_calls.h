// SeparateCalls: a module in which no two calls share a computation, so that what one of them does
// can be told from what another does.
#pragma once

#include <memory>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::hlo {

struct SeparatedModule {
  // Instructions and computations that the module given has keep their ids; copies come behind
  // them. A copied instruction has the name of the original, a copied computation its name, `~` and
  // a number, which no file can have. The module given itself where nothing is shared.
  std::shared_ptr<const Module> module;
  // By computation of `module`: the one of the module given that it is.
  std::vector<ComputationId> original;
  // By computation of the module given: true where several calls had it.
  std::vector<bool> was_shared;
  // False: some are shared still, since copies would be too many (ExpansionBudget).
  bool is_whole = true;
};

// Of what calls, fusions, loops and conditionals run; reducers, comparators and what asynchronous
// instructions name stay shared.
SeparatedModule SeparateCalls(std::shared_ptr<const Module> module);

}  // namespace hloscope::hlo
