// BuildIdAt, BuildIdOfFile: which build of a program or library it is.
#pragma once

#include <string>

namespace hloscope {

// What the linker wrote into the file that the code at `address` was loaded from: another for every
// other content. Empty where it wrote nothing.
std::string BuildIdAt(const void* address);
// The same of a program or library that is not loaded; empty also where the file is none.
std::string BuildIdOfFile(const std::string& path);

}  // namespace hloscope
