// What the made-up libraries share: faults, the order of streams, the memory of the made-up device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string_view>
#include <vector>

namespace fake_libraries {

// The answer that CUDA_FAKE_LIBRARIES gives the next call of `function`; 0: as it comes.
int Fault(std::string_view function);
// A part of a version: "cufft.major".
int Property(std::string_view name, int otherwise);

// Does it in the order of the stream, each time that a graph of it runs; the driver's answer.
int Submit(void* stream, const char* name, std::function<void()> work);
// Where all those streams have come.
int SubmitTogether(const std::vector<void*>& streams, const char* name, std::function<void()> work);
// The bytes at a device address; null: so many do not lie there.
std::byte* Bytes(const void* address, size_t size);

// Handles that were handed out and not taken back.
class Handles {
 public:
  void* Add(void* handle) {
    all_.insert(handle);
    return handle;
  }
  bool Has(const void* handle) const { return all_.contains(handle); }
  bool Remove(const void* handle) { return all_.erase(handle) == 1; }

 private:
  std::set<const void*> all_;
};

}  // namespace fake_libraries
