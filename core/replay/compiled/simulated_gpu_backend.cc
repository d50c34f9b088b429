// Our own GPU kernels, launched on the simulated GPU one after the other.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/base/jobs.h"
#include "core/compile/gpu_code.h"
#include "core/ptx/ptx.h"
#include "core/replay/codegen_entry.h"
#include "core/replay/compiled/backend.h"

namespace hloscope::replay {
namespace {

using compile::GpuCode;
using compile::GpuKernel;
using hlo::InstructionId;

constexpr int64_t kThreadsOfBlock = 128;

// A parameter of eight bytes that is no address.
ptx::Argument Number(int64_t value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  return {{}, std::vector(bytes.begin(), bytes.end())};
}

// What the launches of a run keep to.
struct LaunchRules {
  compile::RunBounds bounds;

  ptx::LaunchOptions Options() const {
    ptx::LaunchOptions options;
    options.threads = bounds.threads > 0 ? bounds.threads : AvailableCpus();
    options.deadline = bounds.deadline;
    options.stop = bounds.stop;
    return options;
  }
};

// A kernel as the launch of its grains, and of its second entry where it has one.
class Launches : public compile::LibraryCall {
 public:
  Launches(const hlo::Module& module, InstructionId id, const ptx::Module& code, GpuKernel kernel,
           const LaunchRules& rules)
      : code_(code), kernel_(std::move(kernel)), rules_(rules) {
    for (const InstructionId operand : module.operands(id)) {
      operand_bytes_.push_back(Bytes(module.shape(operand)));
    }
    for (const auto& [index, shape] : module.shape(id).Leaves()) {
      result_bytes_.push_back(Bytes(*shape));
    }
  }

  bool is_kernel() const override { return true; }

  Status Run(const std::byte* const* operands, std::byte* const* results, std::byte* scratch,
             int64_t, int64_t) const override {
    ptx::LaunchRequest request;
    const auto add = [&](const std::byte* address, size_t bytes) {
      request.arguments.push_back({{const_cast<std::byte*>(address), bytes}, {}});
    };
    for (size_t i = 0; i < operand_bytes_.size(); ++i) add(operands[i], operand_bytes_[i]);
    for (size_t i = 0; i < result_bytes_.size(); ++i) add(results[i], result_bytes_[i]);
    add(scratch, static_cast<size_t>(kernel_.scratch_bytes));
    const int64_t threads = std::min(kThreadsOfBlock, kernel_.grains);
    HLOSCOPE_TRY(Launch(request, kernel_.name, (kernel_.grains - 1) / threads + 1, threads, 1));
    if (kernel_.finish.empty()) return {};
    return Launch(request, kernel_.finish, 1, 1, kernel_.grains);
  }

 private:
  static size_t Bytes(const hlo::Shape& shape) {
    return static_cast<size_t>(shape.ByteSize().value_or(0));
  }

  Status Launch(ptx::LaunchRequest request, const std::string& entry, int64_t blocks,
                int64_t threads, int64_t each) const {
    request.entry = entry;
    request.grid[0] = static_cast<uint32_t>(blocks);
    request.block[0] = static_cast<uint32_t>(threads);
    request.arguments.push_back(Number(kernel_.grains));
    request.arguments.push_back(Number(each));
    HLOSCOPE_ASSIGN_OR_RETURN(const ptx::LaunchResult result,
                              ptx::Launch(code_, request, rules_.Options()));
    if (result.fault) return InternalError("our own code for a GPU: " + result.fault->ToString());
    if (result.counters.padding_bytes > 0) {
      return InternalError(fmt::format("our own code for a GPU: {} reads behind an array", entry));
    }
    return {};
  }

  const ptx::Module& code_;
  GpuKernel kernel_;
  const LaunchRules& rules_;
  std::vector<size_t> operand_bytes_, result_bytes_;
};

class SimulatedKernels : public compile::KernelLibrary {
 public:
  static Result<std::unique_ptr<SimulatedKernels>> Make(const hlo::Module& module, GpuCode code) {
    std::unique_ptr<SimulatedKernels> out(new SimulatedKernels);
    for (size_t i = 0; i < code.modules.size(); ++i) {
      auto parsed = ptx::Module::Parse(std::move(code.modules[i]), fmt::format("part_{}.ptx", i));
      if (!parsed.has_value()) return InternalError(parsed.error().ToString());
      for (const ptx::EntryInfo& entry : parsed->entries()) {
        if (entry.unsupported.empty()) continue;
        return InternalError("our own code for a GPU: " + entry.unsupported[0].ToString());
      }
      out->modules_.push_back(std::make_unique<ptx::Module>(*std::move(parsed)));
    }
    out->count_ = std::ssize(code.kernels);
    for (const GpuCode::Use& use : code.uses) {
      const GpuKernel& kernel = code.kernels[use.kernel];
      compile::KernelCode& launched = out->code_[use.instruction.index];
      launched.name = kernel.name;
      launched.scratch_bytes = kernel.scratch_bytes;
      launched.in_place = kernel.in_place;
      launched.library = std::make_shared<Launches>(
          module, use.instruction, *out->modules_[kernel.module], kernel, out->rules_);
    }
    return out;
  }

  const compile::KernelCode* Find(InstructionId id) const override {
    const auto found = code_.find(id.index);
    return found == code_.end() ? nullptr : &found->second;
  }
  int64_t function_count() const override { return count_; }
  void Begin(const compile::RunBounds& bounds) override { rules_.bounds = bounds; }

 private:
  SimulatedKernels() = default;

  std::vector<std::unique_ptr<ptx::Module>> modules_;
  std::unordered_map<uint32_t, compile::KernelCode> code_;
  int64_t count_ = 0;
  LaunchRules rules_;
};

class SimulatedGpuBackend : public Backend {
 public:
  void Ask(compile::CompileOptions& how) const override { how.library_calls = false; }
  std::string CacheTarget() const override { return {}; }

  Result<WrittenCode> Write(const compile::Compilation& compilation, const RunOptions& options,
                            std::string*) const override {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto generate, CodegenEntry<compile::GenerateGpuCodeFunction>(
                                                       compile::kGenerateGpuCode));
    HLOSCOPE_ASSIGN_OR_RETURN(GpuCode code,
                              generate(compilation.module, compilation.kernels,
                                       {.threads = options.threads, .target = "sm_80"}));
    WrittenCode out;
    for (GpuCode::Refused& refused : code.refused) {
      out.missing.emplace(refused.instruction, std::move(refused.why));
    }
    HLOSCOPE_ASSIGN_OR_RETURN(out.libraries.emplace_back(),
                              SimulatedKernels::Make(*compilation.module, std::move(code)));
    return out;
  }

  Result<WrittenCode> Keep(const compile::Compilation&,
                           std::unique_ptr<compile::KernelLibrary>) const override {
    return InternalError("code for a GPU is not kept");
  }
};

}  // namespace

std::unique_ptr<Backend> MakeSimulatedGpuBackend() {
  return std::make_unique<SimulatedGpuBackend>();
}

}  // namespace hloscope::replay
