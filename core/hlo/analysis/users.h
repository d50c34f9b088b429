// The users of every instruction of a module.
#pragma once

#include "core/hlo/module.h"

namespace hloscope::hlo {

// Worked out when first asked for and kept with the module; threads may ask at the same time.
const UserIndex& UsersOf(const Module& module);

}  // namespace hloscope::hlo
