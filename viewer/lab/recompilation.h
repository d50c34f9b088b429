// A module compiled again by another compiler, for another device or with another flag, as the
// second dump.
#pragma once

#include <cstdint>
#include <string>

#include "viewer/model/context.h"

namespace hloscope::viewer {

struct RecompileChoice {
  std::string platform, target;  // of RecompilePlatforms; of those with targets
  std::string flags;             // as in XLA_FLAGS
  bool operator==(const RecompileChoice&) const = default;
};

// Compiles the first stage of a module in child processes and in the background; the dump of every
// pass is opened as the second one, and a message has its path, or why there is none.
void RecompileAsSecond(Context& context, int32_t module, const RecompileChoice& choice);

}  // namespace hloscope::viewer
