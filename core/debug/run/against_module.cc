#include "core/debug/run/against_module.h"

#include <utility>
#include <vector>

namespace hloscope::debug {

Result<RunSpec> AgainstModule(const std::shared_ptr<const hlo::Module>& module,
                              const std::shared_ptr<const hlo::Module>& other, const RunSpec& spec,
                              const std::stop_token& stop) {
  const RunSpec plain = DerivedSpec(spec, spec.test, spec.inputs);
  const RunReport first = RunModule(module, plain, stop);
  if (first.error) return std::unexpected(*first.error);
  RunSpec against = spec;
  against.inputs = spec.inputs.With(first.arguments);
  const RunReport second = RunModule(other, DerivedSpec(spec, spec.test, against.inputs), stop);
  if (second.error) return std::unexpected(*second.error);
  std::vector<hlo::Literal> leaves;
  for (const RunOutput& output : second.outputs) leaves.push_back(output.value);
  against.reference = {};
  against.compare.expect.clear();
  against.compare.recorded = hlo::Literal::Tuple(std::move(leaves));
  return against;
}

}  // namespace hloscope::debug
