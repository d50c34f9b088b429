// The fuzz target of what lies in a dump of XLA:GPU: module, buffer assignment, thunks, PTX.
#pragma once

#include <string>
#include <string_view>

namespace hloscope::fuzz {

// A dump in one text: lines `==== NAME`, each with the content of the file of that name behind it.
// Empty where the file is none.
std::string DeviceSeed(std::string_view file);
void FuzzDevice(std::string_view input);

}  // namespace hloscope::fuzz
