// The fuzz target of bug bundles.
#pragma once

#include <string>
#include <string_view>

namespace hloscope::fuzz {

// A bundle with the file as its module; empty where it is no text.
std::string BundleSeed(std::string_view file);
void FuzzBundle(std::string_view input);

}  // namespace hloscope::fuzz
