// How much an error matters, by its kind and the level of its line in a log.
#pragma once

#include <string_view>

#include "core/dump/errors/explain.h"

namespace hloscope::dump {

// `level`: I, W, E or F of the line; 0: it has none.
Severity SeverityOf(std::string_view kind, char level, std::string_view reason);

// Whether the kind is worth a word where a log only informs of it.
bool IsNote(std::string_view kind);

}  // namespace hloscope::dump
