// The context is released with the last that runs.
#include "core/backends/cuda/device.h"

#include <array>
#include <map>
#include <mutex>

namespace hloscope::replay::cuda {

Result<std::shared_ptr<const Device>> Device::Open(int ordinal) {
  static std::mutex mutex;
  static std::map<int, std::weak_ptr<const Device>> all;
  const std::lock_guard lock(mutex);
  std::weak_ptr<const Device>& opened = all[ordinal];
  if (auto device = opened.lock()) {
    HLOSCOPE_TRY(device->Enter());
    return device;
  }
  HLOSCOPE_ASSIGN_OR_RETURN(auto driver, Driver::Open());
  std::shared_ptr<Device> device(new Device(std::move(driver), ordinal));
  HLOSCOPE_TRY(device->Start());
  opened = device;
  return device;
}

Status Device::Start() {
  const Driver& driver = *driver_;
  HLOSCOPE_TRY(driver.Check(driver->DeviceGet(&number_, ordinal_), "taking GPU {}", ordinal_));
  std::array<char, 256> name{};
  HLOSCOPE_TRY(driver.Check(driver->DeviceGetName(name.data(), int{name.size() - 1}, number_),
                            "asking for the device's name"));
  name_ = name.data();
  int major = 0, minor = 0;
  HLOSCOPE_TRY(driver.Check(driver->DeviceGetAttribute(&major, kCapabilityMajor, number_),
                            "asking for the device's compute capability"));
  HLOSCOPE_TRY(driver.Check(driver->DeviceGetAttribute(&minor, kCapabilityMinor, number_),
                            "asking for the device's compute capability"));
  capability_ = 10 * major + minor;
  if (capability_ < kMinCapability) {
    return UnsupportedError(
        fmt::format("device capability too low: {} has {}.{}, our code needs {}.{}", name_, major,
                    minor, kMinCapability / 10, kMinCapability % 10),
        "use an A100 or newer; `--platform gpu-sim` needs no device");
  }
  HLOSCOPE_TRY(driver.Check(driver->PrimaryContextRetain(&context_, number_),
                            "making the context of {}", name_));
  return Enter();
}

Status Device::Enter() const {
  return driver_->Check((*driver_)->ContextSetCurrent(context_), "entering the context of {}",
                        name_);
}

Device::~Device() {
  if (context_ == nullptr) return;
  (*driver_)->ContextSetCurrent(nullptr);
  (*driver_)->PrimaryContextRelease(number_);
}

}  // namespace hloscope::replay::cuda
