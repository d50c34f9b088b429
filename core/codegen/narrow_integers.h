// NarrowIntegers: integers of 64 bits are computed in 32 where their ranges allow. Indices and
// places of elements are, in arrays of fewer than 2^31 elements: a GPU has registers of 32 bits,
// and what is done to 64 takes it several instructions.
#pragma once

#include <llvm/IR/PassManager.h>

#include <cstdint>

namespace hloscope::codegen {

// A pass over LLVM IR. What is known of ranges is what LLVM can prove (the numbers of threads and
// blocks, conditions on the way, counters of loops), so every value stays as it was; a comparison
// that always has one outcome becomes that.
class NarrowIntegersPass : public llvm::PassInfoMixin<NarrowIntegersPass> {
 public:
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses);
};

// That a kernel is launched in so many blocks of so many threads, which the pass counts on.
// As attributes that this pass alone reads, not as ranges of the intrinsics: InstCombine would turn
// sums of thread numbers into `or`s, which other passes do not take for addresses.
void SayOfLaunch(llvm::Function& kernel, int64_t blocks, int64_t threads);

}  // namespace hloscope::codegen
