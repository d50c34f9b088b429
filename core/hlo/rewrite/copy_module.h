// CopyModule: a module to be changed here and there and frozen again; all ids stay.
#pragma once

#include "core/hlo/module_builder.h"

namespace hloscope::hlo {

inline ModuleBuilder CopyModule(const Module& module) {
  ModuleBuilder builder(module);
  ModuleBuilder::TakeParts(module, [&](const auto&... from) {
    ModuleBuilder::TakeParts(builder.parts(), [&](auto&... to) { ((to = from), ...); });
  });
  return builder;
}

}  // namespace hloscope::hlo
