// CompileLog: what logs of JAX, TensorFlow and PyTorch/XLA say of compilations.
//
// JAX writes them with JAX_LOG_COMPILES=1 and JAX_EXPLAIN_CACHE_MISSES=1 (the wording of 0.4 to
// 0.10), TensorFlow with TF_CPP_VMODULE=device_compilation_profiler=1, PyTorch/XLA with
// PT_XLA_DEBUG_LEVEL=2.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/debug/recompile/recompilation.h"
#include "core/debug/recompile/torch_graphs.h"

namespace hloscope::debug {

struct LoggedCompilation {
  std::string framework;
  std::string program;  // "step"
  std::string key;      // of its name, as ProgramKey gives it
  // The same for the same program: the key and its place; empty: nothing tells.
  std::string series;
  std::string place;                 // of the call: "train.py:12"
  std::vector<std::string> types;    // of the arguments: "f32[8,16]"
  std::vector<std::string> mapping;  // their shardings
  bool has_types = false;
  bool new_function = false;            // never seen before, but another at the same place
  std::optional<RecompileCause> cause;  // as the log tells it
  std::string note;                     // where it does not: what is known
  double compile_ms = -1;
  bool is_compilation = true;  // false: stands for some of them, or for a trace
  bool from_cache = false;     // of the persistent compilation cache: nothing was compiled
  int64_t line = 0;            // of the log
};

struct CompileLog {
  std::vector<LoggedCompilation> compilations;
  std::vector<TorchGraph> graphs;     // of PyTorch/XLA, in the order in which they appear
  std::vector<std::string> warnings;  // lines that should tell something and could not be read
  bool found() const { return !compilations.empty() || !warnings.empty(); }
};

// Reads as far as it goes; never fails. `name` is put before warnings.
CompileLog ReadCompileLog(std::string_view text, std::string_view name);

// Those that are compilations of a program that was compiled before, with their reasons.
Recompilations RecompilationsOf(const CompileLog& log);

// What names of one program have in common, in logs and as names of modules: "jit_step" and "step",
// "a_inference_step_13__XlaMustCompile_true…" and "__inference_step_13".
std::string ProgramKey(std::string_view framework, std::string_view name);
// TensorFlow's name of one trace, without the attributes behind it: "a_inference_step_13" of
// "a_inference_step_13__XlaMustCompile_true….2" and "a_inference_step_13__.6".
std::string_view TraceName(std::string_view name);
// The program as its author calls it: "step".
std::string ProgramName(std::string_view framework, std::string_view name);

// "f32[8,16]" of "float32[8,16]" and "i32[4]" → "s32[4]": HLO's names of types.
std::string HloTypeText(std::string_view type);

}  // namespace hloscope::debug
