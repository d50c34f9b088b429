// Payloads of modules: opaque to all but one platform, so kept or replaced whole.
#pragma once

#include <string>
#include <string_view>

#include "core/debug/bundle/redactor.h"

namespace hloscope::debug {

/// Whether a payload (a backend configuration, an opaque string, an attribute's value) shows a
/// secret: as text, in strings of JSON, in base 64, in strings within binary data, compressed or
/// not. True also of encoded data that cannot be looked into.
bool PayloadHasSecret(std::string_view payload, const Redactor& redactor);

/// What stands for a payload that is left out: "<payload SHA-256 12 bytes>".
std::string PayloadStandIn(std::string_view payload);

}  // namespace hloscope::debug
