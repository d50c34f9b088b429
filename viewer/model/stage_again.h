// StageAgain: a stage that ran, in another reading of its dump.
#pragma once

#include <memory>
#include <vector>

#include "core/hlo/module.h"
#include "viewer/model/anchor.h"

namespace hloscope::viewer {

/// Where instructions of one reading of a stage are in another, by index; empty: where they were.
using MovedIds = std::vector<hlo::InstructionId>;
/// Invalid: it is not there any more.
hlo::InstructionId Moved(const MovedIds& moved, hlo::InstructionId id);

/// A stage that ran, in another reading of the dump.
struct StageAgain {
  Place place;                                // -1: not there, or it cannot be read
  std::shared_ptr<const hlo::Module> module;  // null likewise
  MovedIds moved;
};

/// Reads the module: not for the main thread.
StageAgain FindStageAgain(const dump::DumpModel& now, const StageAnchor& place,
                          const hlo::Module& ran);

}  // namespace hloscope::viewer
