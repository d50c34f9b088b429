// LaunchFigures: what a launch of a kernel was counted to do, as arguments of its event, and what
// a model says it takes on a device.
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

// How a kernel was launched; 0 where it is not known.
struct KernelDetails {
  double registers = 0, shared_bytes = 0;  // of a thread, of a block
  uint64_t blocks = 0, threads = 0;        // of the grid, of a block
};

// What a launch would take on a device: the longest of what its counts say, as if all else were
// free, and the launch itself. docs/gpu-model.md says how, and what it leaves out.
struct LaunchModel {
  double seconds = 0;  // 0: the device is not known
  // With all units at their peaks: no launch, no latency, no uneven waves of blocks.
  double peak_seconds = 0;
  ModelBound bound = ModelBound::kNone;
};
LaunchModel ModelOf(const LaunchFigures& figures, const KernelDetails& details,
                    const DeviceFacts& device);

// What a profile says where launches ran on a simulated device.
inline constexpr std::string_view kSimulatedTimes =
    "times are those of the simulation on this machine, not of a GPU; counts are exact; what a "
    "device takes is a model's (model_us)";

// Arguments beside the figures: microseconds by the model, those at peak rates alone, what bounds
// it, and of which device.
inline constexpr std::string_view kModelTimeArgument = "model_us";
inline constexpr std::string_view kModelPeakArgument = "model_peak_us";
inline constexpr std::string_view kModelBoundArgument = "model_bound";
inline constexpr std::string_view kModelDeviceArgument = "model_device";
// The figures as arguments, those that are 0 left out; and back, nullopt where there are none.
void AppendFigures(const LaunchFigures& figures, std::vector<Argument>& arguments);
std::optional<LaunchFigures> FiguresOf(std::span<const Argument> arguments);

}  // namespace hloscope::profiler
