// What a stage has of each line of the program, and what constant folding computed of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/analysis/compilation/compile_time.h"
#include "core/hlo/module.h"

namespace hloscope::analysis {

// By instruction: its source line. Passes give what they add none: it has the line of what it
// stands for, the operand that the same user has in `given`, the module before all passes; else
// that of what uses it or calls its computation. Empty of parameters and constants without one.
std::vector<std::string> LinesOf(const hlo::Module& m, const hlo::Module& given);

// Those that grew, the most first, and no more than a report needs.
std::vector<SourceGrowth> Grown(std::vector<SourceGrowth> lines);
// Those that had a tenth of `instructions` from the beginning, the most first.
std::vector<SourceGrowth> Largest(std::vector<SourceGrowth> lines, int64_t instructions);

// What a pass that folds constants computed while the program was compiled: the bytes that the
// instructions that are gone read and wrote, and the line of the program that had most of them.
struct FoldedWork {
  int64_t bytes = 0;
  std::string source = {};
};
FoldedWork FindFoldedWork(const hlo::Module& before, const hlo::Module& after,
                          const hlo::Module& given);

// Whether the pass computes operations on constants.
bool IsFoldingPass(std::string_view pass);

}  // namespace hloscope::analysis
