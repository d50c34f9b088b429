// The stages of one module's compilation, ready to be evaluated.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/debug/run/run_module.h"
#include "core/dump/dump_model.h"
#include "core/dump/own_compilation.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// The module behind a pass.
struct PassStage {
  std::string name;            // of the stage, as DumpModel has it
  std::string pass, pipeline;  // the pass that ran last; of points without one the stage's name
  std::string file;            // as the dump names it
  std::shared_ptr<const hlo::Module> module;  // completed from files beside it
};

// One that cannot be read, or not be compared with others.
struct UnreadStage {
  std::string pass;     // as of a PassStage
  std::string text;     // "FILE: reason"
  size_t position = 0;  // how many of the stages that can be read come before it
};

struct Pipeline {
  std::vector<PassStage> stages;    // in order of compilation
  std::vector<UnreadStage> unread;  // in order
  std::vector<std::string> notes;   // what was completed from where, and what is not used
  // Where the compiler says that the instructions of its stages come from; empty: it does not.
  std::vector<dump::StageProvenance> provenance;
  // What was compiled where that is another form than the module given: its first stage means this.
  std::shared_ptr<const hlo::Module> form;
};

// What a platform's compiler makes of a module.
struct OwnPipeline {
  Pipeline pipeline;
  std::optional<Error> failed;  // behind the last of its stages
};

// Compiles the module on the request's platform, which has to be one that dumps, and reads the
// stages that it wrote; the dump is thrown away. Errors: those of compiling, where no stage came of
// it; no stage can be read.
Result<OwnPipeline> CompilePipeline(const std::shared_ptr<const hlo::Module>& module,
                                    const RunSpec& request, const std::stop_token& stop);

// Errors: no stage of the module can be read; unsupported where stages of several compilations are
// mixed.
// `constants`: where elided constants have values (dump/tensors/given_constants.h), stage by stage
// as far as their names are kept, with a note for arrays that do not fit; empty: none are given.
// Input error: it is no .npz.
Result<Pipeline> ReadPipeline(const dump::DumpModel& model, int32_t module, const Limits& limits,
                              const std::string& constants = {});

}  // namespace hloscope::debug
