// What the word under the pointer means in a line of HLO text.
#pragma once

#include <string>
#include <string_view>

namespace hloscope::viewer {

/// Of the byte `at`: an opcode, an attribute, or the layout after a shape, part by part; empty
/// elsewhere. `device` is that of the dump (ModuleEntry::device), for memory spaces.
std::string HoverWords(std::string_view line, size_t at, std::string_view device);

}  // namespace hloscope::viewer
