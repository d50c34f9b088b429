// Asking the driver for things.
#include "core/replay/cuda/handles.h"

#include <array>
#include <string_view>

namespace hloscope::replay::cuda {
namespace {

constexpr size_t kLogBytes = size_t{8} << 10;

}  // namespace

Result<DeviceMemory> AllocateOnDevice(const std::shared_ptr<const Device>& device, int64_t bytes) {
  if (bytes == 0) return DeviceMemory();
  const Driver& driver = device->driver();
  Address address = 0;
  const Answer result = driver->MemAlloc(&address, static_cast<size_t>(bytes));
  if (result == kOutOfMemory) {
    size_t free = 0, total = 0;
    HLOSCOPE_TRY(driver.Check(driver->MemGetInfo(&free, &total), "asking for free device memory"));
    Error error = driver.ErrorOf(result, "");
    error.message = fmt::format("not enough device memory: {} bytes needed, {} free of {} on {}",
                                bytes, free, total, device->name());
    return std::unexpected(std::move(error));
  }
  HLOSCOPE_TRY(driver.Check(result, "allocating {} bytes on the device", bytes));
  return DeviceMemory(device, address);
}

Result<PinnedMemory> AllocatePinned(const std::shared_ptr<const Device>& device, int64_t bytes) {
  void* memory = nullptr;
  HLOSCOPE_TRY(
      device->driver().Check(device->driver()->MemHostAlloc(&memory, static_cast<size_t>(bytes), 0),
                             "pinning {} bytes of the host's memory", bytes));
  return PinnedMemory(device, memory);
}

Result<Stream> MakeStream(const std::shared_ptr<const Device>& device) {
  StreamHandle stream = nullptr;
  HLOSCOPE_TRY(device->driver().Check(device->driver()->StreamCreate(&stream, kNonBlockingStream),
                                      "making a stream"));
  return Stream(device, stream);
}

Result<Event> MakeEvent(const std::shared_ptr<const Device>& device, unsigned flags) {
  EventHandle event = nullptr;
  HLOSCOPE_TRY(
      device->driver().Check(device->driver()->EventCreate(&event, flags), "making an event"));
  return Event(device, event);
}

Result<LoadedModule> LoadPtx(const std::shared_ptr<const Device>& device, const std::string& ptx) {
  std::string log(kLogBytes, '\0');
  std::array<int, 2> options = {kErrorLog, kErrorLogBytes};
  std::array<void*, 2> values = {log.data(), reinterpret_cast<void*>(kLogBytes)};
  ModuleHandle module = nullptr;
  Status status = device->driver().Check(
      device->driver()->ModuleLoadDataEx(&module, ptx.c_str(), options.size(), options.data(),
                                         values.data()),
      "loading our code");
  if (status.has_value()) return LoadedModule(device, module);
  log.resize(std::string_view(log.c_str()).size());
  if (!log.empty()) status.error().message += ": " + log;
  return std::unexpected(std::move(status).error());
}

}  // namespace hloscope::replay::cuda
