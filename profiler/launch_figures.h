// LaunchFigures: what a launch of a kernel was counted to do, as arguments of its event, and what
// it would take on a device at least.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "profiler/device_facts.h"
#include "profiler/event_store.h"

namespace hloscope::profiler {

struct LaunchFigures {
#define LAUNCH_FIGURE(field, name, metric) uint64_t field = 0;
#include "profiler/launch_figures.def"
#undef LAUNCH_FIGURE

  // Instructions of threads.
  uint64_t threads() const {
    return arithmetic + bitwise + move + compare + convert + function + memory + control + warp +
           tensor;
  }
  // Multiply-adds of tensor cores.
  uint64_t products() const {
    return products_f64 + products_tf32 + products_16bit + products_8bit + products_4bit;
  }
  uint64_t flops() const { return float_operations + double_operations + 2 * products(); }
  uint64_t sectors() const { return global_read_sectors + global_written_sectors; }
  uint64_t conflicts() const { return shared_read_conflicts + shared_written_conflicts; }
  // Of the 32 lanes of a warp how many an instruction had on average, 0 to 1; 1 of none.
  double active_lanes() const;
  // Of the bytes of the sectors how many were asked for, at most 1; 1 where none was.
  double coalesced() const;

  void Add(const LaunchFigures& other);
};

// What a launch waits for in a model.
enum class ModelBound : uint8_t {
#define MODEL_BOUND(bound, text) bound,
#include "profiler/model_bounds.def"
#undef MODEL_BOUND
  kCount
};
std::string_view ToString(ModelBound bound);

// What keeps a kernel from being faster on a device that does nothing but this, each part at its
// peak: bytes touched at the bandwidth of memory, operations at the peak of their unit,
// instructions at four a clock in every multiprocessor that has a block. No launch, no latency,
// caches cold.
struct LaunchModel {
  double seconds = 0;  // 0: the device is not known
  ModelBound bound = ModelBound::kNone;
};
LaunchModel ModelOf(const LaunchFigures& figures, uint64_t blocks, const DeviceFacts& device);

// What a profile says where launches ran on a simulated device.
inline constexpr std::string_view kSimulatedTimes =
    "times are those of the simulation on this machine, not of a GPU; counts are exact; what a "
    "device takes is a model's (model_us)";

// Arguments beside the figures: microseconds by the model, what bounds it, and of which device.
inline constexpr std::string_view kModelTimeArgument = "model_us";
inline constexpr std::string_view kModelBoundArgument = "model_bound";
inline constexpr std::string_view kModelDeviceArgument = "model_device";
// The figures as arguments, those that are 0 left out; and back, nullopt where there are none.
void AppendFigures(const LaunchFigures& figures, std::vector<Argument>& arguments);
std::optional<LaunchFigures> FiguresOf(std::span<const Argument> arguments);

}  // namespace hloscope::profiler
