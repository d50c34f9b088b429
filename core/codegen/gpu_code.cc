// Kernels to LLVM IR to PTX, as for the CPU but with threads instead of vectors.
#include "core/codegen/gpu_code.h"

#include <fmt/format.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/LLVMContext.h>

#include <algorithm>

#include "core/base/jobs.h"
#include "core/codegen/different_kernels.h"
#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/narrow_integers.h"
#include "core/codegen/target.h"

namespace hloscope::codegen {
namespace {

using compile::GpuCode;
using compile::GpuKernel;
using hlo::InstructionId;

constexpr int64_t kMaxInModule = 64;

// Some different kernels, which become one text.
struct Batch {
  std::span<const InstructionId> kernels;
  size_t first = 0;  // the number of the first
  std::string ptx;
  std::vector<GpuKernel> written;
  std::vector<std::string> missing;  // by kernel; empty where it was written
  Status status;
};

// The first function of the runtime that the code calls: it runs on the CPU alone.
std::string RuntimeCallIn(const llvm::Function& function) {
  for (const llvm::Instruction& each : llvm::instructions(function)) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(&each);
    const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
    if (callee == nullptr || callee->isIntrinsic()) continue;
    if (callee->isDeclaration()) return callee->getName().str();
  }
  return {};
}

int64_t ParameterBytes(const hlo::Module& module, InstructionId id) {
  constexpr int64_t kEach = 8, kOthers = 4;  // scratch, grains, each, pass
  return kEach * (std::ssize(module.operands(id)) +
                  static_cast<int64_t>(module.shape(id).LeafCount()) + kOthers);
}

bool IsLarge(const hlo::Module& module, InstructionId id) {
  return ParameterBytes(module, id) > compile::kGpuParameterBytes;
}

// LLVM writes the oldest version that an architecture has.
void AllowLargeParameters(std::string& ptx) {
  constexpr std::string_view kVersion = ".version ";
  const size_t at = ptx.find(kVersion);
  if (at == std::string::npos || ptx.substr(at + kVersion.size(), 1) > "7") return;
  ptx.replace(at, ptx.find('\n', at) + 1 - at, compile::kLargeParametersPtx);
}

std::string WhyNotWritten(const llvm::Module& code, const EmittedKernel& kernel) {
  if (!kernel.is_complete) return "our compiler does not generate GPU code for it yet";
  for (const llvm::Function& function : code) {
    const std::string name = function.getName().str();
    if (name != kernel.code.name && name != kernel.code.name + kFinishSuffix) continue;
    const std::string call = RuntimeCallIn(function);
    if (!call.empty())
      return fmt::format("our compiler does not generate GPU code for {} yet", call);
  }
  return {};
}

// How many grains there are, and how many threads and blocks, is known once a kernel is written,
// and the same in every launch.
void FixNumbers(llvm::Function& function, const GpuKernel& kernel) {
  llvm::IRBuilder<> b(function.getContext());
  constexpr size_t kBehindGrains = 3;  // itself, each, pass
  llvm::Argument* const grains =
      function.getArg(static_cast<unsigned>(function.arg_size() - kBehindGrains));
  grains->replaceAllUsesWith(b.getInt64(static_cast<uint64_t>(kernel.grains)));
  const bool is_finish = function.getName() != kernel.name;
  const compile::GpuGrid grid = is_finish ? compile::GpuGrid{1, 1} : GridOf(kernel);
  SayOfLaunch(function, grid.blocks, grid.threads);
  for (llvm::Instruction& each : llvm::make_early_inc_range(llvm::instructions(function))) {
    auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(&each);
    if (call == nullptr || call->getIntrinsicID() != llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x) {
      continue;
    }
    call->replaceAllUsesWith(b.getInt32(static_cast<uint32_t>(grid.threads)));
    call->eraseFromParent();
  }
}

void Emit(const hlo::Module& module, llvm::Module& code, Batch& batch) {
  for (size_t i = 0; i < batch.kernels.size(); ++i) {
    const InstructionId id = batch.kernels[i];
    const std::string name = SymbolName(module, id, batch.first + i);
    if (const int64_t bytes = ParameterBytes(module, id);
        bytes > compile::kLargeGpuParameterBytes) {
      GpuKernel& left_out = batch.written.emplace_back();
      left_out.name = name;
      left_out.passes = {0};
      batch.missing.push_back(
          fmt::format("its parameters take {} bytes, and PTX has no more than {}", bytes,
                      compile::kLargeGpuParameterBytes));
      continue;
    }
    const EmittedKernel emitted = EmitKernel(code, Kernel(module, id, Machine::kGpu), name);
    batch.missing.push_back(WhyNotWritten(code, emitted));
    GpuKernel& kernel = batch.written.emplace_back();
    kernel.name = name;
    if (emitted.has_finish) kernel.finish = name + kFinishSuffix;
    kernel.grains = emitted.code.grains;
    kernel.block = emitted.block;
    kernel.passes = emitted.passes.empty() ? std::vector<int64_t>{0} : emitted.passes;
    kernel.scratch_bytes = emitted.code.scratch_bytes;
    kernel.in_place = emitted.code.in_place;
    const bool is_written = batch.missing.back().empty();
    for (const std::string& each : {name, name + kFinishSuffix}) {
      llvm::Function* const function = code.getFunction(each);
      if (function == nullptr) continue;
      is_written ? FixNumbers(*function, kernel) : function->eraseFromParent();
    }
  }
  // What was called by none that stayed.
  std::vector<llvm::Function*> unused;
  for (llvm::Function& function : code) {
    if (function.use_empty() && function.isDeclaration()) unused.push_back(&function);
  }
  for (llvm::Function* function : unused) function->eraseFromParent();
}

Status CompileBatch(const hlo::Module& module, const compile::GpuCodeOptions& options,
                    Batch& batch) {
  HLOSCOPE_ASSIGN_OR_RETURN(const BorrowedTarget target,
                            BorrowedTarget::Take(options.target, compile::Effort::kUsual));
  llvm::LLVMContext context;
  llvm::Module code("kernels", context);
  target->Prepare(code);
  Emit(module, code, batch);
  if (options.verify) HLOSCOPE_TRY(CheckSound(code));
  target->Optimize(code);
  HLOSCOPE_ASSIGN_OR_RETURN(batch.ptx, target->ToAssembly(code));
  if (std::ranges::any_of(batch.kernels, [&](InstructionId id) { return IsLarge(module, id); })) {
    AllowLargeParameters(batch.ptx);
  }
  return {};
}

// A kernel of many parameters has a text of its own: not every driver takes it.
std::vector<Batch> Cut(const hlo::Module& module, const DifferentKernels& different, int threads,
                       bool one_text) {
  std::vector<Batch> batches;
  const std::span<const InstructionId> all = different.kernels;
  const auto share = static_cast<int64_t>(all.size()) / threads + 1;
  const auto size = one_text ? all.size() : static_cast<size_t>(std::min(share, kMaxInModule));
  // One text is there for no kernels too.
  for (size_t i = 0; i < all.size() || (one_text && batches.empty());) {
    Batch& batch = batches.emplace_back();
    batch.first = i;
    size_t count = std::min(size, all.size() - i);
    if (!one_text) {
      const auto large = std::ranges::find_if(
          all.subspan(i, count), [&](InstructionId id) { return IsLarge(module, id); });
      const auto before = static_cast<size_t>(large - all.subspan(i, count).begin());
      if (before < count) count = std::max<size_t>(before, 1);
    }
    batch.kernels = all.subspan(i, count);
    i += count;
  }
  return batches;
}

}  // namespace

Result<GpuCode> GenerateGpuCode(std::shared_ptr<const hlo::Module> module,
                                std::span<const InstructionId> kernels,
                                const compile::GpuCodeOptions& options) {
  const DifferentKernels different = FindDifferent(*module, kernels, compile::Effort::kUsual);
  const int threads = options.threads > 0 ? options.threads : AvailableCpus();
  std::vector<Batch> batches = Cut(*module, different, threads, options.one_text);
  HLOSCOPE_TRY(ParallelFor(std::ssize(batches), threads, [&](int64_t i) {
    Batch& batch = batches[static_cast<size_t>(i)];
    batch.status = CompileBatch(*module, options, batch);
  }));
  GpuCode out;
  std::vector<std::string> missing;
  for (Batch& batch : batches) {
    HLOSCOPE_TRY(batch.status);
    for (GpuKernel& kernel : batch.written) {
      kernel.module = out.modules.size();
      out.kernels.push_back(std::move(kernel));
    }
    missing.insert(missing.end(), batch.missing.begin(), batch.missing.end());
    out.modules.push_back(std::move(batch.ptx));
  }
  for (size_t i = 0; i < kernels.size(); ++i) {
    const size_t kernel = different.use[i];
    if (missing[kernel].empty()) {
      out.uses.push_back({kernels[i], kernel});
    } else {
      out.refused.push_back({kernels[i], missing[kernel]});
    }
  }
  return out;
}

}  // namespace hloscope::codegen
