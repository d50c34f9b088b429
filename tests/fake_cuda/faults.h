// What CUDA_FAKE, or a variable like it, says: properties of the device and calls that are to fail.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace fake_cuda {

class Faults {
 public:
  static Faults FromEnvironment(const char* variable = "CUDA_FAKE");

  // The result that the next call of `function` is to have; 0: as it comes. "kernel" counts
  // kernels.
  int Next(std::string_view function);
  int64_t Property(std::string_view name, int64_t otherwise) const;

 private:
  struct Row {
    std::string name;
    uint64_t first = 1, last = UINT64_MAX, every = 1;
    int64_t value = 0;
  };
  std::vector<Row> rows_;
  std::map<std::string, uint64_t, std::less<>> calls_;
};

}  // namespace fake_cuda
