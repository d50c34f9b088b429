// Figures of launches: shares, the model of a device, and where they stand in a trace.
#include "profiler/launch_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace hloscope::profiler {
namespace {

constexpr double kLanes = 32, kSectorBytes = 32;
// Constants of the model; docs/gpu-model.md has their sources. The first: instructions of warps
// that a multiprocessor starts in a clock.
constexpr double kSchedulers = 4;
constexpr double kLaunchSeconds = 1e-6;
constexpr double kLoadClocks = 478.8;       // global memory, caches cold
constexpr double kLoadsInFlight = 6;        // of a warp
constexpr double kInstructionClocks = 2;    // between two of a warp
constexpr double kDataBytesPerClock = 128;  // of L1 and shared memory in a multiprocessor

struct FigureName {
  uint64_t LaunchFigures::* field;
  std::string_view name;
};
constexpr std::array kNames = {
#define LAUNCH_FIGURE(field, name, metric) FigureName{&LaunchFigures::field, name},
#include "profiler/launch_figures.def"
#undef LAUNCH_FIGURE
};

uint64_t CountOf(const Argument& argument) {
  if (const auto* count = std::get_if<uint64_t>(&argument.value)) return *count;
  const auto* number = std::get_if<int64_t>(&argument.value);
  return number != nullptr && *number > 0 ? static_cast<uint64_t>(*number) : 0;
}

}  // namespace

std::string_view ToString(ModelBound bound) {
  static constexpr std::array kTexts = {
#define MODEL_BOUND(bound, text) std::string_view(text),
#include "profiler/model_bounds.def"
#undef MODEL_BOUND
  };
  return kTexts[static_cast<size_t>(bound)];
}

double LaunchFigures::active_lanes() const {
  if (warp_instructions == 0) return 1;
  return static_cast<double>(threads()) / (kLanes * static_cast<double>(warp_instructions));
}

double LaunchFigures::coalesced() const {
  if (sectors() == 0) return 1;
  const auto asked = static_cast<double>(global_read_bytes + global_written_bytes);
  return std::min(1.0, asked / (kSectorBytes * static_cast<double>(sectors())));
}

void LaunchFigures::Add(const LaunchFigures& other) {
  for (const FigureName& row : kNames) this->*row.field += other.*row.field;
}

namespace {

double Number(uint64_t count) { return static_cast<double>(count); }

// The longest of several.
struct Longest {
  double seconds = 0;
  ModelBound bound = ModelBound::kNone;

  void Take(double amount, double per_second, ModelBound of) {
    if (amount <= 0 || per_second <= 0 || amount / per_second <= seconds) return;
    seconds = amount / per_second;
    bound = of;
  }
};

// What units do at their peaks, `share` of all multiprocessors at work. Each unit by itself; tensor
// cores work on one type after the other.
Longest AtPeaks(const LaunchFigures& figures, double share, const DeviceFacts& device) {
  Longest longest;
  longest.Take(Number(figures.touched_bytes), device.bytes_per_second, ModelBound::kMemory);
  double tensor = 0;
  const std::pair<uint64_t, double> products[] = {{figures.products_f64, device.products_f64},
                                                  {figures.products_tf32, device.products_tf32},
                                                  {figures.products_16bit, device.products_16bit},
                                                  {figures.products_8bit, device.products_8bit},
                                                  {figures.products_4bit, device.products_4bit}};
  for (const auto& [count, per_second] : products) {
    if (count > 0 && per_second > 0) tensor += Number(count) / per_second;
  }
  longest.Take(tensor, share, ModelBound::kTensorCores);
  longest.Take(Number(figures.float_operations), share * device.flops_per_second,
               ModelBound::kArithmetic);
  longest.Take(Number(figures.double_operations), share * device.doubles_per_second,
               ModelBound::kDoubles);
  return longest;
}

// Clocks that a warp takes by itself.
double WarpClocks(const LaunchFigures& figures, double warps) {
  return kInstructionClocks * Number(figures.warp_instructions) / warps +
         kLoadClocks * std::ceil(Number(figures.global_loads) / warps / kLoadsInFlight);
}

}  // namespace

LaunchModel ModelOf(const LaunchFigures& figures, const KernelDetails& details,
                    const DeviceFacts& device) {
  if (device.cores <= 0 && device.bytes_per_second <= 0) return {};
  const double blocks = Number(details.blocks);
  Longest peak = AtPeaks(figures, 1, device);
  peak.Take(Number(figures.warp_instructions),
            std::min(blocks, device.cores) * kSchedulers * device.clock_hz,
            ModelBound::kInstructions);
  if (blocks <= 0 || device.cores <= 0) {
    const double at_peaks = peak.seconds;
    peak.Take(kLaunchSeconds, 1, ModelBound::kLaunch);
    return {peak.seconds, at_peaks, peak.bound};
  }
  // The multiprocessor with the most blocks is done last.
  const double most = std::ceil(blocks / device.cores);
  const double busy = blocks / most;
  Longest longest = AtPeaks(figures, busy / device.cores, device);
  const double warps = std::ceil(Number(details.threads) / kLanes);
  const double clocks = busy * device.clock_hz;
  const double resident =
      ResidentBlocks(device, Number(details.threads), details.registers, details.shared_bytes);
  double schedulers = kSchedulers;
  if (resident >= 1) {
    schedulers = std::min(schedulers, std::min(most, resident) * warps);
    longest.Take(std::ceil(most / resident) * WarpClocks(figures, blocks * warps), device.clock_hz,
                 ModelBound::kLatency);
  }
  longest.Take(Number(figures.warp_instructions), schedulers * clocks, ModelBound::kInstructions);
  const double data = kSectorBytes * Number(figures.sectors()) +
                      Number(figures.shared_read_bytes + figures.shared_written_bytes) +
                      kDataBytesPerClock * Number(figures.conflicts());
  longest.Take(data, kDataBytesPerClock * clocks, ModelBound::kData);
  return {kLaunchSeconds + longest.seconds, peak.seconds,
          longest.seconds < kLaunchSeconds ? ModelBound::kLaunch : longest.bound};
}

void AppendFigures(const LaunchFigures& figures, std::vector<Argument>& arguments) {
  for (const FigureName& row : kNames) {
    if (figures.*row.field != 0) arguments.push_back({std::string(row.name), figures.*row.field});
  }
}

std::optional<LaunchFigures> FiguresOf(std::span<const Argument> arguments) {
  std::optional<LaunchFigures> figures;
  for (const Argument& argument : arguments) {
    const auto row = std::ranges::find(kNames, argument.name, &FigureName::name);
    if (row == kNames.end()) continue;
    if (!figures) figures.emplace();
    (*figures).*row->field = CountOf(argument);
  }
  return figures;
}

}  // namespace hloscope::profiler
