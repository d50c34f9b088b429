// What a module computes, in one number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::analysis {

// A part of a module's header that takes part in comparisons, as a text that is equal for equal
// meanings.
struct HeaderFact {
  std::string_view what;
  std::string text;
};
// is_scheduled, replica_count, num_partitions, input_output_alias, buffer_donor and
// entry_computation_layout; always all of them, in this order.
std::vector<HeaderFact> HeaderFacts(const hlo::Module& module);

// Covers the entry computation and all others, of each instruction the opcode, shape with layout,
// operands, control predecessors, called computations, constants and every attribute, sharding,
// frontend attributes and backend configuration included; and the header's facts. Leaves out names,
// ids, the order of instructions and computations, metadata (source lines, op_name, stack frames),
// statistics, original values and unused get-tuple-elements: these have hashes of their own, but
// for ids and order. JSON counts by its value.
// Two programs have the same exactly where CompareModules finds them equal, but for what one file
// does not have: values of elided constants, attributes of compact operands (CanCompare). By chance
// once in 2^64. Comparable between outputs of one version of this program.
struct ProgramFingerprint {
  uint64_t program = 0;
  // Of what XLA's text loses in constants, denormals; 0: of a text, or nothing.
  uint64_t lost_in_text = 0;
  // What does not count otherwise: names of the module, computations and instructions; metadata,
  // statistics and original values. By these a file is another though its program is the same.
  uint64_t names = 0, metadata = 0;
  int64_t elided = 0;  // constants without values, which count by their shapes
  bool is_text = false, has_compact_operands = false;
};
ProgramFingerprint FingerprintProgram(const hlo::Module& module);

// False where one of them lacks what the other may have, so that only the modules themselves show
// whether all else is equal.
bool CanCompare(const ProgramFingerprint& a, const ProgramFingerprint& b);
// True where both are the same but for elided constants.
bool IsSameProgram(const ProgramFingerprint& a, const ProgramFingerprint& b);

// 16 hexadecimal digits.
std::string ToString(const ProgramFingerprint& fingerprint);

}  // namespace hloscope::analysis
