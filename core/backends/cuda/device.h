// Device: a GPU with its primary context, shared by all that runs on it in this process.
#pragma once

#include <memory>
#include <string>

#include "core/backends/cuda/driver.h"
#include "core/base/result.h"

namespace hloscope::replay::cuda {

class Device {
 public:
  // The device of that number among those that the driver shows, the same as long as somebody has
  // it; it is current for the calling thread. Errors: those of Driver::Open, a device that is older
  // than what we write code for (unsupported).
  static Result<std::shared_ptr<const Device>> Open(int ordinal = 0);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Driver& driver() const { return *driver_; }
  int ordinal() const { return ordinal_; }
  const std::string& name() const { return name_; }
  int capability() const { return capability_; }  // × 10
  DeviceNumber number() const { return number_; }
  ContextHandle context() const { return context_; }

  // Makes it the device of the calling thread.
  Status Enter() const;

 private:
  Device(std::shared_ptr<const Driver> driver, int ordinal)
      : driver_(std::move(driver)), ordinal_(ordinal) {}
  Status Start();

  std::shared_ptr<const Driver> driver_;
  int ordinal_;
  DeviceNumber number_ = 0;
  ContextHandle context_ = nullptr;
  std::string name_;
  int capability_ = 0;
};

}  // namespace hloscope::replay::cuda
