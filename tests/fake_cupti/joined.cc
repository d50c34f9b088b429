// Finding the made-up driver.
#include "tests/fake_cupti/joined.h"

#include <dlfcn.h>

#include <chrono>

namespace hloscope::fake_cupti {

bool Listen(const FakeCudaListener* listener) {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return false;
  auto* const listen =
      reinterpret_cast<decltype(&fake_cuda_listen)>(dlsym(driver, "fake_cuda_listen"));
  if (listen == nullptr) return false;
  listen(listener);
  return true;
}

uint64_t SteadyNow() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace hloscope::fake_cupti
