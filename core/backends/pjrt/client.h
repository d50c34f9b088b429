// Client: a plugin's devices, and what is put on them: programs and arrays.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/backends/pjrt/api.h"
#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/literal.h"

namespace hloscope::replay::pjrt {

// A program ready to run, and what the plugin knows of it.
struct LoadedProgram {
  OwnedLoadedExecutable loaded;
  OwnedExecutable executable;
  size_t output_count = 0;
  std::vector<Device*> devices;  // in the order of argument lists
};

class ClientHandle {
 public:
  const Plugin& plugin() const { return *plugin_; }
  const std::shared_ptr<const Plugin>& shared_plugin() const { return plugin_; }
  const std::string& platform_name() const { return platform_name_; }        // "cpu"
  const std::string& platform_version() const { return platform_version_; }  // of its runtime
  const std::vector<int64_t>& device_ids() const { return device_ids_; }

  // Compiles a program: `format` "hlo" (HloModuleProto) or "mlir" (StableHLO, text or bytecode),
  // `options` CompileOptionsProto. Errors are XLA's.
  Result<LoadedProgram> Compile(std::string_view code, std::string_view format,
                                std::string_view options) const;
  // A copy of an array on a device. The literal must be an array.
  Result<OwnedBuffer> Put(const hlo::Literal& literal, Device* device) const;
  // The array of a buffer, of the type and rank of `shape`.
  Result<hlo::Literal> Take(Buffer* buffer, const hlo::Shape& shape) const;
  // Runs once on the arguments of each device and waits for all results, by device. Arguments stay
  // as they are. Errors: XLA's.
  Result<std::vector<std::vector<OwnedBuffer>>> Execute(
      const LoadedProgram& program, std::span<const std::vector<OwnedBuffer>> arguments) const;
  // The plugin's optimised module: HloModuleProto with its configuration, in wire format.
  Result<std::string> OptimizedProgram(const LoadedProgram& loaded) const;

 private:
  friend Result<std::shared_ptr<const ClientHandle>> OpenClient(
      const std::shared_ptr<const Plugin>& plugin, int64_t devices, bool is_gpu);
  explicit ClientHandle(std::shared_ptr<const Plugin> plugin) : plugin_(std::move(plugin)) {}
  Status Create(std::span<const NamedValue> options);
  Status CreateOnGpus(int64_t devices);
  Status ReadDevices();

  std::shared_ptr<const Plugin> plugin_;
  OwnedClient client_;
  std::string platform_name_, platform_version_;
  std::vector<Device*> devices_;
  std::vector<int64_t> device_ids_;
};

// A client of at least `devices` devices; virtual ones where the plugin's platform is the CPU.
// `is_gpu`: it is of XLA:GPU, whose client is made without preallocation and sees no other GPUs.
// Clients are kept for the life of the process. Environment error: there are fewer.
Result<std::shared_ptr<const ClientHandle>> OpenClient(const std::shared_ptr<const Plugin>& plugin,
                                                       int64_t devices, bool is_gpu);
// The option of XLA:GPU's client with which it takes no memory of a device beyond what it uses.
NamedValue NoPreallocation();

// Elements of a type narrower than a byte, a byte each, come with anything in their upper bits:
// sets those as a Literal has them.
void NarrowElements(hlo::ElementType type, std::span<std::byte> bytes);

// PJRT's number of an element type; 0 where it has none.
int32_t BufferTypeOf(hlo::ElementType type);
// The element type of such a number; kInvalid where it is not known.
hlo::ElementType ElementTypeOfBuffer(int32_t number);

}  // namespace hloscope::replay::pjrt
