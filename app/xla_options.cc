// The options behind which flags of XLA come.
#include "app/xla_options.h"

#include <utility>

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

}  // namespace hloscope::app
