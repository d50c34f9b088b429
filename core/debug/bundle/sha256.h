// SHA-256, which identifies the payload that a stand-in replaces.
#pragma once

#include <string>
#include <string_view>

namespace hloscope::debug {

/// SHA-256 of `bytes` (FIPS 180-4) as 64 lower-case hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);

}  // namespace hloscope::debug
