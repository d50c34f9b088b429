// Legalization.
#include "core/compile/passes/edit.h"

namespace hloscope::compile {

Result<PassResult> Legalize(const std::shared_ptr<const hlo::Module>&, Compilation&) {
  return PassResult{};
}
Result<PassResult> SimplifyAlgebra(const std::shared_ptr<const hlo::Module>&, Compilation&) {
  return PassResult{};
}
Result<PassResult> EliminateCommonSubexpressions(const std::shared_ptr<const hlo::Module>&,
                                                 Compilation&) {
  return PassResult{};
}

}  // namespace hloscope::compile
