// Which modules of several dumps are the same one, and whether their programs are.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/analysis/programs/dump_programs.h"

namespace hloscope::analysis {

// Of each dump the module, as an index into its programs; -1: it has none.
struct ProgramGroup {
  std::vector<int32_t> members;
};

// Every module of every dump is in one group. They are paired by what they have in common, the
// first of: folder, id, name and program; id, name and program; name and program; folder, id and
// name; id and name; name; program. In the order of the first dump, then of the next. Dumps of one
// module each have that one in common, whatever it is called. Linear.
std::vector<ProgramGroup> PairPrograms(std::span<const DumpPrograms> dumps);

enum class ProgramVerdict : uint8_t {
  kEqual,
  kElided,   // equal, but for constants whose values no file has
  kDiffers,  // in what the fingerprints cover; elided on one side, the modules must be compared
  kUnreadable,
  kNoCommonStage,
};
struct StagePair {
  const StageProgram* a = nullptr;
  const StageProgram* b = nullptr;
};
// The stages that both have: the module as given, the compiled one, or others of one name.
std::vector<StagePair> CommonStages(const DumpProgram& a, const DumpProgram& b);
ProgramVerdict CompareStage(const StagePair& pair);
// The worst of all common stages.
ProgramVerdict ComparePrograms(const DumpProgram& a, const DumpProgram& b);

// The program that runs: of the compiled stage. Null where it cannot be read.
const ReadProgram* CompiledProgram(const DumpProgram& program);

}  // namespace hloscope::analysis
