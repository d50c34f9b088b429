// The binary interface of CUPTI's range profiler (CUDA 12.8 and newer): parameters of its
// functions, whose names are CUPTI's own without prefixes. A test that sees CUDA's headers holds
// them against these. Every function takes one structure that begins with its own size.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hloscope::profiler::cupti {

inline constexpr int kRangeProfilerType = 0;   // CUPTI_PROFILER_TYPE_RANGE_PROFILER
inline constexpr int kAutoRange = 1;           // each kernel is a range
inline constexpr int kKernelReplay = 2;        // CUPTI runs a kernel as often as it needs passes
inline constexpr int kInvalidMetricName = 17;  // CUPTI_ERROR_INVALID_METRIC_NAME

struct NoParams {
  size_t bytes;
  void* reserved;
};
struct ChipNameParams {
  size_t bytes;
  void* reserved;
  size_t device_index;
  const char* chip_name;
};
struct AvailabilityParams {
  size_t bytes;
  void* reserved;
  void* context;
  size_t image_bytes;
  uint8_t* image;  // null: only its size is asked for
};
struct HostParams {
  size_t bytes;
  void* reserved;
  void* host;
};
struct HostInitializeParams {
  size_t bytes;
  void* reserved;
  int profiler_type;
  const char* chip_name;
  const uint8_t* availability;
  void* host;
};
struct MetricParams {
  size_t bytes;
  void* reserved;
  void* host;
  const char* name;
  const char *description, *unit, *dimension;
  int type;
};
struct AddMetricsParams {
  size_t bytes;
  void* reserved;
  void* host;
  const char** names;
  size_t count;
};
struct ConfigSizeParams {
  size_t bytes;
  void* reserved;
  void* host;
  size_t config_bytes;
};
struct ConfigParams {
  size_t bytes;
  void* reserved;
  void* host;
  size_t config_bytes;
  uint8_t* config;
};
struct PassesParams {
  size_t bytes;
  void* reserved;
  size_t config_bytes;
  uint8_t* config;
  size_t passes;
};
struct EvaluateParams {
  size_t bytes;
  void* reserved;
  void* host;
  const uint8_t* data;
  size_t data_bytes;
  size_t range;
  const char** names;
  size_t count;
  double* values;
};
struct EnableParams {
  size_t bytes;
  void* reserved;
  void* context;
  void* profiler;
};
struct RangeParams {
  size_t bytes;
  void* reserved;
  void* profiler;
};
struct SetConfigParams {
  size_t bytes;
  void* reserved;
  void* profiler;
  size_t config_bytes;
  const uint8_t* config;
  size_t data_bytes;
  uint8_t* data;
  int range, replay;
  size_t most_ranges;
  uint16_t nesting_levels, least_nesting_level;
  size_t pass;
  uint16_t target_nesting_level;
};
struct StopParams {
  size_t bytes;
  void* reserved;
  void* profiler;
  size_t pass, target_nesting_level;
  uint8_t is_all_submitted;
};
struct DecodeParams {
  size_t bytes;
  void* reserved;
  void* profiler;
  size_t dropped;
};
struct DataSizeParams {
  size_t bytes;
  void* reserved;
  void* profiler;
  const char** names;
  size_t count;
  size_t most_ranges;
  uint32_t most_nodes;
  size_t data_bytes;
};
struct DataInitializeParams {
  size_t bytes;
  void* reserved;
  void* profiler;
  size_t data_bytes;
  uint8_t* data;
};
struct DataInfoParams {
  size_t bytes;
  void* reserved;
  const uint8_t* data;
  size_t data_bytes;
  size_t ranges;
};

// Zeros, but for the size, which CUPTI counts to the end of the last field.
template <typename Params, typename Last>
Params ParamsTo(Last Params::* last) {
  Params params{};
  const auto* const begin = reinterpret_cast<const std::byte*>(&params);
  const auto* const field = reinterpret_cast<const std::byte*>(&(params.*last));
  params.bytes = static_cast<size_t>(field - begin) + sizeof(Last);
  return params;
}

struct RangeFunctions {
#define RANGE_FUNCTION(member, name, params) int (*member)(params*) = nullptr;
#include "profiler/cupti/range_functions.def"
#undef RANGE_FUNCTION
};

}  // namespace hloscope::profiler::cupti
