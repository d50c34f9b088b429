// Compiling a module, and flattening arguments as plugins want them.
#include "core/debug/explain/diverge/optimised_module.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "core/backends/pjrt/compile_module.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/proto/proto.h"

namespace hloscope::debug {

using hlo::Literal;
using hlo::Module;

bool Compiles(const std::string& platform) {
  const replay::PlatformRow* row = replay::FindPlatform(platform);
  return row != nullptr && row->Has(replay::kDumps);
}

Result<std::shared_ptr<const Module>> OptimisedModule(const std::shared_ptr<const Module>& module,
                                                      const RunSpec& request,
                                                      const std::string& platform,
                                                      const std::stop_token& stop) {
  replay::CompileModuleRequest compile;
  compile.options = TestOptions(request);
  compile.platform = platform;
  compile.optimized_module = compile.as_run = true;
  if (request.budget.seconds) {
    compile.options.limits.run_deadline_seconds =
        static_cast<int64_t>(std::ceil(std::min(*request.budget.seconds, 1e9)));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(replay::CompileModuleReport report,
                            replay::CompileModule(module, compile, stop));
  auto read = hlo::ReadProto(std::as_bytes(std::span(report.optimized_module)));
  if (!read.has_value()) {
    return UnsupportedError(fmt::format("the optimised module of {} cannot be read: {}", platform,
                                        read.error().message));
  }
  return read->module;
}

std::vector<Literal> LeafArguments(const std::vector<Literal>& arguments) {
  std::vector<Literal> leaves;
  for (const Literal& argument : arguments) {
    for (const Literal& leaf : dump::FlattenLiteral(argument)) {
      const hlo::Shape& shape = leaf.shape();
      if (!shape.IsArray()) continue;
      if (shape.is_static()) {
        leaves.push_back(leaf);
        continue;
      }
      hlo::Shape whole = shape;
      for (size_t d = 0; d < shape.rank(); ++d) whole.set_dynamic_dimension(d, false);
      leaves.push_back(Literal::Dense(whole, {leaf.bytes().begin(), leaf.bytes().end()}));
      for (size_t d = 0; d < shape.rank(); ++d) {
        if (!shape.is_dynamic_dimension(d)) continue;
        const auto size = static_cast<int32_t>(leaf.live_sizes()[d]);
        leaves.push_back(
            Literal::Of<int32_t>(hlo::Shape::Scalar(hlo::ElementType::kS32), std::span(&size, 1)));
      }
    }
  }
  return leaves;
}

}  // namespace hloscope::debug
