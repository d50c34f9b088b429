// Suspect: what the smallest module of a failure is about: the opcodes and element types that it
// needs to fail. Two failures of the same are told apart by pass or cause alone.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "core/debug/reduce/candidate.h"
#include "core/debug/run/failure.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

struct Suspect {
  std::vector<hlo::InstructionId> instructions;  // that compute something, in program order
  std::string opcodes;                           // theirs, sorted, each once: "add+convert"
  std::vector<std::string> types;                // "f32", of a conversion "f32>s8"; sorted
  std::string type_class;                        // "float", "integer+narrow integer"
};

// Parameters, constants and tuples compute nothing; broadcasts, reshapes, copies and calls count
// where there is nothing else.
Suspect SuspectOf(const hlo::Module& module);

// True if one instruction of the module has that opcode on that class of types; of a suspect with
// several, false.
bool HasSuspect(const hlo::Module& module, std::string_view opcode, std::string_view type_class);

// True if a computation that the instruction calls has one of these opcodes.
bool AppliesOneOf(const hlo::Module& module, hlo::InstructionId id,
                  std::initializer_list<hlo::Opcode> opcodes);

// A failure in words that are the same each time it comes: its fingerprint, of a death without what
// the process said last.
std::string FailureText(const Failure& failure);

// One key for the failures of one shape: "differs: integer | convert | float>integer". Crashes and
// errors are told apart by their text and not by element types.
std::string SignatureOf(const Suspect& suspect, const Failure& failure);

// A part of a program that fails by itself, made small.
struct SmallFailure {
  Candidate smallest;
  Failure failure;
  Suspect suspect;
  std::string signature;
};

}  // namespace hloscope::debug
