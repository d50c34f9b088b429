// Facts of this machine from /proc, and its plugins.
#include "core/debug/bundle/machine.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "core/backends/jaxlib/find_jaxlib.h"
#include "core/backends/plugins/plugins.h"
#include "core/base/jobs.h"
#include "core/base/machine_memory.h"
#include "core/replay/platform_table.h"

namespace hloscope::debug {
namespace {

// As /proc/cpuinfo of x86 and Arm calls them.
constexpr std::string_view kFeatures[] = {
    "sse4_1",      "sse4_2",      "avx",      "f16c",     "fma",      "avx2",
    "avx_vnni",    "avx512f",     "avx512bw", "avx512dq", "avx512vl", "avx512_vnni",
    "avx512_bf16", "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16", "amx_fp16",
    "asimd",       "asimdhp",     "bf16",     "i8mm",     "sve",      "sve2"};

std::string Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\"");
  const size_t end = text.find_last_not_of(" \t\"\n");
  return begin == std::string_view::npos ? "" : std::string(text.substr(begin, end - begin + 1));
}

void ReadProcessor(const std::string& path, MachineFacts& facts) {
  std::ifstream file(path);
  std::set<std::string> flags;
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key = Trimmed(line.substr(0, colon)), value = Trimmed(line.substr(colon + 1));
    if (facts.processor.empty() && key == "model name") facts.processor = value;
    if (!flags.empty() || (key != "flags" && key != "Features")) continue;
    std::istringstream words(value);
    for (std::string word; words >> word;) flags.insert(word);
  }
  for (const std::string_view feature : kFeatures) {
    if (flags.contains(std::string(feature))) facts.cpu_features.emplace_back(feature);
  }
}

}  // namespace

std::string ToString(const PluginFacts& plugin) {
  const std::string name =
      plugin.distribution.empty() ? "a plugin for " + plugin.platform : plugin.distribution;
  return plugin.version.empty() ? name : name + " " + plugin.version;
}

std::vector<UsedPlatform> PlatformsOf(const RunSpec& request) {
  std::vector<UsedPlatform> used = {{request.test.name, ""}};
  if (!request.reference.name.empty()) {
    used.push_back({request.reference.name, request.reference.python});
  }
  return used;
}

MachineFacts ReadMachineFacts(std::span<const UsedPlatform> platforms, const std::string& root) {
  MachineFacts facts;
  facts.cpus = AvailableCpus();
  ReadProcessor(root + "/proc/cpuinfo", facts);
  std::ifstream release(root + "/etc/os-release");
  for (std::string line; std::getline(release, line);) {
    if (line.starts_with("PRETTY_NAME=")) facts.system = Trimmed(line.substr(line.find('=') + 1));
  }
  facts.memory_bytes = MachineMemoryBytes();
  for (const UsedPlatform& used : platforms) {
    const replay::PlatformRow* row = replay::FindPlatform(used.name);
    if (row == nullptr) continue;
    if (row->Has(replay::kNeedsPlugin)) {
      const auto plugin = replay::ResolvePlugin(used.name, {used.python});
      if (plugin) facts.plugins.push_back({used.name, plugin->distribution, plugin->version});
    } else if (row->Has(replay::kNeedsPython)) {
      const auto place = replay::ResolveJaxlib({used.python});
      if (place) facts.plugins.push_back({used.name, used.name, place->version});
    }
  }
  return facts;
}

}  // namespace hloscope::debug
