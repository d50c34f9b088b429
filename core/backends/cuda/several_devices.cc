// Code and memory by GPU.
#include "core/backends/cuda/several_devices.h"

#include <algorithm>

namespace hloscope::replay::cuda {
namespace {

// A device of another rank: what it computes is told later.
class RemoteRankRun : public PlanRun {
 public:
  using PlanRun::PlanRun;
  Result<std::optional<runtime::Value>> Run(std::span<const runtime::Value>) override {
    return runtime::Value::Missing(
        Error{ErrorClass::kUnsupported,
              fmt::format("device {} is another rank's", machine_.device()),
              {},
              {}});
  }
};

class ChoicesOfAll : public AlgorithmSelections {
 public:
  explicit ChoicesOfAll(std::vector<std::shared_ptr<const AlgorithmSelections>> all)
      : all_(std::move(all)) {}
  std::optional<AlgorithmSelection> Of(hlo::InstructionId id) const override {
    std::optional<AlgorithmSelection> out;
    for (const auto& each : all_) {
      auto choice = each->Of(id);
      if (choice && (!out || out->reason.empty())) out = std::move(choice);
    }
    return out;
  }

 private:
  std::vector<std::shared_ptr<const AlgorithmSelections>> all_;
};

}  // namespace

Result<std::shared_ptr<SeveralDevices>> SeveralDevices::Open(
    const hlo::Module& module, const compile::GpuCode& code, const hlo::DeviceCounts& counts,
    std::shared_ptr<const Device> first, const std::shared_ptr<DeviceRecorder>& recorder,
    const std::vector<std::string>& left_out, const AlgorithmSelector& chooser) {
  std::shared_ptr<SeveralDevices> out(new SeveralDevices);
  std::vector<std::shared_ptr<const Device>> gpus = {std::move(first)};
  out->ranks_ = Ranks::OfProcess();
  const int64_t count =
      out->ranks_ != nullptr ? 1 : std::min(counts.devices(), int64_t{gpus[0]->driver().devices()});
  for (int ordinal = 1; ordinal < count; ++ordinal) {
    HLOSCOPE_ASSIGN_OR_RETURN(gpus.emplace_back(), Device::Open(ordinal));
  }
  recorder->set_gpus(static_cast<int>(count));
  if (counts.devices() > 1) {
    out->collectives_ =
        std::make_shared<Collectives>(module, counts, gpus, left_out, out->ranks_, recorder);
  }
  out->first_ = std::make_unique<DevicePlans>(gpus[0], recorder, out->collectives_);
  for (size_t gpu = 1; gpu < gpus.size(); ++gpu) {
    HLOSCOPE_TRY(gpus[gpu]->Enter());
    Other& other = out->others_.emplace_back();
    HLOSCOPE_ASSIGN_OR_RETURN(other.kernels,
                              DeviceKernels::Load(module, code, gpus[gpu], recorder, false));
    HLOSCOPE_ASSIGN_OR_RETURN(other.calls, LibraryCalls::Make(module, code, *other.kernels,
                                                              gpus[gpu], left_out, chooser));
    other.plans = std::make_unique<DevicePlans>(gpus[gpu], recorder, out->collectives_);
  }
  HLOSCOPE_TRY(gpus[0]->Enter());
  return out;
}

std::unique_ptr<PlanRun> SeveralDevices::Start(const ModuleCode& code,
                                               eval::Machine& machine) const {
  if (collectives_ != nullptr) collectives_->RunsByPlan();
  if (ranks_ != nullptr) {
    if (machine.device() == ranks_->rank()) return first_->Start(code, machine);
    return std::make_unique<RemoteRankRun>(code, machine);
  }
  const auto gpu = static_cast<size_t>(machine.device()) % (1 + others_.size());
  if (gpu == 0) return first_->Start(code, machine);
  const std::lock_guard lock(mutex_);
  Other& other = others_[gpu - 1];
  if (other.code == nullptr) {
    other.code = std::make_unique<ModuleCode>(code);
    other.code->device = nullptr;  // which has this code itself
    other.code->scratch_bytes = 0;
    for (uint32_t i = 0; i < other.code->kernels.size(); ++i) {
      const compile::KernelCode*& kernel = other.code->kernels[i];
      if (kernel == nullptr) continue;
      const hlo::InstructionId id(i);
      kernel = other.kernels->Find(id);
      if (const auto* call = other.calls->Find(id); call != nullptr) kernel = call;
      // What the first GPU has code for and this one has not, the host evaluates.
      if (kernel == nullptr) continue;
      other.code->scratch_bytes = std::max(other.code->scratch_bytes, kernel->scratch_bytes);
    }
  }
  return other.plans->Start(*other.code, machine);
}

RunExecuted::Placement SeveralDevices::Place(int64_t devices, bool by_plan) const {
  if (ranks_ != nullptr) {  // a GPU each
    return {.devices = devices, .gpus = by_plan ? devices : 1, .gpus_there = devices};
  }
  return {.devices = devices,
          .gpus = by_plan ? std::min(devices, 1 + std::ssize(others_)) : 1,
          .gpus_there = first_->device()->driver().devices()};
}

std::shared_ptr<const AlgorithmSelections> SeveralDevices::Choices(
    std::shared_ptr<const AlgorithmSelections> first) const {
  std::vector<std::shared_ptr<const AlgorithmSelections>> all = {std::move(first)};
  for (const Other& other : others_) all.push_back(other.calls->choices());
  if (collectives_ != nullptr) all.push_back(collectives_->choices());
  std::erase(all, nullptr);
  if (all.size() < 2) return all.empty() ? nullptr : all[0];
  return std::make_shared<ChoicesOfAll>(std::move(all));
}

}  // namespace hloscope::replay::cuda
