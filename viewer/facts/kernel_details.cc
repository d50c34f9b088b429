// Details of launches, and the model of other devices.
#include "viewer/facts/kernel_details.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/replay/gpu_targets.h"
#include "profiler/what_if.h"

namespace hloscope::viewer {
namespace {

// "regs:32 static_shared:0 grid:4,1,1 block:128,1,1 occ_pct:100": the number after a key.
std::optional<double> DetailOf(std::string_view details, std::string_view key) {
  const size_t at = details.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  double value = 0;
  const char* first = details.data() + at + key.size();
  if (std::from_chars(first, details.data() + details.size(), value).ec != std::errc()) {
    return std::nullopt;
  }
  return value;
}

std::optional<dump::Extent3> ExtentOf(std::string_view details, std::string_view key) {
  const size_t at = details.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  dump::Extent3 extent{};
  const char* position = details.data() + at + key.size();
  const char* end = details.data() + details.size();
  for (int64_t& size : extent) {
    auto [stopped, error] = std::from_chars(position, end, size);
    if (error != std::errc()) return std::nullopt;
    position = stopped == end ? end : stopped + 1;
  }
  return extent;
}

}  // namespace

void AddDetails(const profiler::EventStore& store, KernelRow& row) {
  for (const profiler::Argument& argument : store.Arguments(row.longest)) {
    const auto* text = std::get_if<std::string>(&argument.value);
    const auto* real = std::get_if<double>(&argument.value);
    if (argument.name == "theoretical_occupancy_pct" && real != nullptr) {
      row.occupancy = *real / 100;
      row.is_occupancy_bound = false;
    }
    if (argument.name != "kernel_details" || text == nullptr) continue;
    if (auto registers = DetailOf(*text, "regs:")) row.registers = std::llround(*registers);
    const double shared = DetailOf(*text, "static_shared:").value_or(0) +
                          DetailOf(*text, "dynamic_shared:").value_or(0);
    if (text->find("shared:") != std::string::npos) row.shared_bytes = std::llround(shared);
    if (auto blocks = ExtentOf(*text, "grid:")) row.launch.blocks = blocks;
    if (auto threads = ExtentOf(*text, "block:")) row.launch.threads = threads;
    if (auto percent = DetailOf(*text, "occ_pct:")) {
      row.occupancy = *percent / 100;
      row.is_occupancy_bound = false;
    }
  }
}

std::vector<std::vector<KernelElsewhere>> ElsewhereOf(const profiler::Attribution& attribution) {
  std::vector<profiler::DeviceFacts> devices;
  for (const std::string& name : replay::GpuTargetNames()) {
    const auto described = replay::ReadGpuTarget(name, Limits());
    if (described.has_value()) devices.push_back(profiler::FactsFromTarget(*described));
  }
  std::vector<std::vector<KernelElsewhere>> out(attribution.times().size());
  for (const profiler::WhatIf& what_if : profiler::WhatIfOn(attribution, devices)) {
    for (const profiler::DeviceEstimate& estimate : what_if.estimates) {
      out[estimate.time].push_back({what_if.device.name, std::string(ToString(estimate.bound)),
                                    estimate.us, estimate.occupancy, !estimate.counts_registers});
    }
  }
  for (std::vector<KernelElsewhere>& row : out) {
    std::ranges::stable_sort(row, {}, &KernelElsewhere::us);
  }
  return out;
}

}  // namespace hloscope::viewer
