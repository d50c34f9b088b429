// Flags, passes and Python of the reference.
#include "core/debug/run/reference_options.h"

#include <string>
#include <string_view>

namespace hloscope::debug {

void TakeReferenceOptions(const RunRequest& request, replay::RunOptions& options) {
  options.run_passes = request.reference_passes;
  options.xla_flags = {{"xla_cpu_enable_fast_math", "false"},
                       {"xla_cpu_enable_fast_min_max", "false"},
                       {"xla_gpu_enable_fast_min_max", "false"}};
  for (const auto& flag : request.reference_flags) {
    std::erase_if(options.xla_flags, [&](const auto& own) { return own.first == flag.first; });
    options.xla_flags.push_back(flag);
  }
  if (request.reference_python.empty()) return;
  constexpr std::string_view kPython = "HLOSCOPE_PYTHON=";
  std::erase_if(options.environment,
                [&](const std::string& own) { return own.starts_with(kPython); });
  options.environment.push_back(std::string(kPython) + request.reference_python);
}

}  // namespace hloscope::debug
