#include "core/backends/cuda/device_kernels.h"

#include <array>

#include "core/backends/cuda/line_marks.h"
#include "core/compile/plan/plan.h"

namespace hloscope::replay::cuda {

Status Workbench::Prepare(int64_t bytes) {
  HLOSCOPE_TRY(device_->Enter());
  if (!stream_) {
    HLOSCOPE_ASSIGN_OR_RETURN(stream_, MakeStream(device_));
  }
  if (!transfers_) {
    HLOSCOPE_ASSIGN_OR_RETURN(transfers_, Transfers::Make(device_, stream_.get()));
  }
  if (bytes <= bytes_) return {};
  memory_ = DeviceMemory();
  bytes_ = 0;
  HLOSCOPE_ASSIGN_OR_RETURN(memory_, AllocateOnDevice(device_, bytes));
  bytes_ = bytes;
  return {};
}

namespace {

profiler::cupti::Activity KernelActivity(const GpuLaunch& launch) {
  profiler::cupti::Activity activity;
  activity.name = launch.entry;
  activity.grid = launch.grid;
  activity.block = launch.block;
  return activity;
}

}  // namespace

Status DeviceKernel::Launch(StreamHandle stream, std::span<const Address> addresses) const {
  const Driver& driver = device().driver();
  for (const Entry& entry : entries_) {
    std::vector<void*> parameters;
    for (const Address& address : addresses) parameters.push_back(const_cast<Address*>(&address));
    std::array<int64_t, 3> numbers = entry.launch.numbers;
    for (int64_t& number : numbers) parameters.push_back(&number);
    const auto& [x, y, z] = entry.launch.grid;
    const auto& [threads_x, threads_y, threads_z] = entry.launch.block;
    const DeviceScope scope(recorder(), instruction().id, stream,
                            [&] { return KernelActivity(entry.launch); });
    const DeviceRecorder::Turn turn(recorder(), instruction().id, stream);
    HLOSCOPE_TRY(
        driver.Check(driver->LaunchKernel(entry.function, x, y, z, threads_x, threads_y, threads_z,
                                          0, stream, parameters.data(), nullptr),
                     "launching {} for {}", entry.launch.entry, instruction().name));
  }
  return {};
}

Status DeviceCode::Run(const std::byte* const* operands, std::byte* const* results,
                       std::byte* /*scratch*/, int64_t, int64_t) const {
  Workbench& bench = *instruction_.bench;
  const GpuArrays& arrays = instruction_.arrays;
  const std::vector<int>& in_place = instruction_.in_place;
  const std::lock_guard lock(bench.mutex());
  int64_t bytes = 0;
  std::vector<Address> addresses;
  const auto place = [&](int64_t size) {
    addresses.push_back(static_cast<Address>(bytes));
    bytes += compile::AlignedBytes(size);
  };
  for (const int64_t size : arrays.operands) place(size);
  for (const int64_t size : arrays.results) place(size);
  place(arrays.scratch);
  HLOSCOPE_TRY(bench.Prepare(bytes));
  for (Address& address : addresses) address += bench.memory();
  const size_t inputs = arrays.operands.size();
  const auto upload = [&](Address to, const std::byte* from, int64_t size) {
    const DeviceScope scope(recorder(), instruction_.id, bench.stream(),
                            [&] { return CopyActivity("copy host to device", size); });
    return bench.transfers().Upload(to, from, size);
  };
  for (size_t i = 0; i < inputs; ++i) {
    HLOSCOPE_TRY(upload(addresses[i], operands[i], arrays.operands[i]));
  }
  for (size_t i = 0; i < arrays.results.size(); ++i) {
    if (i >= in_place.size() || in_place[i] < 0) continue;
    HLOSCOPE_TRY(upload(addresses[inputs + i], results[i], arrays.results[i]));
  }
  HLOSCOPE_TRY(Launch(bench.stream(), addresses));
  recorder().Launched(launches());
  for (size_t i = 0; i < arrays.results.size(); ++i) {
    const DeviceScope scope(recorder(), instruction_.id, bench.stream(),
                            [&] { return CopyActivity("copy device to host", arrays.results[i]); });
    HLOSCOPE_TRY(bench.transfers().Download(results[i], addresses[inputs + i], arrays.results[i]));
  }
  const DeviceScope scope(recorder(), instruction_.id);
  const Driver& driver = device().driver();
  return driver.Check(driver->StreamSynchronize(bench.stream()), "waiting for the kernel of {}",
                      instruction_.name);
}

Result<std::unique_ptr<DeviceKernels>> DeviceKernels::Load(const hlo::Module& module,
                                                           const compile::GpuCode& code,
                                                           std::shared_ptr<const Device> device,
                                                           std::shared_ptr<DeviceRecorder> recorder,
                                                           bool with_lines) {
  std::unique_ptr<DeviceKernels> out(new DeviceKernels);
  const Driver& driver = device->driver();
  for (const std::string& text : code.modules) {
    if (text.empty()) {  // left out
      out->modules_.emplace_back();
      continue;
    }
    if (!with_lines) {
      HLOSCOPE_ASSIGN_OR_RETURN(out->modules_.emplace_back(), LoadPtx(device, text));
      continue;
    }
    std::vector<std::byte> cubin;
    HLOSCOPE_ASSIGN_OR_RETURN(out->modules_.emplace_back(),
                              LoadPtxWithLines(device, WithLineMarks(text), cubin));
    recorder->code().Add(text, std::move(cubin));
  }
  const auto bench = std::make_shared<Workbench>(device, std::move(recorder));
  // Of kernels that no code was written for nobody asks.
  std::vector<std::vector<DeviceKernel::Entry>> entries(code.kernels.size());
  for (const compile::GpuCode::Use& use : code.uses) {
    const compile::GpuKernel& kernel = code.kernels[use.kernel];
    std::vector<DeviceKernel::Entry>& own = entries[use.kernel];
    if (!own.empty()) continue;
    for (GpuLaunch& launch : LaunchesOf(kernel)) {
      FunctionHandle function = nullptr;
      HLOSCOPE_TRY(
          driver.Check(driver->ModuleGetFunction(&function, out->modules_[kernel.module].get(),
                                                 launch.entry.c_str()),
                       "finding the kernel {}", launch.entry));
      if (with_lines) bench->recorder().code().Name(launch.entry, kernel.module);
      own.push_back({function, std::move(launch)});
    }
  }
  out->count_ = std::ssize(code.kernels);
  for (const compile::GpuCode::Use& use : code.uses) {
    const compile::GpuKernel& kernel = code.kernels[use.kernel];
    compile::KernelCode& launched = out->code_[use.instruction.index];
    launched.name = kernel.name;
    launched.scratch_bytes = kernel.scratch_bytes;
    launched.in_place = kernel.in_place;
    launched.library = std::make_shared<DeviceKernel>(
        DeviceInstruction{use.instruction, std::string(module.name(use.instruction)),
                          ArraysOf(module, use.instruction, kernel), kernel.in_place, bench},
        entries[use.kernel]);
  }
  return out;
}

const compile::KernelCode* DeviceKernels::Find(hlo::InstructionId id) const {
  const auto found = code_.find(id.index);
  return found == code_.end() ? nullptr : &found->second;
}

}  // namespace hloscope::replay::cuda
