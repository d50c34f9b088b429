// CompileTime: where the time of a compilation went, by module, from whatever measured it: the pass
// metadata of XLA:GPU and the timer lines of logs; and how much each pass grew the program.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/dump_model.h"

namespace hloscope::analysis {

// Makes XLA log how long each pass, and LLVM and ptxas, take.
inline constexpr std::string_view kTimerVariables[] = {
    "TF_CPP_MIN_LOG_LEVEL=0",
    "TF_CPP_VMODULE=hlo_pass_pipeline=1,cpu_compiler=1,gpu_compiler=1,ir_compiler=2,fusion_compiler"
    "=2"};
std::string TimerVariablesText();  // with spaces between

// One run of a pass or, where `pass` is kPipelineStart, the start of a pipeline.
inline constexpr std::string_view kPipelineStart = "pipeline-start";
struct PassRun {
  std::string pass = {}, pipeline = {};
  int64_t start_us = 0, end_us = 0;
  int64_t self_us = 0;                  // without the passes that ran in it
  bool is_changed = false;              // as the source says
  std::vector<std::string> files = {};  // written after it, without their folders
};

// Self times of `runs`, which are in order of start: a run is in the nearest one around it that is
// called as its pipeline. Runs that overlap are cut at the end of the one before and counted in
// `overlapping`. The self times and `between_us` sum to the span.
struct PassSpan {
  int64_t span_us = 0;     // from the first start to the last end
  int64_t between_us = 0;  // outside of all runs: the verifier, invariant checks
  int64_t overlapping = 0;
};
PassSpan FindSelfTimes(std::vector<PassRun>& runs);

// The runs of a metadata.textproto; `why` says where its text breaks off, empty if it does not.
struct PassMetadata {
  std::vector<PassRun> runs = {};
  int64_t unfinished = 0;  // runs without an end: the compilation stopped in them
  std::string why = {};
};
PassMetadata ReadPassMetadata(std::string_view text);

// An instruction that was folded for so long that XLA's alarm timed it.
struct SlowFolding {
  std::string instruction = {};
  int64_t us = 0;
};

// What timer lines of a log say of one module.
struct LoggedTimes {
  std::string module = {};
  std::vector<PassRun> runs = {};
  std::optional<int64_t> passes_us = {}, backend_us = {}, llvm_us = {}, mlir_us = {};
  size_t runs_before_backend = 0;            // of `runs`, where passes_us is known
  std::optional<int64_t> assembler_us = {};  // ptxas
  std::optional<int64_t> whole_us = {};      // as the framework or XLA's alarm says
  std::vector<SlowFolding> foldings = {};
  std::vector<std::string> untimed = {};  // passes that began and have no readable end in the log
};
struct TimerLog {
  // In order of compilation, several of a module that was compiled several times.
  std::vector<LoggedTimes> compilations = {};
  // Damaged lines that are or may be timer lines, and the first of them, from 1.
  int64_t lost_lines = 0;
  int32_t first_lost_line = 0;
};
TimerLog ReadTimerLines(std::string_view log);
// "run.log:12: a damaged line …": what was lost; empty where nothing was.
std::string LossOf(const TimerLog& log, std::string_view name);

struct LoggedCompilation {
  LoggedTimes times;
  std::string log;  // its path in the dump
};
// The compilations in the logs of a dump, in their order, by CompilationKey; `warnings` says what
// of the logs could not be read.
std::map<std::string, std::vector<LoggedCompilation>> CompilationsInLogs(
    const dump::DumpModel& model, std::vector<std::string>& warnings);
// The name of a module as versions of JAX agree on it: "jit__lambda" of "jit__lambda_".
std::string CompilationKey(std::string_view module);

// All runs of one pass.
struct PassTime {
  std::string pass = {}, pipeline = {};  // the pipeline in which it took longest
  int64_t runs = 0;
  std::optional<int64_t> self_us = {};  // absent: nothing measured it
  // Of the run that added most instructions, where stages before and after it were dumped.
  std::optional<int64_t> instructions_before = {}, instructions_after = {};
  int32_t stage_before = -1, stage_after = -1;
  // Of the run that folded most constants: the bytes that it read and wrote while compiling.
  std::optional<int64_t> folded_bytes = {};
  std::string source = {};  // the line of the program of which it added or folded most
  bool is_autotuner = false;
};
bool IsAutotunerPass(std::string_view pass);

// How many instructions a line of the program has before and after the compilation.
struct SourceGrowth {
  std::string source = {};  // "model.py:12 (attend)"
  int64_t before = 0, after = 0;
};

struct ModuleCompileTime {
  int32_t module = -1;           // of the dump; -1: only a log knows it
  std::string name = {};         // "module_0001.jit_f"
  std::string measured_by = {};  // "pass metadata", "timer lines of log.txt"; empty: nothing did
  std::optional<int64_t> total_us = {}, span_us = {}, passes_us = {}, autotuner_us = {};
  std::optional<int64_t> between_us = {}, backend_us = {}, llvm_us = {}, mlir_us = {};
  std::optional<int64_t> assembler_us = {};
  std::vector<PassTime> passes = {};  // longest self time first, then largest growth
  std::optional<int64_t> instructions_before = {},
                         instructions_after = {};  // of the whole compilation
  std::vector<SourceGrowth> largest = {};  // source lines with a tenth of the given module or more
  std::vector<SourceGrowth> growth = {};  // source lines that grew from the first to the last stage
  std::vector<std::string> notes = {};    // what the numbers leave out, and what could not be read
};

struct CompileTime {
  std::vector<ModuleCompileTime> modules = {};
  std::vector<dump::MissingPiece> missing = {};
  std::vector<std::string> warnings = {};  // what of logs could not be read
};
// Of a dump opened with count_stages; of one module unless it is -1.
CompileTime CompileTimeOf(const dump::DumpModel& model, int32_t only = -1);
// Of a log alone.
CompileTime CompileTimeOfLog(std::string_view log, const std::string& name);
// Of compilations that something else measured, as the events of a trace; `by` names it.
CompileTime CompileTimeOfRuns(std::vector<LoggedTimes> compilations, const std::string& by);

}  // namespace hloscope::analysis
