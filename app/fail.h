// The one way in which a command reports an error.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/command.h"

namespace hloscope::app {

/// The keys of an input's JSON object that name the input: {{"file", PATH}}.
using InputKeys = std::vector<std::pair<std::string_view, std::string>>;

/// The JSON object, on a line, of an input that could not be processed: `keys`, `status` (with
/// `error_kind`), `error`.
std::string FailureJson(const InputKeys& keys, const Error& error);

// Names the file where the error does not.
Error InFile(Error error, const std::string& file);
/// Prints `error` to standard error and with --json the object of the input; returns the exit
/// status.
int Fail(const InputKeys& keys, const Error& error, const Context& context);
int Fail(const std::string& path, const Error& error, const Context& context);

/// The same of an error that concerns all inputs, printed once; with --json an object for each
/// input, or one where there is none. `key` is "file" or "module".
int FailEach(std::string_view key, std::span<const std::string> inputs, const Error& error,
             const Context& context);

}  // namespace hloscope::app
