// GenerateKernels: kernels to LLVM IR to machine code. Equal kernels are written once; modules of
// them are compiled on several threads and linked in order.
#include "core/codegen/generate.h"

#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "core/base/jobs.h"
#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/loop_function.h"
#include "core/codegen/jit.h"

namespace hloscope::codegen {
namespace {

using compile::CodegenOptions;
using compile::KernelCode;
using hlo::InstructionId;

constexpr int64_t kLeastInModule = 8, kMostInModule = 64;

class Library : public compile::KernelLibrary {
 public:
  const KernelCode* Find(InstructionId id) const override {
    const auto found = by_instruction.find(id.index);
    return found == by_instruction.end() ? nullptr : found->second;
  }
  const compile::LoopCode* FindLoop(InstructionId id) const override {
    const auto found = loops.find(id.index);
    return found == loops.end() ? nullptr : &found->second;
  }
  int64_t function_count() const override { return static_cast<int64_t>(codes.size()); }

  std::unique_ptr<LinkedCode> linked;
  std::vector<std::unique_ptr<KernelCode>> codes;
  std::unordered_map<uint32_t, const KernelCode*> by_instruction;
  std::unordered_map<uint32_t, compile::LoopCode> loops;
};

// Some different kernels, or a loop of a plan, which become one LLVM module.
struct Batch {
  std::vector<EmittedKernel> emitted;
  const compile::PlannedStep* loop = nullptr;
  std::optional<int64_t> loop_scratch;  // once it is written
  std::unique_ptr<llvm::MemoryBuffer> object;
  std::string llvm_ir, assembly;
  Status status;
};

// "k12_fusion_3": a name that no other kernel has and LLVM, assemblers and people can read.
std::string SymbolName(const hlo::Module& module, InstructionId id, size_t number) {
  std::string name = fmt::format("k{}_{}", number, module.name(id));
  for (char& c : name) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!fits) c = '_';
  }
  return name;
}

std::string LoopName(const Batch& batch) { return fmt::format("loop_{}", batch.loop->number); }

Status Finish(const Target& target, llvm::Module& code, const CodegenOptions& options,
              Batch& batch) {
  if (options.llvm_ir != nullptr) {
    llvm::raw_string_ostream stream(batch.llvm_ir);
    code.print(stream, nullptr);
  }
  HLOSCOPE_TRY(target.Optimize(code));
  if (options.assembly != nullptr) {
    HLOSCOPE_ASSIGN_OR_RETURN(batch.assembly, target.ToAssembly(*llvm::CloneModule(code)));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(batch.object, target.ToObject(code));
  return {};
}

Status CompileBatch(const hlo::Module& module, std::span<const InstructionId> kernels, size_t first,
                    const CodegenOptions& options, Batch& batch) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Target target, Target::Make(options.target));
  llvm::LLVMContext context;
  llvm::Module code("kernels", context);
  target.Prepare(code);
  for (size_t i = 0; i < kernels.size(); ++i) {
    const std::string name = SymbolName(module, kernels[i], first + i);
    batch.emitted.push_back(EmitKernel(code, Kernel(module, kernels[i]), name));
    if (batch.emitted.back().is_complete) continue;
    for (const std::string& each : {name, name + kFinishSuffix}) {
      if (llvm::Function* function = code.getFunction(each)) function->eraseFromParent();
    }
  }
  return Finish(target, code, options, batch);
}

Status CompileLoop(const CodegenOptions& options, Batch& batch) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Target target, Target::Make(options.target));
  llvm::LLVMContext context;
  llvm::Module code("loop", context);
  target.Prepare(code);
  batch.loop_scratch = EmitLoopFunction(code, *options.plan, *batch.loop, LoopName(batch));
  if (!batch.loop_scratch) return {};
  target.Inline(code);
  return Finish(target, code, options, batch);
}

Status Link(Library& library, std::vector<Batch>& batches, std::vector<const KernelCode*>& codes) {
  HLOSCOPE_ASSIGN_OR_RETURN(library.linked, LinkedCode::Make());
  for (Batch& batch : batches) {
    if (batch.object != nullptr) HLOSCOPE_TRY(library.linked->Add(std::move(batch.object)));
  }
  for (Batch& batch : batches) {
    for (EmittedKernel& kernel : batch.emitted) {
      codes.push_back(nullptr);
      if (!kernel.is_complete) continue;
      KernelCode& code =
          *library.codes.emplace_back(std::make_unique<KernelCode>(std::move(kernel.code)));
      HLOSCOPE_ASSIGN_OR_RETURN(void* run, library.linked->Find(code.name));
      code.run = reinterpret_cast<compile::GrainFunction>(run);
      if (kernel.has_finish) {
        HLOSCOPE_ASSIGN_OR_RETURN(void* finish, library.linked->Find(code.name + kFinishSuffix));
        code.finish = reinterpret_cast<compile::GrainFunction>(finish);
      }
      codes.back() = &code;
    }
  }
  for (const Batch& batch : batches) {
    if (!batch.loop_scratch) continue;
    HLOSCOPE_ASSIGN_OR_RETURN(void* run, library.linked->Find(LoopName(batch)));
    library.loops[batch.loop->id.index] = {reinterpret_cast<compile::LoopFunction>(run),
                                           *batch.loop_scratch};
  }
  return {};
}

// The outermost loops of the plan that are one function.
std::vector<const compile::PlannedStep*> LoopsOf(const compile::Plan* plan) {
  std::vector<const compile::PlannedStep*> out;
  if (plan == nullptr) return out;
  std::vector<compile::SequenceNumber> open = {0};
  while (!open.empty()) {
    const compile::SequenceNumber s = open.back();
    open.pop_back();
    for (const compile::PlannedStep& step : plan->sequences[s]) {
      if (step.is_one_function) {
        out.push_back(&step);
      } else {
        open.insert(open.end(), step.sequences.begin(), step.sequences.end());
      }
    }
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<compile::KernelLibrary>> GenerateKernels(
    std::shared_ptr<const hlo::Module> module, std::span<const InstructionId> kernels,
    const CodegenOptions& options) {
  std::vector<InstructionId> different;
  std::vector<size_t> which;  // by kernel: its number among the different ones
  std::unordered_map<std::string, size_t> by_key;
  for (InstructionId id : kernels) {
    const auto [found, is_new] = by_key.emplace(KeyOf(Kernel(*module, id)), different.size());
    if (is_new) different.push_back(id);
    which.push_back(found->second);
  }
  auto library = std::make_unique<Library>();
  if (different.empty()) return library;
  const int threads = options.threads > 0 ? options.threads : AvailableCpus();
  const auto count = static_cast<int64_t>(different.size());
  const int64_t size = std::clamp(count / (2 * threads), kLeastInModule, kMostInModule);
  const int64_t of_kernels = (count - 1) / size + 1;
  const std::vector<const compile::PlannedStep*> loops = LoopsOf(options.plan);
  std::vector<Batch> batches(static_cast<size_t>(of_kernels) + loops.size());
  HLOSCOPE_TRY(ParallelFor(std::ssize(batches), threads, [&](int64_t i) {
    Batch& batch = batches[static_cast<size_t>(i)];
    if (i >= of_kernels) {
      batch.loop = loops[static_cast<size_t>(i - of_kernels)];
      batch.status = CompileLoop(options, batch);
      return;
    }
    const auto first = static_cast<size_t>(i * size);
    const auto some = std::span(different).subspan(
        first, std::min(static_cast<size_t>(size), different.size() - first));
    batch.status = CompileBatch(*module, some, first, options, batch);
  }));
  for (Batch& batch : batches) {
    HLOSCOPE_TRY(batch.status);
    if (options.llvm_ir != nullptr) *options.llvm_ir += batch.llvm_ir;
    if (options.assembly != nullptr) *options.assembly += batch.assembly;
  }
  std::vector<const KernelCode*> codes;
  HLOSCOPE_TRY(Link(*library, batches, codes));
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (codes[which[i]] != nullptr) library->by_instruction[kernels[i].index] = codes[which[i]];
  }
  return library;
}

}  // namespace hloscope::codegen
