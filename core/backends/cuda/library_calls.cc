// Choosing between a library and our own kernel, when a module is loaded and when a library
// refuses.
#include "core/backends/cuda/library_calls.h"

#include <algorithm>
#include <mutex>

#include "core/backends/cuda/algorithm_selector.h"

namespace hloscope::replay::cuda {
namespace {

using hlo::InstructionId;
using hlo::Opcode;
using libraries::DeviceLibrary;
using libraries::RowOf;

struct LibraryRule {
  Opcode opcode;
  DeviceLibrary library;
  LibraryMaker offer;
};
constexpr LibraryRule kRules[] = {
    {Opcode::kDot, DeviceLibrary::kCublasLt, OfferProduct},
    {Opcode::kConvolution, DeviceLibrary::kCudnn, OfferConvolution},
    {Opcode::kFft, DeviceLibrary::kCufft, OfferTransform},
    {Opcode::kCholesky, DeviceLibrary::kCusolver, OfferFactor},
    {Opcode::kCustomCall, DeviceLibrary::kCusolver, OfferFactorCall},
    {Opcode::kTriangularSolve, DeviceLibrary::kCublas, OfferSolve},
};

class LibraryCode : public DeviceCode {
 public:
  LibraryCode(DeviceInstruction instruction, AlgorithmSelection choice,
              std::shared_ptr<const LibraryWork> work,
              std::shared_ptr<const compile::LibraryCall> own)
      : DeviceCode(std::move(instruction)),
        work_(std::move(work)),
        own_(std::move(own)),
        choice_(std::move(choice)) {}

  bool is_kernel() const override { return has_refused(); }
  bool can_be_recorded() const override { return is_kernel() || work_->can_be_recorded(); }
  int64_t launches() const override { return is_kernel() ? own().launches() : 0; }
  // Our own kernel, and why, where the library does not run any more.
  AlgorithmSelection choice() const {
    const std::lock_guard lock(mutex_);
    return choice_;
  }

  Status Launch(StreamHandle stream, std::span<const Address> addresses) const override {
    if (is_kernel()) return own().Launch(stream, addresses);
    Status status = Enqueue(stream, addresses);
    if (status.has_value() || status.error().error_class != ErrorClass::kUnsupported) return status;
    {
      const std::lock_guard lock(mutex_);
      choice_.reason = ReasonOf(status.error());
      if (!choice_.way.way.empty()) {
        choice_.way.notes.push_back(
            fmt::format("{} was selected, but is refused in a launch", choice_.way.way));
        choice_.way.way = kOwnWay;
        choice_.way.time_us = 0;
      }
    }
    return own().Launch(stream, addresses);
  }

 private:
  bool has_refused() const {
    const std::lock_guard lock(mutex_);
    return !choice_.reason.empty();
  }
  const DeviceCode& own() const { return static_cast<const DeviceCode&>(*own_); }
  Status Enqueue(StreamHandle stream, std::span<const Address> addresses) const {
    const DeviceScope scope(recorder(), instruction().id, stream, [&] {
      profiler::cupti::Activity activity;
      activity.name = choice_.library;
      return activity;
    });
    recorder().OthersLaunch();
    return work_->Enqueue(stream, addresses);
  }

  std::shared_ptr<const LibraryWork> work_;
  std::shared_ptr<const compile::LibraryCall> own_;
  mutable std::mutex mutex_;  // devices run at the same time
  mutable AlgorithmSelection choice_;
};

}  // namespace

bool NamesLibrary(std::string_view word) {
  return std::ranges::find(libraries::DeviceLibraryRows(), word,
                           &libraries::DeviceLibraryRow::word) !=
         libraries::DeviceLibraryRows().end();
}

class LibraryCalls::Choices : public AlgorithmSelections {
 public:
  std::optional<AlgorithmSelection> Of(InstructionId id) const override {
    if (const auto it = calls.find(id.index); it != calls.end()) {
      return it->second->choice();
    }
    const auto it = refused.find(id.index);
    return it == refused.end() ? std::nullopt : std::optional(it->second);
  }

  std::unordered_map<uint32_t, std::shared_ptr<const LibraryCode>> calls;
  std::unordered_map<uint32_t, AlgorithmSelection> refused;
};

Result<std::unique_ptr<LibraryCalls>> LibraryCalls::Make(
    const hlo::Module& module, const compile::GpuCode& code, const DeviceKernels& own,
    const std::shared_ptr<const Device>& device, const std::vector<std::string>& left_out,
    const AlgorithmSelector& chooser) {
  std::unique_ptr<LibraryCalls> out(new LibraryCalls);
  for (const compile::GpuCode::Use& use : code.uses) {
    const InstructionId id = use.instruction;
    const auto rule = std::ranges::find(kRules, module[id].opcode, &LibraryRule::opcode);
    if (rule == std::end(kRules)) continue;
    if (out->choices_ == nullptr) out->choices_ = std::make_shared<Choices>();
    Choices& choices = *out->choices_;
    const libraries::DeviceLibraryRow& row = RowOf(rule->library);
    const auto refuse = [&](std::string name, std::string reason) {
      choices.refused[id.index] = {std::move(name), std::move(reason)};
    };
    if (std::ranges::find(left_out, row.word) != left_out.end()) {
      refuse(std::string(row.name), fmt::format("{} is left out by a flag", row.name));
      continue;
    }
    auto library = Library::Open(rule->library, device->driver().version());
    if (!library.has_value()) {
      refuse(std::string(row.name), ReasonOf(library.error()));
      continue;
    }
    const AlgorithmRequest order{module, id, device, *library};
    const auto offer = rule->offer(order);
    if (!offer.has_value()) {
      refuse(fmt::format("{} {}", row.name, (*library)->version()), ReasonOf(offer.error()));
      continue;
    }
    const compile::KernelCode& kernel = *own.Find(id);
    const auto& kernel_code = static_cast<const DeviceCode&>(*kernel.library);
    HLOSCOPE_ASSIGN_OR_RETURN(AlgorithmSelector::Chosen chosen,
                              chooser.Choose(order, *offer, kernel_code, kernel.scratch_bytes));
    if (chosen.work == nullptr) {
      choices.refused[id.index] = std::move(chosen.choice);
      continue;
    }
    DeviceInstruction instruction = kernel_code.instruction();
    compile::KernelCode& call = out->code_[id.index];
    call.name = chosen.choice.library;
    call.in_place = kernel.in_place;
    call.scratch_bytes = std::max(kernel.scratch_bytes, chosen.work->scratch_bytes());
    instruction.arrays.scratch = call.scratch_bytes;
    auto made = std::make_shared<LibraryCode>(std::move(instruction), std::move(chosen.choice),
                                              std::move(chosen.work), kernel.library);
    choices.calls[id.index] = made;
    call.library = std::move(made);
  }
  return out;
}

std::shared_ptr<const AlgorithmSelections> LibraryCalls::choices() const { return choices_; }

const compile::KernelCode* LibraryCalls::Find(InstructionId id) const {
  const auto found = code_.find(id.index);
  return found == code_.end() ? nullptr : &found->second;
}

}  // namespace hloscope::replay::cuda
