// The options that several commands have.
#include "app/shared_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "app/option_kinds.h"
#include "core/dump/tensors/given_constants.h"
#include "core/replay/platform.h"

namespace hloscope::app {

OptionSpec PlatformOption(std::string name, OptionSpec::Target target, std::string help) {
  std::vector<std::string> names;
  for (const replay::PlatformRow& row : replay::PlatformRows()) names.emplace_back(row.name);
  names.emplace_back("pjrt:FILE.so");
  return {.name = std::move(name),
          .target = target,
          .help = std::move(help),
          .value = "PLATFORM",
          .suggestions = std::move(names)};
}

OptionSpec RowOption(std::string_view name, OptionSpec::Target target) {
  OptionSpec spec{.name = std::string(name), .target = std::move(target), .help = {}};
  const auto take = [&](std::string_view text, std::string_view value, std::string help,
                        const OptionKind& kind) {
    if (text.substr(0, text.find_first_of(" =")) != name) return;
    spec.value = value;
    spec.help = std::move(help);
    spec.min = kind.min;
    spec.max = kind.max;
    spec.positive = kind.positive;
  };
#define RUN_OPTION(member, text, key, untrusted, group, value, help, kind, need) \
  take(text, value, help, kind);
#define LOCAL_OPTION(member, text, group, value, help, kind, need) take(text, value, help, kind);
#include "core/debug/run/run_options.def"
  return spec;
}

OptionSpec InputFormatOption(OptionSpec::Target target, std::vector<std::string> more) {
  std::vector<std::string> names = {"hlo", "pb", "pbtxt"};
  names.insert(names.end(), more.begin(), more.end());
  return {.name = "--input_format",
          .target = target,
          .help = "format of the input; by default recognised by content",
          .value = "FORMAT",
          .suggestions = std::move(names)};
}

OptionSpec PythonOption(std::string* target) {
  return {.name = "--python",
          .target = target,
          .help = "search this Python environment alone for XLA's plugins and jaxlib",
          .value = "PATH"};
}

Status TakeConstants(const std::string& path, const Limits& limits,
                     dump::CompletedModule& completed) {
  if (path.empty()) return {};
  HLOSCOPE_ASSIGN_OR_RETURN(dump::GivenConstants given,
                            dump::GiveConstants(completed.module, path, limits));
  completed.module = std::move(given.module);
  completed.notes.push_back(std::move(given.note));
  return {};
}

Result<std::vector<dump::DimensionVariable>> ReadShapes(const std::vector<std::string>& texts) {
  std::vector<dump::DimensionVariable> variables;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    int64_t value = -1;
    if (equals != std::string::npos && equals > 0) {
      const char* const end = text.data() + text.size();
      const auto read = std::from_chars(text.data() + equals + 1, end, value);
      if (read.ec != std::errc() || read.ptr != end) value = -1;
    }
    if (value < 0) {
      return InputError(
          fmt::format("--shape {}: expected NAME=N, a dimension variable and its value", text));
    }
    const auto known = std::ranges::find(variables, name, &dump::DimensionVariable::name);
    if (known != variables.end() && known->value != value) {
      return InputError(fmt::format("--shape {}={} and {}={} contradict one another", name,
                                    known->value, name, value));
    }
    if (known == variables.end()) variables.push_back({name, value});
  }
  return variables;
}

OptionSpec SeveralPythonsOption(std::vector<std::string>* target) {
  return {.name = "--python",
          .target = target,
          .help =
              "search this Python environment alone for XLA's plugins and jaxlib; of several, A,B, "
              "find the first whose results differ",
          .value = "PATH",
          .commas = true};
}

OptionSpec SkipCallbacksOption(bool* target) {
  return {.name = "--skip-callbacks",
          .target = target,
          .help =
              "leave out host callbacks, such as jax.debug.callback, whose results are unused; "
              "the others fail only where they are executed"};
}

OptionSpec DeadlineOption(OptionSpec::Target target, std::string_view what) {
  return {.name = "--deadline",
          .target = target,
          .help = "end " + std::string(what) + " after S seconds, with exit status 4",
          .value = "S",
          .positive = true};
}

}  // namespace hloscope::app
