// EmitKernel: the functions of one kernel.
#pragma once

#include <llvm/IR/Module.h>

#include <string>

#include "core/codegen/emit/kernel.h"
#include "core/compile/dot_form.h"
#include "core/compile/fusion/row_form.h"
#include "core/linking/kernel_objects.h"

namespace hloscope::codegen {

using linking::EmittedKernel;
using linking::kFinishSuffix;

// What is known of a kernel that is run through in units, `grain` of them in a grain, each of which
// reads and writes about `unit_bytes`; all results are written whole.
EmittedKernel InGrains(const std::string& name, int64_t units, int64_t grain, int64_t unit_bytes,
                       size_t results);

// The dot of a kernel: its root, or the one whose elements its roots are computed of.
hlo::InstructionId DotOf(const Kernel& kernel);

// Writes the functions of the kernel into the module.
EmittedKernel EmitKernel(llvm::Module& module, const Kernel& kernel, const std::string& name);

// By what the roots are.
EmittedKernel EmitConcatenate(llvm::Module& module, const Kernel& kernel, const std::string& name);
EmittedKernel EmitConvolution(llvm::Module& module, const Kernel& kernel, const std::string& name);
EmittedKernel EmitDot(llvm::Module& module, const Kernel& kernel, const std::string& name);
EmittedKernel EmitLinearAlgebra(llvm::Module& module, const Kernel& kernel,
                                const std::string& name);
EmittedKernel EmitLoop(llvm::Module& module, const Kernel& kernel, const std::string& name);
EmittedKernel EmitUpdate(llvm::Module& module, const Kernel& kernel, const std::string& name);
EmittedKernel EmitScatter(llvm::Module& module, const Kernel& kernel, const std::string& name);
EmittedKernel EmitGpuScatter(llvm::Module& module, const Kernel& kernel, const std::string& name);
EmittedKernel EmitReduceWindow(llvm::Module& module, const Kernel& kernel, const std::string& name);
EmittedKernel EmitRows(llvm::Module& module, const Kernel& kernel, const std::string& name,
                       const compile::RowForm& form);
EmittedKernel EmitRandomBits(llvm::Module& module, const Kernel& kernel, const std::string& name);
EmittedKernel EmitSelectAndScatter(llvm::Module& module, const Kernel& kernel,
                                   const std::string& name);
EmittedKernel EmitGpuConvolution(llvm::Module& module, const Kernel& kernel,
                                 const std::string& name);
EmittedKernel EmitGpuDot(llvm::Module& module, const Kernel& kernel, const std::string& name);
EmittedKernel EmitGpuFft(llvm::Module& module, const Kernel& kernel, const std::string& name);
// cholesky, and custom calls that factor matrices.
EmittedKernel EmitGpuFactor(llvm::Module& module, const Kernel& kernel, const std::string& name);
EmittedKernel EmitGpuSolve(llvm::Module& module, const Kernel& kernel, const std::string& name);
EmittedKernel EmitGpuLoop(llvm::Module& module, const Kernel& kernel, const std::string& name);
EmittedKernel EmitGpuReduce(llvm::Module& module, const Kernel& kernel, const std::string& name);
EmittedKernel EmitGpuRows(llvm::Module& module, const Kernel& kernel, const std::string& name,
                          const compile::RowForm& form);
// Whether tensor cores can do a dot.
bool FitsTensorCores(const Kernel& kernel);
EmittedKernel EmitGpuTensorDot(llvm::Module& module, const Kernel& kernel, const std::string& name,
                               const compile::DotForm& form);
EmittedKernel EmitGpuSort(llvm::Module& module, const Kernel& kernel, const std::string& name);
EmittedKernel EmitSort(llvm::Module& module, const Kernel& kernel, const std::string& name);
EmittedKernel EmitReduce(llvm::Module& module, const Kernel& kernel, const std::string& name);

}  // namespace hloscope::codegen
