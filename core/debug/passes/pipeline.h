// The stages of one module's compilation, ready to be evaluated.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/dump/dump_model.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// The module behind a pass.
struct PassStage {
  std::string name;            // of the stage, as DumpModel has it
  std::string pass, pipeline;  // the pass that ran last; of points without one the stage's name
  std::string file;            // as the dump names it
  std::shared_ptr<const hlo::Module> module;  // completed from files beside it
};

struct Pipeline {
  std::vector<PassStage> stages;          // in order of compilation
  std::vector<std::string> stepped_over;  // stages that cannot be read: "FILE: reason"
  std::vector<std::string> notes;         // what was completed from where
};

// Errors: no stage of the module can be read.
Result<Pipeline> ReadPipeline(const dump::DumpModel& model, int32_t module, const Limits& limits);

}  // namespace hloscope::debug
