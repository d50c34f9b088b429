// Comparing two modules by meaning: equal where only names, ids, order, metadata or spelling
// differ.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::debug {

struct InstructionChange {
  std::string computation;
  std::string instruction;    // in a; empty for a difference of the whole computation or module
  std::string instruction_b;  // in b
  std::string what;
};
struct InstructionName {
  std::string computation, instruction;  // no instruction: the whole computation
};

struct ModuleComparison {
  bool equal = false;
  int64_t elided = 0;  // constants not compared, as a side does not have their values
  std::vector<InstructionChange> changed;
  std::vector<InstructionName> added;    // only in b
  std::vector<InstructionName> removed;  // only in a
};

// Dead code counts, but for get-tuple-elements nobody uses, which XLA's compact text leaves out;
// header attributes that protos do not hold do not. An elided constant equals any of its shape, and
// is counted.
ModuleComparison CompareModules(const hlo::Module& a, const hlo::Module& b);

// Of modules that are not equal: "add.1 in main: constant value differs (and 2 more)".
std::string FirstDifference(const ModuleComparison& comparison);

}  // namespace hloscope::debug
