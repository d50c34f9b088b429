// BuildIdAt: which build of a program or library it is.
#pragma once

#include <string>

namespace hloscope {

// What the linker wrote into the file that the code at `address` was loaded from: another for every
// other content. Empty where it wrote nothing.
std::string BuildIdAt(const void* address);

}  // namespace hloscope
