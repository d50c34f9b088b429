// LibraryTiming: how long ways to compute an instruction take on the device, by its events.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/backends/cuda/device_kernels.h"

namespace hloscope::replay::cuda {

class LibraryTiming {
 public:
  // Puts the work on the stream; `addresses`: of operands, results, scratch.
  using Launch = std::function<Status(StreamHandle, std::span<const Address>)>;

  // Memory for the arrays, filled with numbers near 1 in every type of floats. Errors: those of
  // the device; there may not be enough memory.
  static Result<LibraryTiming> Make(std::shared_ptr<const Device> device, const GpuArrays& arrays);

  // Microseconds of one launch: the least of some rounds of several, behind one that is not
  // counted. What takes much longer than `best_us` (0: nothing is known) is measured once. Errors:
  // unsupported where the library refuses, else those of the device.
  Result<double> Measure(const Launch& launch, int64_t scratch_bytes, double best_us) const;

 private:
  LibraryTiming() = default;

  std::shared_ptr<const Device> device_;
  Stream stream_;
  Event begin_, end_;
  DeviceMemory memory_;
  std::vector<Address> addresses_;
};

}  // namespace hloscope::replay::cuda
