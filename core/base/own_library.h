// Libraries of this program that not every process needs.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace hloscope {

// A function `bool()` of each: whether exceptions work in it (own_library_entry.h).
inline constexpr const char* kCatchesExceptions = "hloscope_catches_exceptions";

// The address of `symbol` in libhloscope_NAME.so, which is loaded and stays so: beside the program
// in a build, in ../lib/hloscope once installed. An environment error, whose fix is `hint`, where
// there is none or it cannot be loaded.
Result<void*> FindInOwnLibrary(std::string_view name, const char* symbol, std::string hint);
// Whether there is a file libhloscope_NAME.so where that looks.
bool HasOwnLibrary(std::string_view name);
// Which build of libhloscope_NAME.so that would load, by BuildIdOfFile; it is not loaded. The same
// answer for the life of the process. Empty where there is none.
std::string BuildIdOfOwnLibrary(const std::string& name);

}  // namespace hloscope
