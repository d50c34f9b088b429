// The module of a jax.export as the function that was exported.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "core/base/result.h"
#include "core/dump/readers/symbolic_shapes.h"
#include "core/hlo/module.h"

namespace hloscope::replay {

// The module with the parameters of the function: the platform index is the constant
// `platform_index` (nullopt: the module does not take one), and arguments that JAX dropped, being
// unused, are parameters again, of these shapes. Input error: the module takes others than the
// export says.
Result<std::shared_ptr<const hlo::Module>> WithExportedArguments(
    std::shared_ptr<const hlo::Module> module, const dump::JaxExport& exported,
    std::optional<int32_t> platform_index, std::span<const dump::Dimensions> shapes);

}  // namespace hloscope::replay
