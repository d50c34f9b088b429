// Options that several commands have, with one name, help and set of values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/command.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/dump/complete_module.h"
#include "core/dump/readers/symbolic_shapes.h"

namespace hloscope::app {

// A platform to run on, `--platform` or another name.
OptionSpec PlatformOption(std::string name, OptionSpec::Target target, std::string help);
/// An option that is a row of run_options.def, of a command that has another target for it.
OptionSpec RowOption(std::string_view name, OptionSpec::Target target);
// --input_format FORM, of those that `dump::InputFormatFromName` knows, and of `more`.
OptionSpec InputFormatOption(OptionSpec::Target target, std::vector<std::string> more = {});
// --python PATH, and the same as a list of environments.
OptionSpec PythonOption(std::string* target);
OptionSpec SeveralPythonsOption(std::vector<std::string>* target);
// --constants F.npz, where it is not empty: the elided constants that have values there.
Status TakeConstants(const std::string& path, const Limits& limits,
                     dump::CompletedModule& completed);
// The values of dimension variables that `--shape NAME=N` was given.
Result<std::vector<dump::DimensionVariable>> ReadShapes(const std::vector<std::string>& texts);
/// --skip-callbacks.
OptionSpec SkipCallbacksOption(bool* target);
// --deadline S.
OptionSpec DeadlineOption(OptionSpec::Target target, std::string_view what);

}  // namespace hloscope::app
