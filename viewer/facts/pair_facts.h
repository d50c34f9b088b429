// What one module of both dumps became: kernels, passes and memory, side by side.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/analysis/programs/program_pairs.h"
#include "core/graph/compilation_pair.h"
#include "core/graph/lanes.h"
#include "viewer/facts/memory/memory_groups.h"
#include "viewer/facts/two_dumps.h"

namespace hloscope::viewer {

// What differs comes first, in this order.
enum class KernelChange : uint8_t { kChanged, kAdded, kRemoved, kSame };
inline constexpr int kKernelChanges = static_cast<int>(KernelChange::kSame) + 1;
std::string_view ToString(KernelChange change);

// Kernels of both dumps that run the same operations; by dump.
struct KernelPairRow {
  KernelChange change = KernelChange::kSame;
  std::array<std::string, 2> names;      // "fusion.3 and 2 more"; empty: none
  std::array<int64_t, 2> launches = {};  // in one run; -1: the number of iterations is not known
  std::array<double, 2> bytes =
      {};  // of operands and results, once where the iterations are not known
  std::array<hlo::InstructionId, 2> first;  // of the kernels, in the compiled stage
  int64_t operations = 0;                   // of the module as it was given
};
struct PairKernels {
  std::array<graph::LaneCounts, 2> lanes = {};
  std::array<graph::Traffic, 2> all = {};
  std::array<int64_t, kKernelChanges> counts = {};  // rows by change
  std::vector<KernelPairRow> rows;                  // of one change: most different bytes first
};

struct PassPairRow {
  std::string name;                          // of the pass, or of the stage
  std::array<int32_t, 2> stages = {-1, -1};  // by dump; -1: it did not write one there
  std::array<int64_t, 2> instructions = {-1, -1};
  analysis::ProgramVerdict verdict = analysis::ProgramVerdict::kNoCommonStage;
};
struct PairPasses {
  std::vector<PassPairRow> rows;  // in order of compilation
  int32_t first_difference = -1;  // of a row that both have; -1: none differs
};

struct MemoryPairRow {
  MemoryUse use = MemoryUse::kTemporaries;
  std::array<int64_t, 2> bytes = {};  // at the peak
};
struct PairMemory {
  std::array<int64_t, 2> allocated = {}, live_peak = {};
  std::vector<MemoryPairRow> uses;  // what grew most first
  std::vector<Growth> values;       // here: the second dump, there: the first
};

// In the background, of a pair that has both.
const Pending<PairKernels>& PairKernelsOf(Context& context, const ModulePair& pair);
const Pending<PairPasses>& PairPassesOf(Context& context, const ModulePair& pair);
const Pending<PairMemory>& PairMemoryOf(Context& context, const ModulePair& pair);

}  // namespace hloscope::viewer
