#include "core/backends/compiled/how_to_compile.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/hlo/sharding/manual_region.h"
#include "core/hlo/sharding/topology.h"
#include "core/linking/processor.h"
#include "core/replay/run_targets.h"

namespace hloscope::replay {
namespace {

// "a,b" as two.
void AppendParts(std::string_view text, std::vector<std::string>& out) {
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) out.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

}  // namespace

compile::CompileOptions HowToCompile(const hlo::Module& module, const RunOptions& options,
                                     bool keep_values) {
  const hlo::Topology topology = hlo::TopologyOf(module, options.limits.devices);
  compile::CompileOptions how;
  for (const auto& [name, value] : options.platform.xla_flags) {
    if (name == kDisablePassesFlag) AppendParts(value, how.disabled_passes);
  }
  how.keep_values = keep_values;
  how.byte_kernels = linking::HasByteProducts();
  how.is_unpartitioned =
      topology.unpartitioned && topology.has_device_work && !hlo::AreValuesOwn(module);
  return how;
}

}  // namespace hloscope::replay
