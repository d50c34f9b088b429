// Counterparts: everything that stands for one selection elsewhere: in other stages, as fusion,
// thunk, kernel, lines of code, buffers and lines of the user's program.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/analysis/align/provenance.h"
#include "core/base/result.h"
#include "core/dump/dump_model.h"
#include "viewer/model/selection.h"

namespace hloscope::viewer {

// Lines of a text file of the dump; both count from 1, the last is included.
struct TextLines {
  int32_t file = -1, first = 0, last = 0;
  bool operator==(const TextLines&) const = default;
};

struct StageCounterpart {
  int32_t stage = -1;
  hlo::InstructionId instruction;
  float confidence = 1;  // of the chain of links that leads there
  analysis::LinkReason reason = analysis::LinkReason::kSame;
};

struct Counterparts {
  Selection of;         // what was asked about
  int32_t module = -1;  // that all others are of; -1: none
  // In every stage that has any, itself included; by stage, best first.
  std::vector<StageCounterpart> stages;
  // In the final stage: the instructions that stand for it; of those the ones that compute it and
  // do not only read it; and the fusions or instructions of their own that are these or hold them.
  std::vector<hlo::InstructionId> final_instructions, computing, kernel_instructions;
  int32_t final_stage = -1;
  int32_t start_stage = -1;                       // where it was followed from
  std::vector<int32_t> thunks, kernels, buffers;  // positions in the module's tables, ascending
  std::vector<TextLines> lines;                   // HLO, LLVM, PTX, …
  std::string source_file;                        // of the user's program; empty: not known
  int32_t source_line = 0;
  std::vector<std::string> notes;  // what could not be found out, and why

  // The best instruction of a stage; invalid where there is none.
  hlo::InstructionId In(int32_t stage) const;
  // All of a stage, best first.
  std::vector<hlo::InstructionId> AllIn(int32_t stage) const;
  // The pass that led to this stage made it another instruction, or changed what it does: by the
  // link over that step.
  bool TouchedInto(int32_t stage) const;
  bool InStage(int32_t stage, hlo::InstructionId id) const;
  bool HasThunk(int32_t thunk) const;
  bool HasKernel(int32_t kernel) const;
  bool HasBuffer(int32_t buffer) const;
  bool HasLine(int32_t file, int32_t line) const;
};

// Never fails: what cannot be read is in `notes`. Without `whole` only what the selection is
// itself, at once; with it everything, which takes up to seconds on dumps of many passes. The
// selection is one of the provenance's module.
Counterparts FindCounterparts(const analysis::Provenance& provenance, const Selection& selection,
                              bool whole, const std::stop_token& stop);

// The module a selection belongs to, through the file it is in where need be; -1: none.
int32_t ModuleOf(const dump::DumpModel& dump, const Selection& selection);

// The way to a selection: "jit_step", "after_optimizations", "fusion.7", … with the selection of
// each.
struct Crumb {
  std::string text;
  Selection selection;
};
std::vector<Crumb> Breadcrumbs(const dump::DumpModel& dump, const Selection& selection,
                               const hlo::Module* module);

}  // namespace hloscope::viewer
