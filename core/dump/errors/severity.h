// How much an error matters, by its kind and the level of its line in a log.
#pragma once

#include <string_view>

#include "core/dump/errors/explain.h"

namespace hloscope::dump {

// `level`: I, W, E or F of the line; 0: it has none.
Severity SeverityOf(std::string_view kind, char level, std::string_view reason);

// Whether the kind is worth a word where a log only informs of it.
bool IsNote(std::string_view kind);

// Whether `error`, which is told of `line`, may be what `end`, the end of the process, tells again:
// it ends a process itself, or stands shortly before. One that was caught long before is not.
bool MayHaveEnded(const ExplainedError& error, std::string_view line, const ExplainedError& end);

}  // namespace hloscope::dump
