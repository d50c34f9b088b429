// GenerateKernels: kernels to LLVM IR to machine code. Equal kernels are written once; modules of
// them are compiled on several threads and linked in order.
#include "core/codegen/generate.h"

#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>

#include "core/base/jobs.h"
#include "core/codegen/different_kernels.h"
#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/loop_function.h"
#include "core/codegen/target.h"
#include "core/compile/kernel_rules.h"
#include "core/linking/kernel_objects.h"

namespace hloscope::codegen {
namespace {

using compile::CodegenOptions;
using hlo::InstructionId;

constexpr int64_t kMinInModule = 2, kMaxInModule = 64;

// Some different kernels, or a loop of a plan, which become one LLVM module.
struct Batch {
  std::span<const InstructionId> kernels;
  size_t first = 0;  // the number of the first
  const compile::PlannedStep* loop = nullptr;
  Effort effort = Effort::kUsual;
  linking::KernelObjects::Object written;
  compile::CodePart part;
  Status status;
};

std::string TextOf(const llvm::Module& code) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  code.print(stream, nullptr);
  return text;
}

Status Finish(Target& target, llvm::Module& code, const CodegenOptions& options, Batch& batch) {
  const bool wants_parts = options.parts != nullptr;
  if (wants_parts || options.llvm_ir != nullptr) batch.part.llvm_ir = TextOf(code);
  if (options.verify) HLOSCOPE_TRY(CheckSound(code));
  target.Optimize(code);
  if (wants_parts) batch.part.optimized_llvm_ir = TextOf(code);
  if (wants_parts || options.assembly != nullptr) {
    HLOSCOPE_ASSIGN_OR_RETURN(batch.part.assembly, target.ToAssembly(*llvm::CloneModule(code)));
  }
  batch.written.bytes = target.ToObject(code);
  return {};
}

void EmitKernels(const hlo::Module& module, llvm::Module& code, const Overwritten& overwritten,
                 Batch& batch) {
  for (size_t i = 0; i < batch.kernels.size(); ++i) {
    const InstructionId id = batch.kernels[i];
    const std::string name = SymbolName(module, id, batch.first + i);
    batch.written.kernels.push_back(EmitKernel(code, Kernel(module, id, overwritten), name));
    if (batch.written.kernels.back().is_complete) continue;
    for (const std::string& each : {name, name + kFinishSuffix}) {
      if (llvm::Function* function = code.getFunction(each)) function->eraseFromParent();
    }
  }
}

Status CompileBatch(const hlo::Module& module, const CodegenOptions& options,
                    const Overwritten& overwritten, Batch& batch) {
  HLOSCOPE_ASSIGN_OR_RETURN(const BorrowedTarget target,
                            BorrowedTarget::Take(options.target, batch.effort));
  llvm::LLVMContext context;
  llvm::Module code("kernels", context);
  target->Prepare(code);
  if (batch.loop == nullptr) {
    EmitKernels(module, code, overwritten, batch);
    return Finish(*target, code, options, batch);
  }
  const std::string name = fmt::format("loop_{}", batch.loop->number);
  const auto scratch = EmitLoopFunction(code, *options.plan, *batch.loop, name);
  if (!scratch) return {};
  batch.written.loops.push_back({name, batch.loop->number, *scratch});
  target->Inline(code);
  return Finish(*target, code, options, batch);
}

// The texts that were asked for.
void HandOut(Batch& batch, const CodegenOptions& options) {
  if (options.llvm_ir != nullptr) *options.llvm_ir += batch.part.llvm_ir;
  if (options.assembly != nullptr) *options.assembly += batch.part.assembly;
  if (options.parts == nullptr || batch.written.bytes.empty()) return;
  batch.part.name = fmt::format("part_{}", options.parts->size());
  batch.part.object = {batch.written.bytes.begin(), batch.written.bytes.end()};
  options.parts->push_back(std::move(batch.part));
}

// Batches of one effort each, for `threads` to share. `first`: so many kernels were written before.
std::vector<Batch> Cut(const DifferentKernels& different,
                       std::span<const compile::PlannedStep* const> loops, int threads,
                       size_t first) {
  std::vector<Batch> batches;
  const auto cut = [&](size_t begin, size_t end, Effort effort) {
    const auto share = static_cast<int64_t>(end - begin) / (2 * threads);
    const auto size = static_cast<size_t>(std::clamp(share, kMinInModule, kMaxInModule));
    for (size_t i = begin; i < end; i += size) {
      Batch& batch = batches.emplace_back();
      batch.kernels = std::span(different.kernels).subspan(i, std::min(size, end - i));
      batch.first = first + i;
      batch.effort = effort;
    }
  };
  for (const compile::PlannedStep* const loop : loops) batches.emplace_back().loop = loop;
  cut(0, different.least_effort, Effort::kLeast);
  cut(different.least_effort, different.kernels.size(), Effort::kUsual);
  return batches;
}

// Writes code, and what there is no code for in pieces: the kernels of a loop that cannot be one
// function, the instructions of a fusion.
class Generation {
 public:
  Generation(const hlo::Module& module, const CodegenOptions& options)
      : module_(module),
        options_(options),
        threads_(options.threads > 0 ? options.threads : AvailableCpus()),
        is_asked_(module.instructions().size(), false) {}

  Status Run(std::span<const InstructionId> kernels) {
    std::vector<const compile::PlannedStep*> loops;
    if (options_.plan != nullptr) loops = OneFunctionLoopsOf(*options_.plan);
    std::vector<InstructionId> asked(kernels.begin(), kernels.end());
    FindOverwritten(kernels);
    for (const InstructionId id : asked) is_asked_[id.index] = true;
    while (!asked.empty() || !loops.empty()) {
      HLOSCOPE_ASSIGN_OR_RETURN(asked, Round(asked, loops));
      loops.clear();
    }
    return {};
  }
  linking::KernelObjects Take() { return std::move(written_); }

 private:
  void FindOverwritten(std::span<const InstructionId> kernels) {
    if (options_.plan != nullptr) overwritten_ = compile::OverwrittenBy(*options_.plan);
    if (!options_.overwrites_all) return;
    for (const InstructionId id : kernels) {
      const std::vector<bool> may_be = compile::OverwritableOperands(module_, id);
      for (size_t k = 0; k < may_be.size(); ++k) {
        if (may_be[k]) overwritten_[id.index].push_back(k);
      }
    }
  }

  // Returns the pieces of what has no code.
  Result<std::vector<InstructionId>> Round(std::span<const InstructionId> asked,
                                           std::span<const compile::PlannedStep* const> loops) {
    const DifferentKernels different = FindDifferent(module_, asked, options_.effort, overwritten_);
    std::vector<Batch> batches = Cut(different, loops, threads_, count_);
    HLOSCOPE_TRY(ParallelFor(std::ssize(batches), threads_, [&](int64_t i) {
      Batch& batch = batches[static_cast<size_t>(i)];
      batch.status = CompileBatch(module_, options_, overwritten_, batch);
    }));
    std::vector<InstructionId> pieces;
    std::vector<bool> is_complete;
    for (Batch& batch : batches) {
      HLOSCOPE_TRY(batch.status);
      if (batch.loop != nullptr && batch.written.loops.empty()) AddKernelsOf(*batch.loop, pieces);
      for (const auto& kernel : batch.written.kernels) is_complete.push_back(kernel.is_complete);
      HandOut(batch, options_);
      written_.objects.push_back(std::move(batch.written));
    }
    for (size_t i = 0; i < asked.size(); ++i) {
      const size_t kernel = different.use[i];
      written_.uses.push_back({asked[i].index, static_cast<uint32_t>(count_ + kernel)});
      if (!is_complete[kernel]) AddInstructionsOf(asked[i], pieces);
    }
    count_ += different.kernels.size();
    return pieces;
  }

  void Add(InstructionId id, std::vector<InstructionId>& pieces) {
    if (is_asked_[id.index] || !compile::IsKernel(module_, id)) return;
    is_asked_[id.index] = true;
    pieces.push_back(id);
  }

  void AddKernelsOf(const compile::PlannedStep& loop, std::vector<InstructionId>& pieces) {
    for (const compile::SequenceNumber s : loop.sequences) {
      compile::ForEachStep(*options_.plan, s, [&](const compile::PlannedStep& step) {
        if (step.kind == compile::StepKind::kKernel) Add(step.id, pieces);
      });
    }
  }

  void AddInstructionsOf(InstructionId fusion, std::vector<InstructionId>& pieces) {
    if (module_[fusion].opcode != hlo::Opcode::kFusion) return;
    for (const InstructionId id : Kernel(module_, fusion).instructions) Add(id, pieces);
  }

  const hlo::Module& module_;
  const CodegenOptions& options_;
  int threads_;
  Overwritten overwritten_;
  std::vector<bool> is_asked_;  // by instruction
  linking::KernelObjects written_;
  size_t count_ = 0;  // kernels that were written
};

}  // namespace

Result<std::unique_ptr<compile::KernelLibrary>> GenerateKernels(
    std::shared_ptr<const hlo::Module> module, std::span<const InstructionId> kernels,
    const CodegenOptions& options) {
  Generation generation(*module, options);
  HLOSCOPE_TRY(generation.Run(kernels));
  linking::KernelObjects written = generation.Take();
  if (options.image != nullptr) *options.image = linking::ToImage(written);
  return linking::Link(std::move(written));
}

}  // namespace hloscope::codegen
