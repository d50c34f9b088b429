// Asking the CUDA driver in a child, through the few functions that tell what is there.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstring>
#include <span>

#include "core/backends/doctor/doctor_info.h"
#include "core/base/byte_archive.h"
#include "core/replay/workers/isolated_task.h"

namespace hloscope::replay {

template <typename A>
void Archive(A& archive, Archived<A, GpuInfo>& value) {
  archive(value.name, value.capability, value.memory_bytes);
}

template <typename A>
void Archive(A& archive, Archived<A, DriverInfo>& value) {
  archive(value.found, value.problem, value.error, value.error_name, value.version, value.devices);
}

namespace {

constexpr const char* kDriverLibrary = "libcuda.so.1";
constexpr int kMaxDevices = 1024;
// CUdevice_attribute.
constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76;

// A function of the library, or null.
template <typename F>
F* Find(void* library, const char* name) {
  return reinterpret_cast<F*>(dlsym(library, name));
}

std::string ErrorName(void* library, int error) {
  const char* name = nullptr;
  auto* get = Find<int(int, const char**)>(library, "cuGetErrorName");
  if (get == nullptr || get(error, &name) != 0 || name == nullptr) return "unnamed error";
  return name;
}

GpuInfo QueryDevice(void* library, int ordinal) {
  GpuInfo gpu;
  int device = 0;
  auto* get = Find<int(int*, int)>(library, "cuDeviceGet");
  if (get == nullptr || get(&device, ordinal) != 0) return gpu;
  char name[256] = {};
  if (auto* f = Find<int(char*, int, int)>(library, "cuDeviceGetName"); f != nullptr) {
    f(name, sizeof name - 1, device);
  }
  gpu.name.assign(name, strnlen(name, sizeof name));
  auto* attribute = Find<int(int*, int, int)>(library, "cuDeviceGetAttribute");
  int major = 0, minor = 0;
  if (attribute != nullptr && attribute(&major, kCapabilityMajor, device) == 0 &&
      attribute(&minor, kCapabilityMinor, device) == 0) {
    gpu.capability = 10 * major + minor;
  }
  size_t bytes = 0;
  auto* memory = Find<int(size_t*, int)>(library, "cuDeviceTotalMem_v2");
  if (memory != nullptr && memory(&bytes, device) == 0) {
    gpu.memory_bytes = static_cast<int64_t>(bytes);
  }
  return gpu;
}

void QueryLibrary(void* library, DriverInfo& info) {
  int version = 0;
  if (auto* f = Find<int(int*)>(library, "cuDriverGetVersion"); f != nullptr && f(&version) == 0) {
    info.version = version;
  }
  auto* init = Find<int(unsigned)>(library, "cuInit");
  auto* count = Find<int(int*)>(library, "cuDeviceGetCount");
  if (init == nullptr || count == nullptr) {
    info.problem = "it lacks cuInit or cuDeviceGetCount";
    return;
  }
  int devices = 0;
  info.error = init(0);
  if (info.error == 0) info.error = count(&devices);
  if (info.error != 0) info.error_name = ErrorName(library, info.error);
  for (int i = 0; i < devices && i < kMaxDevices; ++i) {
    info.devices.push_back(QueryDevice(library, i));
  }
}

}  // namespace

// The task "driver".
Result<std::string> QueryDriverTask(std::string_view) {
  DriverInfo info;
  void* library = dlopen(kDriverLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) {
    info.found = true;
    QueryLibrary(library, info);
  } else {
    const char* message = dlerror();
    info.problem = message == nullptr ? "unknown reason" : message;
    const bool absent =
        info.problem.starts_with(fmt::format("{}: cannot open shared object", kDriverLibrary));
    info.found = !absent;
  }
  ByteWriter out;
  out(info);
  return std::move(out).Take();
}

DriverInfo QueryDriver() {
  DriverInfo info;
  const Result<std::string> answer = RunIsolatedTask({.name = "driver", .bytes = {}});
  if (!answer.has_value()) {
    info.found = true;
    info.died = true;
    info.problem = answer.error().message;
    return info;
  }
  ByteReader in(std::as_bytes(std::span(*answer)));
  in(info);
  return info;
}

}  // namespace hloscope::replay
