// Comparing two modules by meaning: equal where only names, ids, order, metadata or spelling
// differ.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::analysis {

struct InstructionChange {
  std::string computation;
  std::string instruction;    // in a; empty for a difference of the whole computation or module
  std::string instruction_b;  // in b
  std::string what;
  hlo::InstructionId a, b;  // invalid where the name is empty
  bool follows = false;     // from changes elsewhere: of a call, or of the root
  bool is_cause() const { return !follows && !(instruction.empty() && instruction_b.empty()); }
};
struct InstructionName {
  std::string computation, instruction;
  hlo::InstructionId id;
  bool of_whole_computation = false;  // the other side has none of the computation
};

struct ModuleComparison {
  bool equal = false;
  int64_t elided = 0;  // constants not compared, as a side does not have their values
  // Instructions that differ, those of the entry computation first, each computation in order; then
  // what only follows from other instructions (calls and roots); then the header.
  std::vector<InstructionChange> changed;
  std::vector<InstructionName> added;    // only in b
  std::vector<InstructionName> removed;  // only in a
};

// Dead code counts, but for get-tuple-elements nobody uses, which XLA's compact text leaves out;
// header attributes that protos do not hold do not. An elided constant equals any of its shape, and
// is counted.
ModuleComparison CompareModules(const hlo::Module& a, const hlo::Module& b);

// The instructions of equal meaning, by which modules that are equal are equal.
std::vector<std::pair<hlo::InstructionId, hlo::InstructionId>> EqualInstructions(
    const hlo::Module& a, const hlo::Module& b);

// Of modules that are not equal, the first difference: an instruction, or the header where none
// differs.
struct FirstChange {
  std::string what;  // "add.1 in main: constant value differs: 1 became 2"
  // The instruction without metadata; empty: the side has none. They may be the same where a line
  // does not show what differs.
  std::string text_a, text_b;
  std::string ToString() const;  // in one line
};
FirstChange FirstChangeOf(const hlo::Module& a, const hlo::Module& b,
                          const ModuleComparison& comparison);

}  // namespace hloscope::analysis
