// Figures of launches: shares, the model of a device, and where they stand in a trace.
#include "profiler/launch_figures.h"

#include <algorithm>
#include <array>
#include <utility>

namespace hloscope::profiler {
namespace {

constexpr double kLanes = 32, kSectorBytes = 32;
// Instructions of warps that a multiprocessor starts in a clock, since sm_70.
constexpr double kSchedulers = 4;

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

LaunchModel ModelOf(const LaunchFigures& figures, uint64_t blocks, const DeviceFacts& device) {
  LaunchModel model;
  const auto take = [&](double amount, double per_second, ModelBound bound) {
    if (amount <= 0 || per_second <= 0 || amount / per_second <= model.seconds) return;
    model = {amount / per_second, bound};
  };
  const auto number = [](uint64_t count) { return static_cast<double>(count); };
  take(number(figures.touched_bytes), device.bytes_per_second, ModelBound::kMemory);
  // Each unit by itself; tensor cores work on one type after the other.
  double tensor = 0;
  const std::pair<uint64_t, double> products[] = {{figures.products_f64, device.products_f64},
                                                  {figures.products_tf32, device.products_tf32},
                                                  {figures.products_16bit, device.products_16bit},
                                                  {figures.products_8bit, device.products_8bit},
                                                  {figures.products_4bit, device.products_4bit}};
  for (const auto& [count, per_second] : products) {
    if (count > 0 && per_second > 0) tensor += number(count) / per_second;
  }
  take(tensor, 1, ModelBound::kTensorCores);
  take(number(figures.float_operations), device.flops_per_second, ModelBound::kArithmetic);
  take(number(figures.double_operations), device.doubles_per_second, ModelBound::kDoubles);
  const double busy = std::min(number(blocks), device.cores);
  take(number(figures.warp_instructions), busy * kSchedulers * device.clock_hz,
       ModelBound::kInstructions);
  return model;
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
