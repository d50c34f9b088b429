// What a device can do at most, as its description or a trace says it.
#pragma once

#include <string>
#include <string_view>

#include "profiler/event_store.h"

namespace hloscope::profiler {

// 0 where it is not known.
struct DeviceFacts {
  std::string source;           // where they were found; empty: nowhere
  std::string name;             // of the device
  double flops_per_second = 0;  // f32
  double doubles_per_second = 0;
  double bytes_per_second = 0;
  double cores = 0, clock_hz = 0;  // multiprocessors
  double threads_per_core = 0, shared_bytes_per_core = 0, registers_per_core = 0;
  double blocks_per_core = 0, reserved_shared_bytes = 0;  // the latter of each block
  // Multiply-adds of tensor cores a second, by what they multiply.
  double products_f64 = 0, products_tf32 = 0, products_16bit = 0, products_8bit = 0,
         products_4bit = 0;
};

// From the text of a gpu_target_config (xla.GpuTargetConfigProto).
DeviceFacts FactsFromTarget(std::string_view config);
// From the stats of the device planes of a trace.
DeviceFacts FactsFromTrace(const EventStore& store);

// How many blocks of a kernel a core has at once; less than 0 where it cannot be told. What is not
// known (0) of the kernel does not limit it. Registers are given to warps in units of 256 (CUDA's
// occupancy calculator).
double ResidentBlocks(const DeviceFacts& device, double threads_per_block,
                      double registers_per_thread, double shared_bytes_per_block);
// The share of a core's threads that a kernel can have at once, 0 to 1; less than 0 where it cannot
// be told.
double Occupancy(const DeviceFacts& device, double threads_per_block, double registers_per_thread,
                 double shared_bytes_per_block);

}  // namespace hloscope::profiler
