// Declarations of variables and parameters.
#pragma once

#include "core/ptx/text/parser.h"
#include "core/ptx/text/token_stream.h"

namespace hloscope::ptx {

// Reads `.align N .b8 name[N] = {…}` after its space, up to but without what ends it (`;`, `,` or
// `)`). `bytes_so_far` counts towards limits.variable_bytes.
Result<Variable> ParseVariable(TokenStream& tokens, Space space, const TextLimits& limits,
                               uint64_t& bytes_so_far);
// The space that a directive names (".shared"); nullopt for none.
std::optional<Space> SpaceOf(std::string_view directive);

}  // namespace hloscope::ptx
