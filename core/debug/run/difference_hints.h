// What explains a difference that is no fault, and the option that makes both sides alike.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/debug/run/run_spec.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

inline constexpr std::string_view kDenormalsHint =
    "whatever differs is equal where denormals are zeros, as XLA:CPU treats them: "
    "--denormals flush";

/// Where a side of the run is compiled by XLA for a GPU: that it computes products of f32 in TF32
/// unless they ask for more. nullopt: nothing to say.
std::optional<std::string> PrecisionHint(const hlo::Module& module, const RunSpec& spec);

/// Where values of constants that the file elides are generated: that the results are not those of
/// the program. nullopt: there are none.
std::optional<std::string> MadeUpConstantsHint(const hlo::Module& module, const RunSpec& spec);

}  // namespace hloscope::debug
