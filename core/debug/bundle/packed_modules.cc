#include "core/debug/bundle/packed_modules.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/counted.h"
#include "core/dump/tensors/given_constants.h"

namespace hloscope::debug {

bool LeavesOutConstants(const BundleSource& source) {
  return !source.request.inputs.constants.empty() && source.values < ValuePolicy::kAll;
}

Result<PackedModules> PackModules(const BundleSource& source) {
  PackedModules packed{.module = source.module,
                       .other = source.other,
                       .before_pass = source.before_pass,
                       .after_pass = source.after_pass,
                       .reduced = source.reduced,
                       .notes = {}};
  if (!LeavesOutConstants(source)) return packed;
  size_t most = 0;  // of one module
  for (auto* const module :
       {&packed.module, &packed.other, &packed.before_pass, &packed.after_pass}) {
    if (*module == nullptr) continue;
    HLOSCOPE_ASSIGN_OR_RETURN(
        dump::LeftOutConstants left,
        dump::LeaveOutConstants(*module, source.request.inputs.constants, source.request.limits));
    *module = std::move(left.module);
    most = std::max(most, left.count);
  }
  packed.notes.push_back(
      fmt::format("the values of {} that --constants gave are left out: --values all includes them",
                  Counted(most, "constant")));
  if (packed.reduced != nullptr) {
    packed.reduced = nullptr;
    packed.notes.emplace_back(
        "the reduced module is left out, since it may hold values that --constants gave: --values "
        "all includes it");
  }
  return packed;
}

}  // namespace hloscope::debug
