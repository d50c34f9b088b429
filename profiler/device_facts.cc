// Figures of devices out of target configurations and traces.
#include "profiler/device_facts.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace hloscope::profiler {
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

// The part between the brackets behind `key`; empty where there is none.
std::string_view BlockAfter(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  const size_t open = at == std::string_view::npos ? at : text.find('{', at);
  if (open == std::string_view::npos) return {};
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return text.substr(open + 1, i - open - 1);
  }
  return {};
}

// Operations a second of all units for an element type, by its number in xla.PrimitiveType.
double RateOf(std::string_view units, double cores, int type) {
  constexpr std::string_view kEntry = "rate_infos";
  for (size_t at = units.find(kEntry); at != std::string_view::npos;
       at = units.find(kEntry, at + 1)) {
    const std::string_view entry = BlockAfter(units.substr(at), kEntry);
    if (static_cast<int>(NumberAfter(entry, "key")) != type) continue;
    return cores * NumberAfter(entry, "units_per_core") * NumberAfter(entry, "ops_per_clock") *
           NumberAfter(entry, "clock_rate_ghz") * 1e9;
  }
  return 0;
}

// Between quotation marks behind `key:`.
std::string TextAfter(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return {};
  const size_t begin = text.find('"', at), end = text.find('"', begin + 1);
  if (begin == std::string_view::npos || end == std::string_view::npos) return {};
  return std::string(text.substr(begin + 1, end - begin - 1));
}

}  // namespace

DeviceFacts FactsFromTarget(std::string_view config) {
  constexpr double kMultiplyAdd = 2;
  DeviceFacts facts;
  facts.name = TextAfter(config, "device_description_str:");
  facts.cores = NumberAfter(config, "core_count");
  facts.clock_hz = NumberAfter(config, "clock_rate_ghz") * 1e9;
  const std::string_view scalar = BlockAfter(config, "scalar_unit_description");
  const std::string_view matrix = BlockAfter(config, "matrix_unit_description");
  constexpr int kS8 = 2, kF16 = 10, kF32 = 11, kF64 = 12, kF4 = 32;  // of xla.PrimitiveType
  facts.doubles_per_second = kMultiplyAdd * RateOf(scalar, facts.cores, kF64);
  facts.products_f64 = RateOf(matrix, facts.cores, kF64);
  facts.products_tf32 = RateOf(matrix, facts.cores, kF32);
  facts.products_16bit = RateOf(matrix, facts.cores, kF16);
  facts.products_8bit = RateOf(matrix, facts.cores, kS8);
  facts.products_4bit = RateOf(matrix, facts.cores, kF4);
  facts.bytes_per_second = NumberAfter(config, "memory_bandwidth");
  facts.flops_per_second =
      facts.cores * NumberAfter(config, "fpus_per_core") * facts.clock_hz * kMultiplyAdd;
  facts.threads_per_core = NumberAfter(config, "threads_per_core_limit");
  facts.shared_bytes_per_core = NumberAfter(config, "shared_memory_per_core");
  facts.registers_per_core = NumberAfter(config, "registers_per_core_limit");
  facts.blocks_per_core = NumberAfter(config, "max_blocks_per_multiprocessor");
  facts.reserved_shared_bytes = NumberAfter(config, "reserved_shared_memory_per_block");
  return facts;
}

DeviceFacts FactsFromTrace(const EventStore& store) {
  DeviceFacts facts;
  for (const Group& group : store.groups()) {
    if (!group.is_device) continue;
    for (const Argument& fact : group.facts) {
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

double ResidentBlocks(const DeviceFacts& device, double threads_per_block,
                      double registers_per_thread, double shared_bytes_per_block) {
  if (device.threads_per_core <= 0 || threads_per_block <= 0) return -1;
  constexpr double kWarp = 32, kUnit = 256;
  const double warps = std::ceil(threads_per_block / kWarp);
  double blocks = std::floor(device.threads_per_core / (warps * kWarp));
  const auto limit = [&](double has, double of_each) {
    if (has > 0 && of_each > 0) blocks = std::min(blocks, std::floor(has / of_each));
  };
  limit(device.blocks_per_core, 1);
  limit(device.shared_bytes_per_core, shared_bytes_per_block + device.reserved_shared_bytes);
  limit(device.registers_per_core, std::ceil(registers_per_thread * kWarp / kUnit) * kUnit * warps);
  return blocks;
}

double Occupancy(const DeviceFacts& device, double threads_per_block, double registers_per_thread,
                 double shared_bytes_per_block) {
  const double blocks =
      ResidentBlocks(device, threads_per_block, registers_per_thread, shared_bytes_per_block);
  if (blocks < 0) return -1;
  return std::clamp(blocks * threads_per_block / device.threads_per_core, 0.0, 1.0);
}

}  // namespace hloscope::profiler
