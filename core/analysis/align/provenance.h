// Provenance: what an instruction of a dump is at every level, from the source line to the kernel
// and its buffers, and back from each.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/analysis/align/lineage.h"
#include "core/analysis/align/noted_stages.h"
#include "core/base/result.h"
#include "core/dump/dump_model.h"

namespace hloscope::analysis {

// Everything known about one instruction of one stage.
struct InstructionFacts {
  Chain ancestors, descendants;
  FoundSource source;
  hlo::InstructionId fusion;  // of its own stage, the outermost around it; else invalid
  // What computes it in the final stage, best first: not what only reads it, nor a name of its
  // value. Of what a reduction, sort or scatter applies to elements, what computes that one.
  std::vector<LineageStep> compiled;
  std::vector<int32_t> kernels;    // positions in dump::KernelTable::kernels, of those
  std::vector<int32_t> thunks;     // … in dump::ThunkSequence::thunks
  std::vector<int32_t> buffers;    // … in dump::BufferTable::values
  std::vector<std::string> notes;  // what could not be read
};

// All functions are thread-safe; fails as the stages and tables of the dump do.
class Provenance {
 public:
  Provenance(std::shared_ptr<const dump::DumpModel> model, int32_t module);

  const dump::DumpModel& model() const { return *model_; }
  int32_t module() const { return module_; }
  const Lineage& lineage() const { return lineage_; }
  // Why links are guessed although the compiler noted them.
  std::vector<std::string> notes() const { return noted_->notes(); }
  // The stage that was compiled to code; -1: none.
  int32_t final_stage() const { return model_->FinalStage(module_); }

  Result<InstructionFacts> FactsOf(int32_t stage, hlo::InstructionId id) const;

  // The instructions of the final stage that are computed by a kernel (or run by a thunk, or live
  // in a buffer): those it names and all inside their fusions, in program order. A fusion without a
  // kernel has that of one that equals it.
  Result<std::vector<hlo::InstructionId>> OfKernel(int32_t kernel) const;
  Result<std::vector<hlo::InstructionId>> OfThunk(int32_t thunk) const;
  Result<std::vector<hlo::InstructionId>> OfBuffer(int32_t value) const;
  // Lineage::OnLine.
  Result<std::vector<hlo::InstructionId>> OfLine(int32_t stage, std::string_view file,
                                                 int32_t line) const;

 private:
  using Positions = std::unordered_map<std::string, std::vector<int32_t>>;
  struct Tables {
    Positions kernels, thunks, buffers;  // by instruction name
    // By kernel: fusions without a kernel that equal one it computes. XLA compiles equal ones once.
    std::unordered_map<int32_t, std::vector<std::string>> equal_fusions;
    std::shared_ptr<const dump::InstructionLookup> lookup;
    std::vector<std::string> notes;
  };
  Result<const Tables*> GetTables() const;
  Tables ReadTables(std::shared_ptr<const dump::InstructionLookup> lookup) const;
  static void AddEqualFusions(const hlo::Module& final, Tables& tables);
  Result<std::vector<hlo::InstructionId>> Inside(const std::vector<std::string>& names) const;
  Result<void> FollowAppliers(const hlo::Module& module, const hlo::Module& final, int32_t stage,
                              hlo::InstructionId id, InstructionFacts& facts,
                              std::vector<LineageStep>& own) const;
  static void AddNearest(const Positions& positions, const hlo::Module& final,
                         hlo::InstructionId id, std::vector<int32_t>& into);
  static void AddCode(const Tables& tables, const hlo::Module& final, hlo::InstructionId id,
                      InstructionFacts& facts);

  std::shared_ptr<const dump::DumpModel> model_;
  int32_t module_;
  std::shared_ptr<NotedStages> noted_;
  Lineage lineage_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const Tables> tables_;
};

}  // namespace hloscope::analysis
