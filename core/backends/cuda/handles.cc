// Asking the driver for things.
#include "core/backends/cuda/handles.h"

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

namespace {

// What the driver's compiler says of our code goes into the error.
class Assembling {
 public:
  unsigned count() const { return static_cast<unsigned>(options_.size()); }
  int* options() { return options_.data(); }
  void** values() { return values_.data(); }
  Result<LoadedModule> Done(const std::shared_ptr<const Device>& device, Status status,
                            ModuleHandle module) {
    if (status.has_value()) return LoadedModule(device, module);
    const std::string_view said = log_.c_str();
    if (!said.empty()) status.error().message += fmt::format(": {}", said);
    return std::unexpected(std::move(status).error());
  }

 private:
  std::string log_ = std::string(kLogBytes, '\0');
  std::array<int, 2> options_ = {kErrorLog, kErrorLogBytes};
  std::array<void*, 2> values_ = {log_.data(), reinterpret_cast<void*>(kLogBytes)};
};

}  // namespace

Result<LoadedModule> LoadPtx(const std::shared_ptr<const Device>& device, const std::string& ptx) {
  Assembling how;
  ModuleHandle module = nullptr;
  Status status =
      device->driver().Check(device->driver()->ModuleLoadDataEx(&module, ptx.c_str(), how.count(),
                                                                how.options(), how.values()),
                             "loading our code");
  return how.Done(device, std::move(status), module);
}

Result<LoadedModule> LoadPtxWithLines(const std::shared_ptr<const Device>& device, std::string ptx,
                                      std::vector<std::byte>& cubin) {
  Assembling how;
  const Driver& driver = device->driver();
  std::array<int, 3> options = {kLineInfo, how.options()[0], how.options()[1]};
  std::array<void*, 3> values = {reinterpret_cast<void*>(1), how.values()[0], how.values()[1]};
  LinkHandle state = nullptr;
  HLOSCOPE_TRY(
      driver.Check(driver->LinkCreate(options.size(), options.data(), values.data(), &state),
                   "assembling our code"));
  const Link link(device, state);
  ModuleHandle module = nullptr;
  const auto load = [&]() -> Status {
    HLOSCOPE_TRY(driver.Check(driver->LinkAddData(link.get(), kPtxInput, ptx.data(), ptx.size() + 1,
                                                  "kernels.ptx", 0, nullptr, nullptr),
                              "assembling our code"));
    void* image = nullptr;
    size_t bytes = 0;
    HLOSCOPE_TRY(
        driver.Check(driver->LinkComplete(link.get(), &image, &bytes), "assembling our code"));
    const auto* const begin = static_cast<const std::byte*>(image);
    cubin.assign(begin, begin + bytes);  // that of the link goes with it
    return driver.Check(driver->ModuleLoadDataEx(&module, cubin.data(), 0, nullptr, nullptr),
                        "loading our code");
  };
  Status loaded = load();
  return how.Done(device, std::move(loaded), module);
}

}  // namespace hloscope::replay::cuda
