// What rows of the table of kernels have from the arguments of their events and from the model of
// other devices; their figures in words.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "core/base/counted.h"
#include "core/graph/count_text.h"
#include "core/replay/gpu_targets.h"
#include "profiler/what_if.h"
#include "viewer/facts/kernel_sheet.h"
#include "viewer/model/number_text.h"
#include "viewer/model/timeline_camera.h"

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

double KernelRow::flops_per_second() const {
  return mean() == 0 ? 0 : (cost.flops + cost.transcendentals) / (mean() * 1e-12);
}
double KernelRow::bytes_per_second() const {
  return mean() == 0 ? 0 : cost.bytes() / (mean() * 1e-12);
}

std::string SimulationText(const KernelSheet& sheet) {
  std::string note(profiler::kSimulatedTimes);
  const auto row = std::ranges::find_if(
      sheet.rows, [](const KernelRow& r) { return !r.sums.model_device.empty(); });
  if (row != sheet.rows.end()) {
    note += fmt::format("; modelled time of all launches: {} on {}", TimeText(1e6 * sheet.model_us),
                        row->sums.model_device);
  }
  std::map<std::string, double> elsewhere;
  for (const KernelRow& r : sheet.rows) {
    for (const KernelElsewhere& e : r.elsewhere) elsewhere[e.device] += e.us;
  }
  for (const auto& [device, us] : elsewhere) {
    if (row != sheet.rows.end() && device == row->sums.model_device) continue;
    note += fmt::format(", {} on {}", TimeText(1e6 * us), device);
  }
  return note;
}

std::string LaunchText(const KernelRow& row) {
  if (row.sums.launches == 0) return {};
  const profiler::LaunchFigures& figures = row.sums.figures;
  const auto count = [&](uint64_t sum) {
    return CountText(std::llround(row.PerLaunch(static_cast<double>(sum))));
  };
  std::string text = fmt::format("{} warp instructions, {:.0f} % active lanes",
                                 count(figures.warp_instructions), 100 * figures.active_lanes());
  if (figures.sectors() > 0) {
    text += fmt::format("; {} global memory sectors, {:.0f} % of their bytes used",
                        count(figures.sectors()), 100 * figures.coalesced());
  }
  if (figures.shared_read_bytes + figures.shared_written_bytes > 0) {
    text += fmt::format("; {} bank conflicts", count(figures.conflicts()));
  }
  if (figures.products() > 0) {
    text += fmt::format("; {} tensor core multiply-adds", count(figures.products()));
  }
  if (figures.padding_bytes > 0) {
    text += fmt::format("; {} read past the end of an argument",
                        BytesText(static_cast<int64_t>(figures.padding_bytes)));
  }
  if (row.model_us() > 0) {
    text += fmt::format("; model: {} on {}, bound by {}", TimeText(1e6 * row.model_us()),
                        row.sums.model_device, row.sums.bound);
  }
  return text;
}

std::string ElsewhereText(const KernelRow& row) {
  std::string text;
  for (const KernelElsewhere& e : row.elsewhere) {
    text += fmt::format("{}{} {} ({}", text.empty() ? "modelled: " : ", ", e.device,
                        TimeText(1e6 * e.us), e.bound);
    if (e.occupancy >= 0) {
      text += fmt::format(", occupancy {}{:.0f} %", e.is_occupancy_bound ? "at most " : "",
                          100 * e.occupancy);
    }
    text += ')';
  }
  return text;
}

std::string TimeShareText(const KernelSheet& sheet, const KernelRow& row) {
  if (row.count == 0) return {};
  if (sheet.is_simulated && row.model_us() > 0) {
    return fmt::format("{:.1f} % of modelled time: {} in {}",
                       100 * row.sums.model_us / sheet.model_us, TimeText(1e6 * row.sums.model_us),
                       CountedText(row.sums.launches, "launch", "launches"));
  }
  const double share =
      static_cast<double>(row.self) / static_cast<double>(std::max<int64_t>(sheet.work, 1));
  return fmt::format("{:.1f} % of the time: {} in {}", 100 * share,
                     TimeText(static_cast<double>(row.self)), CountedText(row.count, "event"));
}

}  // namespace hloscope::viewer
