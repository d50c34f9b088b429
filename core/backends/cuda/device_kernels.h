// DeviceKernels: the kernels that our compiler wrote for a module, loaded on a device.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/backends/compiled/gpu_launches.h"
#include "core/backends/cuda/device_recorder.h"
#include "core/backends/cuda/handles.h"
#include "core/backends/cuda/transfers.h"
#include "core/compile/gpu_code.h"
#include "core/compile/kernel_code.h"

namespace hloscope::replay::cuda {

// Memory for one kernel at a time whose arrays are the host's: kept, and grown when needed.
class Workbench {
 public:
  Workbench(std::shared_ptr<const Device> device, std::shared_ptr<DeviceRecorder> recorder)
      : device_(std::move(device)), recorder_(std::move(recorder)) {}

  // Locked by who uses it.
  std::mutex& mutex() { return mutex_; }
  Status Prepare(int64_t bytes);
  Address memory() const { return memory_.get(); }
  StreamHandle stream() const { return stream_.get(); }
  Transfers& transfers() { return *transfers_; }
  const Device& device() const { return *device_; }
  DeviceRecorder& recorder() const { return *recorder_; }

 private:
  std::mutex mutex_;
  std::shared_ptr<const Device> device_;
  std::shared_ptr<DeviceRecorder> recorder_;
  Stream stream_;
  std::optional<Transfers> transfers_;
  DeviceMemory memory_;
  int64_t bytes_ = 0;
};

// What of an instruction's code is the same however it is done.
struct DeviceInstruction {
  hlo::InstructionId id;
  std::string name;
  GpuArrays arrays;
  std::vector<int> in_place;
  std::shared_ptr<Workbench> bench;
};

// Code of an instruction that is put on a stream.
class DeviceCode : public compile::LibraryCall {
 public:
  explicit DeviceCode(DeviceInstruction instruction) : instruction_(std::move(instruction)) {}
  // With arrays of the host, which are copied there and back.
  Status Run(const std::byte* const* operands, std::byte* const* results, std::byte* scratch,
             int64_t begin, int64_t end) const override;
  // Puts its work on the stream; `addresses`: of operands, results, scratch.
  virtual Status Launch(StreamHandle stream, std::span<const Address> addresses) const = 0;
  // Whether Launch may be recorded for a CUDA graph.
  virtual bool can_be_recorded() const { return true; }
  // Kernels that the next Launch puts there at least.
  virtual int64_t launches() const = 0;
  const DeviceInstruction& instruction() const { return instruction_; }

 protected:
  const Device& device() const { return instruction_.bench->device(); }
  DeviceRecorder& recorder() const { return instruction_.bench->recorder(); }

 private:
  DeviceInstruction instruction_;
};

class DeviceKernel : public DeviceCode {
 public:
  struct Entry {
    FunctionHandle function = nullptr;
    GpuLaunch launch;
  };
  DeviceKernel(DeviceInstruction instruction, std::vector<Entry> entries)
      : DeviceCode(std::move(instruction)), entries_(std::move(entries)) {}

  bool is_kernel() const override { return true; }
  Status Launch(StreamHandle stream, std::span<const Address> addresses) const override;
  int64_t launches() const override { return std::ssize(entries_); }

 private:
  std::vector<Entry> entries_;
};

class DeviceKernels : public compile::KernelLibrary {
 public:
  // `with_lines`: the recorder gets the code with its lines, to sample them.
  static Result<std::unique_ptr<DeviceKernels>> Load(const hlo::Module& module,
                                                     const compile::GpuCode& code,
                                                     std::shared_ptr<const Device> device,
                                                     std::shared_ptr<DeviceRecorder> recorder,
                                                     bool with_lines);

  const compile::KernelCode* Find(hlo::InstructionId id) const override;
  int64_t function_count() const override { return count_; }

 private:
  DeviceKernels() = default;

  std::vector<LoadedModule> modules_;
  std::unordered_map<uint32_t, compile::KernelCode> code_;
  int64_t count_ = 0;
};

}  // namespace hloscope::replay::cuda
