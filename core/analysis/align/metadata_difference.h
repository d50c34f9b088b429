// What does not count when modules are compared: names, metadata and the order of instructions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::analysis {

// The metadata of an instruction that is set, field by field with its value: op_name, source lines
// with all stack frames, statistics, original values, ….
std::vector<std::pair<std::string, std::string>> MetadataFields(const hlo::Module& module,
                                                                hlo::InstructionId instruction);

// Of modules that CompareModules finds equal: "metadata of 3 instructions differs, first add.3 in
// main: source_line: 12 became 13"; empty where all of that is the same too.
std::string MetadataDifference(const hlo::Module& a, const hlo::Module& b);

}  // namespace hloscope::analysis
