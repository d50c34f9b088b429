// Errors that no row of the tables knows, in the words of the library that raised them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/errors/explain.h"

namespace hloscope::dump {

// The sentences of a message that say what to do, each as the message writes it: "As a workaround,
// pass …". At most 400 bytes; empty: there are none. Requests for a report are no advice.
std::string AdviceOf(std::string_view message);

// The last exception of a traceback (Python, Julia, Elixir) that a library raised, as its innermost
// frame or the module of its type says, or whose message holds advice; nullopt: there is none. What
// is reported is the message itself: nothing is known of its cause.
std::optional<ExplainedError> FindRaised(const std::vector<std::string_view>& lines);

}  // namespace hloscope::dump
