// Finding the instructions of a module that a kernel, thunk or buffer is named after.
#pragma once

#include <compare>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::dump {

// `name` with every character that is not a letter, digit or underscore as an underscore, as XLA
// names kernels.
std::string SanitizedName(std::string_view name);

class InstructionLookup {
 public:
  explicit InstructionLookup(std::shared_ptr<const hlo::Module> module);

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
  // The collective that a generated kernel of that name, "NAME_fusion", runs: the one of that name,
  // sanitised, or the only one of the opcode that is called so; invalid if there is none.
  hlo::InstructionId ByCollectiveKernel(std::string_view name) const;
  // Instructions that run by themselves (outside fusions and reducers) in the order of the
  // computations that run, callees after the instruction that runs them.
  const std::vector<hlo::InstructionId>& program() const { return program_; }
  // The instruction that runs it: itself, or the fusion around it.
  hlo::InstructionId Launcher(hlo::InstructionId id) const;

 private:
  void FindFused();
  void OrderProgram();
  void AddToProgram(hlo::InstructionId id);
  bool HasCode(hlo::InstructionId id) const;

  // Ids by the hash of the sanitised name, in order.
  struct Named {
    uint64_t hash;
    uint32_t id;
    auto operator<=>(const Named&) const = default;
  };
  static std::span<const Named> Range(const std::vector<Named>& list, std::string_view name);

  std::shared_ptr<const hlo::Module> owner_;
  const hlo::Module& module_;
  std::vector<Named> names_, computations_;
  std::vector<bool> fused_;  // by computation
  std::vector<hlo::InstructionId> program_;
  std::map<std::string_view, std::vector<size_t>> targets_;  // custom calls, places in program_
  std::map<std::string, std::vector<hlo::InstructionId>> collectives_;  // by opcode, sanitised
};

}  // namespace hloscope::dump
