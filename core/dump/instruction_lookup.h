// Finding the instructions of a module that a kernel, thunk or buffer is named after.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::dump {

// `name` with every character that is not a letter, digit or underscore as an underscore, as XLA
// names kernels.
std::string SanitizedName(std::string_view name);

class InstructionLookup {
 public:
  explicit InstructionLookup(const hlo::Module& module);

  const hlo::Module& module() const { return module_; }
  // The instruction of that name; invalid if there is none.
  hlo::InstructionId ByName(std::string_view name) const;
  // What a kernel of that name computes, in program order: the instruction of that name, sanitised
  // or not; for one inside a fusion, the fusion. Instructions without code are left out.
  std::vector<hlo::InstructionId> ByKernelName(std::string_view name) const;
  // The instructions that call the computation of that name, sanitised or not; for the entry
  // computation its root.
  std::vector<hlo::InstructionId> ByComputationName(std::string_view name) const;
  // Custom calls in program order whose target holds `name`, in any case: kernels that a library
  // brings along are named after them.
  std::vector<hlo::InstructionId> ByTarget(std::string_view name) const;
  // Instructions that run by themselves (outside fusions and reducers) in the order of the
  // computations that run, callees after the instruction that runs them.
  const std::vector<hlo::InstructionId>& program() const { return program_; }
  // The instruction that runs it: itself, or the fusion around it.
  hlo::InstructionId Launcher(hlo::InstructionId id) const;

 private:
  void FindFused();
  void OrderProgram();
  bool HasCode(hlo::InstructionId id) const;

  const hlo::Module& module_;
  std::unordered_map<std::string_view, hlo::InstructionId> names_;
  std::unordered_multimap<std::string, hlo::InstructionId> sanitized_;
  std::unordered_multimap<std::string, hlo::ComputationId> computations_;  // sanitised
  std::vector<bool> fused_;                                                // by computation
  std::vector<hlo::InstructionId> program_;
};

}  // namespace hloscope::dump
