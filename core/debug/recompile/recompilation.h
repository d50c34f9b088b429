// Recompilation: a program that was compiled again, and the one reason.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hloscope::debug {

enum class RecompileReason : uint8_t {
#define RECOMPILE_REASON(kind, key, sentence, fix, tensorflow, torch) kind,
#include "core/debug/recompile/recompile_reasons.def"
#undef RECOMPILE_REASON
};
std::string_view KeyOf(RecompileReason reason);

// Detail of kFunction for a cluster of TensorFlow's: two functions may hold the same operations.
inline constexpr std::string_view kOtherFunction = "or another function has the same operations";

// What changed. Texts that are unknown or do not apply are empty.
struct RecompileCause {
  RecompileReason reason = RecompileReason::kUnknown;
  std::string argument, from, to;
  std::string detail;  // a half sentence more: "and of 2 more arguments"
};

struct Recompilation {
  std::string framework, program;    // "JAX", "step"
  std::vector<std::string> modules;  // the earlier one that is closest, and this; of a log none
  RecompileCause cause;
  // The first compilation that this repeats, as a number among those of its program: PyTorch/XLA
  // gives all its graphs one name.
  size_t series = 0;
  int32_t module = -1;       // this one, of DumpModel::modules(); -1: of a log
  int32_t line = 0;          // of the log where it was found there alone, from 1
  bool was_logged = false;   // the run had the logs that give reasons
  bool outside_jit = false;  // a lone operation of JAX
  std::string place;         // of the call, where it is known: "train.py:12"
  double compile_ms = -1;    // -1: unknown
};

// "the shape of argument `x` changed from f32[8] to f32[9]", without a full stop.
std::string ToSentence(const RecompileCause& cause);
std::string FixOf(const Recompilation& recompilation);

// A program and how often it was compiled.
struct CompiledProgram {
  std::string framework, program;
  int64_t compilations = 0;
  double lost_ms = -1;  // in all compilations but the first, as far as known; -1: unknown
};
// "step (JAX), 2 compilations, 169 ms lost".
std::string ToSentence(const CompiledProgram& program);
// "169 ms", "1.5 s", "unknown time" of -1.
std::string CompileTimeText(double ms);

struct Recompilations {
  std::vector<Recompilation> list;        // in order of compilation, program by program
  std::vector<CompiledProgram> programs;  // those compiled more than once, the most lost time first
  std::vector<std::string> warnings;      // what could not be read or told
};

// Fills `programs` of `found` from its list, and sorts.
void SumUp(Recompilations& found);

}  // namespace hloscope::debug
