// Redaction of texts that are code.
#pragma once

#include <string>
#include <string_view>

#include "core/debug/bundle/redact_module.h"

namespace hloscope::debug {

/// PTX, LLVM IR and other texts of a dump that are read again: names are replaced by names, quoted
/// texts are redacted, lines stay where they are. Comments, which `comment` begins (empty: there
/// are none), are left out unless `free_text` is kAll; those that show what the file is stay.
std::string RedactCode(std::string_view text, std::string_view comment, FreeText free_text,
                       Redactor& redactor);

}  // namespace hloscope::debug
