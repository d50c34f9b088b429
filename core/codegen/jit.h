// Jit: LLVM modules to objects for one processor, and objects to code in this process.
#pragma once

#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "core/base/result.h"

namespace hloscope::codegen {

// A processor to write code for. Each thread needs one of its own.
class Target {
 public:
  // `cpu`: an LLVM CPU name; empty: this machine. Unsupported where LLVM does not know it.
  static Result<Target> Make(const std::string& cpu);

  // Marks a new module as one for this processor.
  void Prepare(llvm::Module& module) const;
  // Puts small functions in the places of their calls.
  void Inline(llvm::Module& module) const;
  // Runs the passes over the functions of a module; internal where LLVM finds it unsound.
  Status Optimize(llvm::Module& module) const;
  Result<std::unique_ptr<llvm::MemoryBuffer>> ToObject(llvm::Module& module) const;
  Result<std::string> ToAssembly(llvm::Module& module) const;

 private:
  explicit Target(std::unique_ptr<llvm::TargetMachine> machine) : machine_(std::move(machine)) {}

  std::unique_ptr<llvm::TargetMachine> machine_;
};

// Code linked into this process; it reaches the symbols of the table and nothing else.
class LinkedCode {
 public:
  static Result<std::unique_ptr<LinkedCode>> Make();

  Status Add(std::unique_ptr<llvm::MemoryBuffer> object);
  // The address of a function; internal where there is none.
  Result<void*> Find(const std::string& name);

 private:
  explicit LinkedCode(std::unique_ptr<llvm::orc::LLJIT> jit) : jit_(std::move(jit)) {}

  std::unique_ptr<llvm::orc::LLJIT> jit_;
};

}  // namespace hloscope::codegen
