// Telling a TensorFlow GraphDef in wire format by its first nodes.
#pragma once

#include <string_view>

namespace hloscope::dump {

// Whether the bytes begin as a GraphDef in wire format does: whole nodes with names and operations.
bool LooksLikeGraphWire(std::string_view bytes);

}  // namespace hloscope::dump
