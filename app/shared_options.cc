// The options that several commands have.
#include "app/shared_options.h"

#include <utility>

#include "app/option_kinds.h"
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

OptionSpec SeveralPythonsOption(std::vector<std::string>* target) {
  return {.name = "--python",
          .target = target,
          .help =
              "search this Python environment alone for XLA's plugins and jaxlib; of several, A,B, "
              "find the first whose results differ",
          .value = "PATH",
          .commas = true};
}

OptionSpec DeadlineOption(OptionSpec::Target target, std::string_view what) {
  return {.name = "--deadline",
          .target = target,
          .help = "end " + std::string(what) + " after S seconds, with exit status 4",
          .value = "S",
          .positive = true};
}

}  // namespace hloscope::app
