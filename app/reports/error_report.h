// What an error text of a framework means, as text and as JSON.
#pragma once

#include <string>
#include <string_view>

#include "core/base/json.h"
#include "core/dump/errors/explain.h"
#include "core/dump/errors/nearest_text.h"

namespace hloscope::app {

// Lines that begin with `indent`; `from` is the file with the text.
std::string ErrorText(const dump::ExplainedError& error, std::string_view from,
                      std::string_view indent);
// Of an input without an error text that is known, as a line.
std::string NothingExplainedJson(std::string_view from, std::string_view why,
                                 const dump::NearestText& nearest);
// One object: kind, severity, node, op, device, file, line, reason, fix, buffers, in, in_line.
std::string ErrorJson(const dump::ExplainedError& error, std::string_view from);
void WriteError(JsonWriter& json, const dump::ExplainedError& error, std::string_view from);

}  // namespace hloscope::app
