// Syntax to the typed form, by the forms of opcodes.def.
#pragma once

#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

// Every entry of `syntax`, decoded. What has no form is in Kernel::unsupported, each with its
// place.
Program Decode(Syntax syntax);

}  // namespace hloscope::ptx
