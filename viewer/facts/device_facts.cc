// Figures of devices out of target configurations and traces.
#include "viewer/facts/device_facts.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace hloscope::viewer {
namespace {

// The number behind the first `key:` that begins a line; 0 where there is none.
double NumberAfter(std::string_view text, std::string_view key) {
  for (size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    const size_t colon = at + key.size();
    const bool begins = at == 0 || text[at - 1] == ' ' || text[at - 1] == '\n';
    if (!begins || colon >= text.size() || text[colon] != ':') continue;
    size_t first = colon + 1;
    while (first < text.size() && text[first] == ' ') ++first;
    double value = 0;
    const char* end = text.data() + text.size();
    if (std::from_chars(text.data() + first, end, value).ec == std::errc()) return value;
  }
  return 0;
}

}  // namespace

DeviceFacts FactsFromTarget(std::string_view config) {
  constexpr double kMultiplyAdd = 2;
  DeviceFacts facts;
  facts.bytes_per_second = NumberAfter(config, "memory_bandwidth");
  facts.flops_per_second = NumberAfter(config, "core_count") *
                           NumberAfter(config, "fpus_per_core") *
                           NumberAfter(config, "clock_rate_ghz") * 1e9 * kMultiplyAdd;
  facts.threads_per_core = NumberAfter(config, "threads_per_core_limit");
  facts.shared_bytes_per_core = NumberAfter(config, "shared_memory_per_core");
  facts.registers_per_core = NumberAfter(config, "registers_per_core_limit");
  return facts;
}

DeviceFacts FactsFromTrace(const profiler::EventStore& store) {
  DeviceFacts facts;
  for (const profiler::Group& group : store.groups()) {
    if (!group.is_device) continue;
    for (const profiler::Argument& fact : group.facts) {
      const double value = NumberOf(fact).value_or(0);
      if (fact.name == "peak_teraflops_per_second") facts.flops_per_second = value * 1e12;
      if (fact.name == "peak_hbm_bw_gigabytes_per_second") facts.bytes_per_second = value * 1e9;
    }
    if (facts.flops_per_second > 0 || facts.bytes_per_second > 0) {
      facts.source = "the trace";
      break;
    }
  }
  return facts;
}

DeviceFacts FactsFromDump(const dump::DumpModel& dump, int32_t module) {
  int32_t found = -1;
  for (size_t f = 0; f < dump.files().size(); ++f) {
    const dump::FileEntry& file = dump.files()[f];
    if (file.path.find("gpu_target_config") == std::string::npos) continue;
    if (found < 0 || file.module == module) found = static_cast<int32_t>(f);
    if (file.module == module) break;
  }
  if (found < 0) return {};
  auto file = dump.OpenFile(found);
  if (!file) return {};
  DeviceFacts facts = FactsFromTarget(file->bytes());
  facts.source = dump.files()[static_cast<size_t>(found)].path;
  return facts;
}

double Occupancy(const DeviceFacts& device, double threads_per_block, double registers_per_thread,
                 double shared_bytes_per_block) {
  if (device.threads_per_core <= 0 || threads_per_block <= 0) return -1;
  double blocks = std::floor(device.threads_per_core / threads_per_block);
  if (shared_bytes_per_block > 0 && device.shared_bytes_per_core > 0) {
    blocks = std::min(blocks, std::floor(device.shared_bytes_per_core / shared_bytes_per_block));
  }
  const double registers = registers_per_thread * threads_per_block;
  if (registers > 0 && device.registers_per_core > 0) {
    blocks = std::min(blocks, std::floor(device.registers_per_core / registers));
  }
  return std::clamp(blocks * threads_per_block / device.threads_per_core, 0.0, 1.0);
}

}  // namespace hloscope::viewer
