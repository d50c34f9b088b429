// SpmdParameterShardings: how the partitioner cut a module's parameters, which only protos say.
#pragma once

#include <vector>

#include "core/base/limits.h"
#include "core/hlo/module.h"

namespace hloscope::hlo {

// One for each parameter of the entry, as the proto that the module was read from holds them among
// the fields that are kept as they are. Empty if it holds none or one cannot be read.
std::vector<Sharding> SpmdParameterShardings(const Module& module, const Limits& limits);

}  // namespace hloscope::hlo
