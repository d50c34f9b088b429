// SourceCosts: what each line of the user's program costs, and what it became.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/hlo/module.h"
#include "viewer/facts/heat.h"
#include "viewer/model/context.h"

namespace hloscope::viewer {

struct SourceCostLine {
  std::vector<hlo::InstructionId> written;  // of the first stage
  std::vector<hlo::InstructionId> hot;      // of the stage of the heat, that are counted here
  double value = 0;                         // their sum; of errors the largest
};
struct SourceCostFile {
  std::string name;  // as the metadata writes it
  std::map<int32_t, SourceCostLine> lines;
  double value = 0;
};
// Each value of the heat counts once: at the line of its instruction, of a fusion without one at
// the last line in it.
struct SourceCosts {
  std::shared_ptr<const HeatFacts> heat;
  std::shared_ptr<const hlo::Module> first;
  std::vector<SourceCostFile> files;  // most first
  double unknown = 0;                 // of instructions without a line
  double most = 0;                    // of a line
  // Where the value of a line is on the ramp, 0 to 1: a sum may be more than the hottest
  // instruction of the heat, so lines have a scale of their own, from 0 to the costliest. Errors
  // are no sums.
  double PlaceOf(double value) const;
  const SourceCostLine* Find(const std::string& file, int32_t line) const;
};

// By the measure in view, by bytes where heat is off. Null while it is found.
std::shared_ptr<const SourceCosts> SourceCostsOf(Context& context);

}  // namespace hloscope::viewer
