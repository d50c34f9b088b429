// The model of launch_figures.h, launch by launch, for each device.
#include "profiler/what_if.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace hloscope::profiler {
namespace {

// The numbers behind `key`, with commas between.
std::vector<double> NumbersAfter(std::string_view text, std::string_view key) {
  std::vector<double> numbers;
  const size_t at = text.find(key);
  if (at == std::string_view::npos) return numbers;
  const char* position = text.data() + at + key.size();
  const char* const end = text.data() + text.size();
  while (position < end) {
    double value = 0;
    const auto [stopped, error] = std::from_chars(position, end, value);
    if (error != std::errc()) break;
    numbers.push_back(value);
    if (stopped == end || *stopped != ',') break;
    position = stopped + 1;
  }
  return numbers;
}

double FirstAfter(std::string_view text, std::string_view key) {
  const std::vector<double> numbers = NumbersAfter(text, key);
  return numbers.empty() ? 0 : numbers[0];
}

uint64_t ProductAfter(std::string_view text, std::string_view key) {
  const std::vector<double> numbers = NumbersAfter(text, key);
  if (numbers.empty()) return 0;
  constexpr double kMax = 9e15;
  double product = 1;
  for (const double number : numbers) product *= std::max(number, 0.0);
  return static_cast<uint64_t>(std::min(product, kMax));
}

constexpr size_t kBounds = static_cast<size_t>(ModelBound::kCount);

// Of one instruction on one device.
struct Sums {
  DeviceEstimate estimate;
  std::array<double, kBounds> by_bound = {};

  void Add(const LaunchFigures& figures, const KernelDetails& details, const DeviceFacts& device) {
    const LaunchModel model = ModelOf(figures, details, device);
    ++estimate.launches;
    estimate.us += 1e6 * model.seconds;
    by_bound[static_cast<size_t>(model.bound)] += model.seconds;
    estimate.occupancy = Occupancy(device, static_cast<double>(details.threads), details.registers,
                                   details.shared_bytes);
    estimate.counts_registers = details.registers > 0;
    estimate.multiprocessors = std::min(device.cores, static_cast<double>(details.blocks));
  }
};

}  // namespace

KernelDetails DetailsOf(std::span<const Argument> arguments) {
  KernelDetails details;
  for (const Argument& argument : arguments) {
    const auto* text = std::get_if<std::string>(&argument.value);
    if (argument.name != "kernel_details" || text == nullptr) continue;
    details.registers = FirstAfter(*text, "regs:");
    details.shared_bytes =
        FirstAfter(*text, "static_shared:") + FirstAfter(*text, "dynamic_shared:");
    details.blocks = ProductAfter(*text, "grid:");
    details.threads = ProductAfter(*text, "block:");
  }
  return details;
}

std::vector<WhatIf> WhatIfOn(const Attribution& attribution,
                             const std::vector<DeviceFacts>& devices) {
  std::vector<std::map<size_t, Sums>> sums(devices.size());
  const EventStore& store = attribution.store();
  const auto times = attribution.times();
  for (uint32_t e = 0; e < store.size(); ++e) {
    const Target target = attribution.TargetOf(EventId(e));
    if (!target.valid()) continue;
    const InstructionTime* time = attribution.TimeOf(target.module, target.instruction);
    if (time == nullptr) continue;
    const std::vector<Argument> arguments = store.Arguments(EventId(e));
    const auto figures = FiguresOf(arguments);
    if (!figures) continue;
    const KernelDetails details = DetailsOf(arguments);
    const auto index = static_cast<size_t>(time - times.data());
    for (size_t d = 0; d < devices.size(); ++d) sums[d][index].Add(*figures, details, devices[d]);
  }
  std::vector<WhatIf> all;
  for (size_t d = 0; d < devices.size(); ++d) {
    WhatIf& what_if = all.emplace_back(devices[d]);
    for (auto& [index, sum] : sums[d]) {
      sum.estimate.time = index;
      const auto most = std::ranges::max_element(sum.by_bound);
      sum.estimate.bound = static_cast<ModelBound>(most - sum.by_bound.begin());
      what_if.us += sum.estimate.us;
      what_if.estimates.push_back(sum.estimate);
    }
    std::ranges::stable_sort(what_if.estimates, std::greater(), &DeviceEstimate::us);
  }
  return all;
}

}  // namespace hloscope::profiler
