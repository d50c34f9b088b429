// The fuzz target of messages between a worker and its parent.
#pragma once

#include <string>
#include <string_view>

namespace hloscope::fuzz {

// A message of some kind about the file: options, an event, a value or an error.
std::string MessageSeed(std::string_view file);
void FuzzMessage(std::string_view input);

}  // namespace hloscope::fuzz
