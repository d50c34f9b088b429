// Instructions of a compilation by their names, whatever stage has them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/dump/dump_model.h"

namespace hloscope::analysis {

// The users of an instruction in the first stage that has it, by name; none where only decisions in
// a log name it. Input error: neither the log nor a stage has an instruction of that name; the hint
// has the nearest of a stage, or of the log.
Result<std::vector<std::string>> UsersByName(const dump::DumpModel& model, int32_t module,
                                             const std::string& name);

}  // namespace hloscope::analysis
