#include "core/backends/cuda/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>

#include "core/backends/cuda/call_log.h"
#include "core/replay/device_lost.h"

namespace hloscope::replay::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";
constexpr const char* kDoctor =
    "`hloscope doctor` says what is missing; `--platform gpu-sim` needs no device";

constexpr ErrorRow kErrors[] = {
#define CUDA_ERROR(number, name, error_class, loses_device, reason, fix) \
  {number, #name, ErrorClass::error_class, loses_device, reason, fix},
#include "core/backends/cuda/driver_errors.def"
#undef CUDA_ERROR
};

}  // namespace

const ErrorRow* FindError(Answer number) {
  const auto row = std::ranges::find(kErrors, number, &ErrorRow::number);
  return row == std::end(kErrors) ? nullptr : row;
}

std::string VersionText(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Error Driver::ErrorOf(Answer result, const std::string& doing) const {
  const ErrorRow* row = FindError(result);
  if (row != nullptr) {
    if (row->loses_device) MarkDeviceLost();
    return {row->error_class,
            fmt::format("{}: {} failed with {} ({})", row->reason, doing, row->name, result),
            {},
            row->fix};
  }
  const char* name = nullptr;
  if (functions_.GetErrorName == nullptr || functions_.GetErrorName(result, &name) != kSuccess ||
      name == nullptr) {
    name = "an error that it has no name for";
  }
  return {ErrorClass::kEnvironment,
          fmt::format("refused by the driver: {} failed with {} ({})", doing, name, result),
          {},
          kDoctor};
}

Status Driver::Load() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const said = dlerror();
    const std::string_view why = said == nullptr ? kLibrary : said;
    const bool is_absent = why.contains("cannot open shared object file");
    return EnvironmentError(
        fmt::format("{}: {}", is_absent ? "no driver" : "the driver cannot be loaded", why),
        kDoctor);
  }
  std::string missing;
  const auto find = [&](auto& function, const char* symbol) {
    void* const found = dlsym(library, symbol);
    if (found == nullptr && missing.empty()) missing = symbol;
    std::memcpy(&function, &found, sizeof found);
  };
#define CUDA_FUNCTION(name, symbol, ...) find(functions_.name, #symbol);
#include "core/backends/cuda/driver_functions.def"
#undef CUDA_FUNCTION
  if (missing.empty()) {
#define CUDA_FUNCTION(name, symbol, ...) find(functions_.name, #symbol);
#include "core/backends/cuda/driver_newer_functions.def"
#undef CUDA_FUNCTION
    has_newer_ = missing.empty();
    LogCalls(functions_);
    return {};
  }
  return EnvironmentError(
      fmt::format("version mismatch: NVIDIA's driver has no {}, CUDA {} is needed", missing,
                  VersionText(kMinVersion)),
      "update NVIDIA's driver to 525 or newer");
}

Status Driver::Start() {
  HLOSCOPE_TRY(Check(functions_.Init(0), "starting the driver"));
  HLOSCOPE_TRY(Check(functions_.DriverGetVersion(&version_), "asking the driver for its version"));
  if (version_ < kMinVersion) {
    return EnvironmentError(
        fmt::format("version mismatch: NVIDIA's driver is of CUDA {}, {} is needed",
                    VersionText(version_), VersionText(kMinVersion)),
        "update NVIDIA's driver to 525 or newer");
  }
  int devices = 0;
  HLOSCOPE_TRY(Check(functions_.DeviceGetCount(&devices), "counting devices"));
  if (devices == 0) return std::unexpected(ErrorOf(FindError(100)->number, "counting devices"));
  return {};
}

int Driver::devices() const {
  int devices = 0;
  return functions_.DeviceGetCount(&devices) == kSuccess && devices > 0 ? devices : 1;
}

Result<std::shared_ptr<const Driver>> Driver::Open() {
  static std::mutex mutex;
  static std::shared_ptr<const Driver> opened;
  const std::lock_guard lock(mutex);
  if (opened != nullptr) return opened;
  auto driver = std::make_shared<Driver>();
  HLOSCOPE_TRY(driver->Load());
  HLOSCOPE_TRY(driver->Start());
  opened = std::move(driver);
  return opened;
}

}  // namespace hloscope::replay::cuda
