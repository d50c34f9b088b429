// Shardings in Shardy's own words, as frontend attributes carry them through HLO.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/hlo/module.h"
#include "core/hlo/sharding.h"

namespace hloscope::hlo {

// The shardings in `#sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>` or `#sdy.sharding<…>`, in
// order and in named form; the module's frontend attribute xla.sdy.meshes says what @mesh is.
// Nullopt: it cannot be read, or names a mesh or an axis there is not.
std::optional<std::vector<Sharding>> ReadSdyShardings(const Module& module, std::string_view text);

// The names in `#sdy<manual_axes{"x", "y"}>`; nullopt if it cannot be read.
std::optional<std::vector<std::string>> ReadSdyAxes(std::string_view text);

}  // namespace hloscope::hlo
