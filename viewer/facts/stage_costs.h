// StageCosts: what each stage of a module would cost by estimate, and what each pass saved: its
// stage compared with the previous one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/hlo/module.h"
#include "viewer/model/context.h"
#include "viewer/model/pending.h"

namespace hloscope::viewer {

struct StageCost {
  int64_t instructions = 0;
  double bytes =
      0;  // read and written in one run, by hlo::CostModel: loops once, of a conditional one branch
  int64_t kernels = 0;    // fusions and library calls
  bool is_known = false;  // false: the stage cannot be read
};
StageCost CostOfStage(const hlo::Module& module);

struct StageGain {
  int64_t instructions = 0;
  double bytes = 0;
  int64_t kernels = 0;
  bool is_known = false;
  bool any() const { return instructions != 0 || bytes != 0 || kernels != 0; }
};

struct StageCosts {
  std::vector<StageCost> costs;  // by stage
  std::vector<StageGain> gains;  // by stage: itself less the nearest before it that can be read
  int32_t best = -1;             // whose pass saved most bytes; -1: none saved any
};
// All stages of the module, in the background.
const Pending<StageCosts>& StageCostsOf(Context& context, int32_t module);

// "+12", "−3", "0" in thousands and with prefixes: differences as a column shows them.
std::string SignedCountText(int64_t value);
std::string SignedBytesText(double value);
// "−12 instructions, −1.2 MB moved, +3 kernels (estimate)".
std::string GainText(const StageGain& gain);

}  // namespace hloscope::viewer
