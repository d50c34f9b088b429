// Why something else than the device that was asked for runs an instruction: one table of reasons.
#pragma once

#include <cstdint>
#include <string_view>

namespace hloscope::hlo {

enum class FallbackReason : uint8_t {
#define FALLBACK_REASON(name, key, text) name,
#include "core/hlo/fallback_reasons.def"
#undef FALLBACK_REASON
};
std::string_view KeyOf(FallbackReason reason);     // "unsupported_opcode", …
std::string_view Describe(FallbackReason reason);  // in words

// What an error that begins with the reason says behind it; all of `message` where it does not.
std::string_view WithoutReason(FallbackReason reason, std::string_view message);

}  // namespace hloscope::hlo
