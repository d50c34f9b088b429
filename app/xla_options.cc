// The options behind which flags of XLA come.
#include "app/xla_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "core/debug/record/flag_text.h"
#include "core/replay/platform_table.h"

namespace hloscope::app {

std::vector<OptionSpec> XlaOptions::Specs(std::string_view whose) {
  return {
      {.name = "--debug_options_file",
       .target = &file_,
       .help = "XLA flags from a DebugOptions file in text form",
       .value = "FILE"},
      {.name = std::string(kXlaFlags),
       .target = &flags_,
       .help = "XLA flags" + std::string(whose) + ", as in XLA_FLAGS: --xla_name=value"},
  };
}

Result<replay::pjrt::XlaFlags> XlaOptions::Flags(const Limits& limits) const {
  replay::pjrt::XlaFlags flags;
  if (!file_.empty()) {
    HLOSCOPE_ASSIGN_OR_RETURN(flags, replay::pjrt::ReadDebugOptionsFile(file_, limits));
  }
  for (const std::string& flag : flags_) {
    const size_t equals = flag.find('=');
    std::string name = flag.substr(0, equals);
    std::erase_if(flags, [&](const auto& known) { return known.first == name; });
    flags.emplace_back(std::move(name), flag.substr(equals + 1));
  }
  return flags;
}

namespace {

// Of a value without a flag: XLA takes what does not begin with a dash as the name of a file.
std::string UnreadFlags(const std::string& given) {
  const size_t first = given.find_first_not_of(" \t\n");
  if (first == std::string::npos || given[first] == '-') return {};
  std::ifstream file(given);
  file.peek();  // a folder opens, and is not read
  if (file.is_open() && !file.bad()) return {};
  return fmt::format(
      "XLA_FLAGS of the environment names the file {}, which cannot be read: no flag of it counts",
      given);
}

}  // namespace

std::string XlaOptions::UnusedEnvironment(std::string_view why) {
  const char* const set = std::getenv("XLA_FLAGS");
  if (set == nullptr || std::string_view(set).find_first_not_of(" \t\n") == std::string_view::npos)
    return {};
  return fmt::format("XLA_FLAGS of the environment is not used: {}", why);
}

std::string XlaOptions::AddEnvironment(std::string_view platform, replay::pjrt::XlaFlags& flags) {
  const char* const set = std::getenv("XLA_FLAGS");
  const std::string given = set == nullptr ? "" : set;
  const std::vector<std::string> words = debug::FlagsOf(given);
  if (words.empty()) return UnreadFlags(given);
  const replay::PlatformRow* const row = replay::FindPlatform(platform);
  if (row == nullptr || !row->Has(replay::kXlaFlags)) {
    if (platform.empty())
      return "XLA_FLAGS of the environment is not used: --platform names no platform";
    return fmt::format("XLA_FLAGS of the environment has no effect on {}", platform);
  }
  std::vector<std::string_view> used, left;
  for (const std::string& word : words) {
    constexpr std::string_view kDashes = "--";
    if (!word.starts_with(kDashes)) {
      left.push_back(word);
      continue;
    }
    const std::string_view flag = std::string_view(word).substr(kDashes.size());
    const size_t equals = std::min(flag.find('='), flag.size());
    const std::string_view name = flag.substr(0, equals);
    const bool is_known =
        std::ranges::find(flags, name, &std::pair<std::string, std::string>::first) != flags.end();
    // Dumps are asked for by --dump; the devices are those of the run.
    const bool is_ours =
        name.starts_with("xla_dump_") || name == "xla_force_host_platform_device_count";
    (is_known || is_ours ? left : used).push_back(word);
    if (is_known || is_ours) continue;
    flags.emplace_back(name, equals == flag.size() ? "true" : flag.substr(equals + 1));
  }
  std::string text = "XLA_FLAGS of the environment: ";
  if (!used.empty()) text += fmt::format("{} used", fmt::join(used, " "));
  if (!left.empty())
    text += fmt::format("{}{} left out", used.empty() ? "" : ", ", fmt::join(left, " "));
  return text;
}

}  // namespace hloscope::app
