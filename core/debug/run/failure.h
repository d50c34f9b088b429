// FailureOf: what is wrong with a replay, told so that two failures can be held against one
// another: the same fault of a smaller module has the same fingerprint, another fault has not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/debug/run/run_module.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

// How a replay can fail.
enum class FailureKind : uint8_t {
  kDiffers,  // values are not those of the reference, or of the run before
  kNan,      // a NaN (or infinity) is made that was looked for
  kCheck,    // a kernel raced, or read what nobody had written (--check)
  kSignal,   // the process or kernel that ran it crashed
  kDeadline,
  kMemory,
  kDeadlock,  // devices wait for one another
  kError,     // it was refused, with a text
  kScript,    // a program of the user's says so
};
// "differs", "nan", "check", "signal", "deadline", "memory", "deadlock", "error", "script".
std::string_view ToString(FailureKind kind);
/// Of a run that was ended; absent: it failed otherwise.
std::optional<ErrorClass> ErrorClassOf(FailureKind kind);

struct Failure {
  FailureKind kind = FailureKind::kError;
  // Of a mismatch one class for each kind of difference ("float gross", "integer", "float nan in
  // the result"), of checks for each kind of finding ("race"), sorted; of anything else one line
  // that names no instruction, number or shape.
  std::vector<std::string> classes;
  std::string text;  // a sentence for people: the first difference, or the error as it came
  // Of a NaN or an infinity: the instruction of the entry that made it, or ran what did, and of a
  // loop in which iteration, from 0.
  std::string instruction = {};
  std::optional<int64_t> iteration = {};

  // "differs: float gross; integer".
  std::string fingerprint() const;
};

// What is wrong with the replay; nullopt where nothing is, or where it was cancelled. Names of
// `module`, where it is given, do not count in the fingerprint. Depends on the report alone.
std::optional<Failure> FailureOf(const RunReport& report, const hlo::Module* module = nullptr);

// A script that still says "fails".
Failure ScriptFailure(std::string_view script);

// True if `smaller` shows what `failure` shows, or some of it: the same kind, and a class of it.
bool IsSameFailure(const Failure& failure, const Failure& smaller);

// True if `smaller` is the same failure, and nothing graver: of a mismatch no class but those of
// `failure` and slight differences of rounding.
bool IsNoOtherFailure(const Failure& failure, const Failure& smaller);

// A text of errors without what a smaller module has otherwise: names with a number or `%`,
// numbers, shapes, layouts, addresses. Names in `names` are left out too.
std::string ErrorFingerprint(std::string_view text, const std::vector<std::string_view>& names);

}  // namespace hloscope::debug
