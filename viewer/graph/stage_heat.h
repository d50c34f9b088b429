// StageHeat: the heat in view, of the instructions of one stage, kept while nothing it is of
// changes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "viewer/graph/heat_paint.h"

namespace hloscope::viewer {

class StageHeat {
 public:
  // Of a stage of the dump that is open, with its text; null: heat is off, nothing of that module
  // is hot, or it is being found.
  std::shared_ptr<const HeatPaint> Find(Context& context, int32_t module, int32_t stage,
                                        const std::shared_ptr<const hlo::Module>& text);

 private:
  std::shared_ptr<const HeatFacts> facts_;
  std::shared_ptr<const hlo::Module> text_;
  std::shared_ptr<const HeatPaint> paint_;
};

// The colour of a value, 0 where it is 0; "bytes moved: 4.2 MB, 13 % of all", or empty.
uint32_t HeatFill(const Theme& theme, const HeatPaint& paint, hlo::InstructionId id);
std::string HeatSentence(const HeatPaint& paint, hlo::InstructionId id);

}  // namespace hloscope::viewer
