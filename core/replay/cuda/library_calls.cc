// Choosing between a library and our own kernel, when a module is loaded and when a library
// refuses.
#include "core/replay/cuda/library_calls.h"

#include <algorithm>
#include <mutex>

#include "core/replay/cuda/library_work.h"

namespace hloscope::replay::cuda {
namespace {

using hlo::InstructionId;
using hlo::Opcode;
using libraries::DeviceLibrary;
using libraries::RowOf;

struct LibraryRule {
  Opcode opcode;
  DeviceLibrary library;
  LibraryMaker make;
};
constexpr LibraryRule kRules[] = {
    {Opcode::kDot, DeviceLibrary::kCublasLt, MakeProduct},
    {Opcode::kConvolution, DeviceLibrary::kCudnn, MakeConvolution},
    {Opcode::kFft, DeviceLibrary::kCufft, MakeTransform},
    {Opcode::kCholesky, DeviceLibrary::kCusolver, MakeFactor},
    {Opcode::kTriangularSolve, DeviceLibrary::kCublas, MakeSolve},
};

class LibraryCode : public DeviceCode {
 public:
  LibraryCode(DeviceInstruction instruction, std::string library,
              std::shared_ptr<const LibraryWork> work,
              std::shared_ptr<const compile::LibraryCall> own)
      : DeviceCode(std::move(instruction)),
        library_(std::move(library)),
        work_(std::move(work)),
        own_(std::move(own)) {}

  bool is_kernel() const override { return !reason().empty(); }
  bool can_be_recorded() const override { return is_kernel() || work_->can_be_recorded(); }
  int64_t launches() const override { return is_kernel() ? own().launches() : 0; }
  const std::string& library() const { return library_; }
  // Why it does not run any more; empty: it does.
  std::string reason() const {
    const std::lock_guard lock(mutex_);
    return reason_;
  }

  Status Launch(StreamHandle stream, std::span<const Address> addresses) const override {
    if (is_kernel()) return own().Launch(stream, addresses);
    Status status = Enqueue(stream, addresses);
    if (status.has_value() || status.error().error_class != ErrorClass::kUnsupported) return status;
    {
      const std::lock_guard lock(mutex_);
      reason_ = ReasonOf(status.error());
    }
    return own().Launch(stream, addresses);
  }

 private:
  const DeviceCode& own() const { return static_cast<const DeviceCode&>(*own_); }
  Status Enqueue(StreamHandle stream, std::span<const Address> addresses) const {
    const DeviceScope scope(recorder(), instruction().id, stream, [&] {
      profiler::cupti::Activity activity;
      activity.name = library_;
      return activity;
    });
    recorder().OthersLaunch();
    return work_->Enqueue(stream, addresses);
  }

  std::string library_;
  std::shared_ptr<const LibraryWork> work_;
  std::shared_ptr<const compile::LibraryCall> own_;
  mutable std::mutex mutex_;  // devices run at the same time
  mutable std::string reason_;
};

}  // namespace

bool NamesLibrary(std::string_view word) {
  return std::ranges::find(libraries::DeviceLibraryRows(), word,
                           &libraries::DeviceLibraryRow::word) !=
         libraries::DeviceLibraryRows().end();
}

class LibraryCalls::Choices : public LibraryChoices {
 public:
  std::optional<LibraryChoice> Of(InstructionId id) const override {
    if (const auto it = calls.find(id.index); it != calls.end()) {
      return LibraryChoice{it->second->library(), it->second->reason()};
    }
    const auto it = refused.find(id.index);
    return it == refused.end() ? std::nullopt : std::optional(it->second);
  }

  std::unordered_map<uint32_t, std::shared_ptr<const LibraryCode>> calls;
  std::unordered_map<uint32_t, LibraryChoice> refused;
};

LibraryCalls::LibraryCalls(const hlo::Module& module, const compile::GpuCode& code,
                           const DeviceKernels& own, const std::shared_ptr<const Device>& device,
                           const std::vector<std::string>& left_out) {
  for (const compile::GpuCode::Use& use : code.uses) {
    const InstructionId id = use.instruction;
    const auto rule = std::ranges::find(kRules, module[id].opcode, &LibraryRule::opcode);
    if (rule == std::end(kRules)) continue;
    if (choices_ == nullptr) choices_ = std::make_shared<Choices>();
    const libraries::DeviceLibraryRow& row = RowOf(rule->library);
    const auto refuse = [&](std::string name, std::string reason) {
      choices_->refused[id.index] = {std::move(name), std::move(reason)};
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
    std::string name = fmt::format("{} {}", row.name, (*library)->version());
    auto work = rule->make({module, id, device, *library});
    if (!work.has_value()) {
      refuse(std::move(name), ReasonOf(work.error()));
      continue;
    }
    const compile::KernelCode& kernel = *own.Find(id);
    DeviceInstruction instruction = static_cast<const DeviceCode&>(*kernel.library).instruction();
    compile::KernelCode& call = code_[id.index];
    call.name = name;
    call.in_place = kernel.in_place;
    call.scratch_bytes = std::max(kernel.scratch_bytes, (*work)->scratch_bytes());
    instruction.arrays.scratch = call.scratch_bytes;
    auto made = std::make_shared<LibraryCode>(std::move(instruction), std::move(name),
                                              *std::move(work), kernel.library);
    choices_->calls[id.index] = made;
    call.library = std::move(made);
  }
}

std::shared_ptr<const LibraryChoices> LibraryCalls::choices() const { return choices_; }

const compile::KernelCode* LibraryCalls::Find(InstructionId id) const {
  const auto found = code_.find(id.index);
  return found == code_.end() ? nullptr : &found->second;
}

}  // namespace hloscope::replay::cuda
