// The binary interface of CUPTI's PC sampling (CUDA 11.3 and newer): parameters of its functions,
// whose names are CUPTI's own without prefixes. A test that sees CUDA's headers holds them against
// these. Every function takes one structure that begins with its own size (ParamsTo).
#pragma once

#include <cstddef>
#include <cstdint>

#include "profiler/cupti/range_api.h"

namespace hloscope::profiler::cupti {

inline constexpr int kSamplesOverflow = 8;      // CUPTI_ERROR_OUT_OF_MEMORY: of the device's buffer
inline constexpr size_t kStallNameBytes = 128;  // CUPTI_STALL_REASON_STRING_SIZE
inline constexpr int kContinuousSampling = 1;   // kernels are not made to wait for one another
inline constexpr int kParsedSamples = 1;        // CUPTI_PC_SAMPLING_OUTPUT_DATA_FORMAT_PARSED
// Attributes: what is configured.
inline constexpr int kSamplingPeriod = 1, kStallReasons = 2, kCollectionMode = 5,
                     kStartStopControl = 6, kOutputFormat = 7, kSamplingBuffer = 8,
                     kWorkerPeriod = 9;  // in milliseconds; 100 where it is not set

struct SamplingParams {
  size_t bytes;
  void* reserved;
  void* context;
};
struct SamplingDataParams {
  size_t bytes;
  void* reserved;
  void* context;
  void* data;  // SamplingData
};
struct StallSamples {
  uint32_t stall;  // its index
  uint32_t samples;
};
struct PcData {
  size_t bytes;
  uint64_t cubin_crc, offset;
  uint32_t function_index, padding;
  char* function;
  size_t stall_count;
  StallSamples* stalls;  // as many as there are reasons
  uint32_t correlation;
};
struct SamplingData {
  size_t bytes;
  size_t most_pcs;
  uint64_t total_samples, dropped_samples;
  size_t pcs, remaining_pcs;
  uint64_t range;
  PcData* data;
  uint64_t other_samples;
  uint8_t is_device_full;
};
struct SamplingAttribute {
  int attribute, status;
  union {
    uint64_t room[3];
    uint32_t number;  // a period, 2 to the power of it; control of start and stop, milliseconds
    int choice;       // of a mode, of a format
    struct {
      size_t count;
      uint32_t* indices;
    } stalls;
    void* buffer;
  };
};
struct SamplingConfigParams {
  size_t bytes;
  void* reserved;
  void* context;
  size_t count;
  SamplingAttribute* attributes;
};
struct StallCountParams {
  size_t bytes;
  void* reserved;
  void* context;
  size_t* count;
};
struct StallsParams {
  size_t bytes;
  void* reserved;
  void* context;
  size_t count;
  uint32_t* indices;
  char** names;  // of kStallNameBytes each
};
struct FindLineParams {
  size_t bytes;
  const void* cubin;
  const char* function;
  size_t cubin_bytes;
  uint32_t line;
  uint64_t offset;
  char *file, *folder;  // of malloc
};

struct SamplingFunctions {
#define SAMPLING_FUNCTION(member, name, params) int (*member)(params*) = nullptr;
#include "profiler/cupti/sampling_functions.def"
#undef SAMPLING_FUNCTION
};

}  // namespace hloscope::profiler::cupti
