// Target: LLVM modules to objects for one processor.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "core/base/result.h"
#include "core/compile/kernel_code.h"

namespace hloscope::codegen {

using compile::Effort;

// True of the name of a GPU's architecture, as "sm_80".
bool IsGpuTarget(const std::string& name);

// A processor to write code for, with all that LLVM sets up for it. One thread at a time may use
// it.
class Target {
 public:
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  bool has_byte_products() const { return !byte_product_features_.empty(); }
  // Marks a new module as one for this processor.
  void Prepare(llvm::Module& module) const;
  // Puts small functions in the places of their calls.
  void Inline(llvm::Module& module);
  // Runs LLVM's passes over the functions of a module.
  void Optimize(llvm::Module& module);
  // The bytes of an object; not for a GPU.
  std::string ToObject(llvm::Module& module);
  // For a GPU it is PTX.
  Result<std::string> ToAssembly(llvm::Module& module);

 private:
  friend class BorrowedTarget;
  class Passes;
  class ObjectWriter;
  Target() = default;
  static Result<std::unique_ptr<Target>> Make(const std::string& cpu, Effort effort);
  static Result<std::unique_ptr<Target>> MakeGpu(const std::string& architecture);

  std::string cpu_;
  std::string byte_product_features_;  // where it has AVX512-VNNI: all features
  Effort effort_ = Effort::kUsual;
  std::unique_ptr<llvm::TargetMachine> machine_;
  std::unique_ptr<Passes> passes_;
  std::unique_ptr<ObjectWriter> writer_;
};

// A target out of those that this process keeps, since setting one up takes longer than writing a
// small kernel; it goes back behind the scope.
class BorrowedTarget {
 public:
  // `cpu`: an LLVM CPU name, or that of a GPU's architecture; empty: this machine. Unsupported
  // where LLVM does not know it.
  static Result<BorrowedTarget> Take(const std::string& cpu, Effort effort);
  BorrowedTarget(BorrowedTarget&&) noexcept = default;
  ~BorrowedTarget();

  Target* operator->() const { return target_.get(); }
  Target& operator*() const { return *target_; }

 private:
  explicit BorrowedTarget(std::unique_ptr<Target> target) : target_(std::move(target)) {}

  std::unique_ptr<Target> target_;
};

// Whether dots of bytes are kernels there: see compile::HasByteProductsFunction.
Result<bool> HasByteProducts(const std::string& cpu);

// Internal where LLVM finds a module unsound; for tests.
Status CheckSound(const llvm::Module& module);

}  // namespace hloscope::codegen
