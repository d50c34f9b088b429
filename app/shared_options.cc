// The options that several commands have.
#include "app/shared_options.h"

#include <utility>

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

OptionSpec FillElidedOption(OptionSpec::Target target) {
  return {.name = "--fill-elided",
          .target = target,
          .help = "generate the values of constants that the file elides, from this seed",
          .value = "SEED"};
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
              "search this Python environment alone for XLA's plugins and jaxlib; of several, "
              "A,B, find the first whose results differ",
          .value = "PATH",
          .commas = true};
}

OptionSpec DeadlineOption(OptionSpec::Target target, std::string_view what) {
  return {.name = "--deadline",
          .target = target,
          .help = "end " + std::string(what) + " after S seconds, with exit status 4",
          .value = "S"};
}

OptionSpec AbsoluteBoundOption(OptionSpec::Target target) {
  return {.name = "--abs_error_bound",
          .target = target,
          .help =
              "absolute tolerance; an element mismatches if it exceeds both, which follow the "
              "element type by default",
          .value = "X"};
}

OptionSpec RelativeBoundOption(OptionSpec::Target target) {
  return {.name = "--rel_error_bound",
          .target = target,
          .help = "relative tolerance; see --abs_error_bound",
          .value = "X"};
}

OptionSpec WithGroup(std::string_view group, OptionSpec spec) {
  spec.group = group;
  return spec;
}

}  // namespace hloscope::app
