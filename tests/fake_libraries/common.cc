// Faults and work.
#include "tests/fake_libraries/common.h"

#include <cstdlib>
#include <string>

#include "tests/fake_cuda/fake_cuda.h"
#include "tests/fake_cuda/faults.h"

namespace fake_libraries {
namespace {

// Read again whenever the variable says something else.
fake_cuda::Faults& Faults() {
  constexpr const char* kVariable = "CUDA_FAKE_LIBRARIES";
  static std::string read = "\n";
  static fake_cuda::Faults faults;
  const char* const given = std::getenv(kVariable);
  if (const std::string now = given == nullptr ? "" : given; now != read) {
    read = now;
    faults = fake_cuda::Faults::FromEnvironment(kVariable);
  }
  return faults;
}

}  // namespace

int Fault(std::string_view function) { return Faults().Next(function); }
int Property(std::string_view name, int otherwise) {
  return static_cast<int>(Faults().Property(name, otherwise));
}

int Submit(void* stream, const char* name, std::function<void()> work) {
  return SubmitTogether({stream}, name, std::move(work));
}
int SubmitTogether(const std::vector<void*>& streams, const char* name,
                   std::function<void()> work) {
  return fake_cuda_submit(
      streams.data(), streams.size(), name,
      [](void* it) { (*static_cast<std::function<void()>*>(it))(); },
      new std::function<void()>(std::move(work)),
      [](void* it) { delete static_cast<std::function<void()>*>(it); });
}

std::byte* Bytes(const void* address, size_t size) {
  return static_cast<std::byte*>(fake_cuda_bytes(reinterpret_cast<uint64_t>(address), size));
}

}  // namespace fake_libraries
