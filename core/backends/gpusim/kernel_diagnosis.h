// A kernel case run again and again in a child process: with other arithmetic, with the writer of a
// byte found, with threads traced, beside the second implementation.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "core/backends/gpusim/edit_trials.h"
#include "core/backends/gpusim/kernel_case.h"
#include "core/ptx/switches/switches.h"
#include "core/ptx/trace/trace.h"
#include "core/replay/capture/run_stream.h"
#include "core/replay/run_options.h"

namespace hloscope::replay {

// A byte of an array of the results.
struct StudiedByte {
  uint64_t result = 0, byte = 0;
  // Of each element of the array, as they lie in memory: 0 right, 1 wrong, else neither is sure.
  // Empty: it is not known, and no line is suspected more than another.
  std::vector<uint8_t> states;
};

struct StudiedThreads {
  uint64_t launch = 0;  // position in KernelCase::launches
  std::array<uint32_t, 3> block{};
  std::vector<uint32_t> threads;
  int64_t first = 0, most = 1 << 20;
};

struct KernelDiagnosis {
  KernelCase kernels;
  bool switches = false;            // run with each switch that changes something
  bool roundings = false;           // run with roundings drawn by chance
  bool directed = false;            // run with roundings to nearest where it rounds otherwise
  bool checks = false;              // run with the checks for races and uninitialised memory
  std::optional<StudiedByte> byte;  // find who wrote it, and where its value came from
  bool reference = false;           // with `byte`: run its block beside the second implementation
  std::optional<StudiedThreads> trace;  // instead
  std::optional<EditTrials> edits;      // instead
  int64_t threads = 1;
  // Of a test, and in this process only: what the simulated GPU gets wrong.
  const ptx::StepChanger* fault = nullptr;
};

struct SwitchedRun {
  uint32_t which = 0;  // ptx::Switch
  // Kernel and line of what it changes, one for each instruction and launch.
  std::vector<std::pair<std::string, uint32_t>> lines;
  CaseMemory memory;  // behind the launches; empty where `error` says why
  std::string error;
};

// One instruction that rounds otherwise than to nearest, rounding to nearest.
struct DirectedRun {
  std::string file, form;
  uint32_t line = 0;
  CaseMemory memory;
};

// A step of a thread that the byte comes from.
struct StudiedStep {
  uint32_t thread = 0, line = 0;
  std::string text, values;  // as written; with the values that it had
  std::string opcode, type;  // "st", "f16x2"
  // Bits and bytes of what it writes to registers; of a store, of what it stores.
  std::vector<std::pair<uint64_t, uint64_t>> carries;
  bool control = false;   // it decides, and no value comes from it (ptx/trace/slice.h)
  uint32_t distance = 0;  // steps between it and the store
  // Of its line: up to 1 by line_suspicion.h, above that by ptx/trace/doubled_terms.h; 0: not
  // known.
  double suspicion = 0;
  std::vector<uint32_t> needs;  // positions in ByteDiagnosis::steps of what it comes from
  std::string kernel;           // of an earlier launch; empty: of the one that stores the byte
};

struct ByteDiagnosis {
  uint64_t launch = 0;
  uint64_t argument = 0, offset = 0;  // the byte, as the kernel names it
  std::array<uint32_t, 3> block{}, thread{};
  uint32_t line = 0, column = 0;
  std::string file, form;
  // None: that thread stores nearest to it, and the steps are what it does in place of storing
  // here.
  uint64_t stores = 0;
  std::vector<StudiedStep> steps;  // each behind what it needs; the store is the last
  bool complete = true;            // false: it comes from more
  bool shortened = false;          // of what is done again and again the nearest only
  std::string trace_error;         // why there are no steps
};

struct ScalarReferenceAnswer {
  uint64_t checked = 0;
  bool agrees = false;
  std::string difference;  // in words, with its place; empty where they agree
};

struct KernelDiagnosisAnswer {
  CaseMemory memory;  // behind the launches, as they are
  std::vector<SwitchedRun> switches;
  // Behind the launches, a draw of roundings each; none where not all roundings can be drawn.
  std::vector<CaseMemory> rounded;
  std::vector<DirectedRun> directed;  // those that change something
  std::vector<RunFinding> findings;   // of the checks, those of one cause as one
  std::optional<ByteDiagnosis> byte;
  std::optional<ScalarReferenceAnswer> reference;
  std::optional<ptx::BlockTrace> trace;
  EditAnswer edits;
};

// Does it in a child process. Errors: those of the kernels; died, beyond deadline or memory.
Result<KernelDiagnosisAnswer> DiagnoseKernel(const KernelDiagnosis& diagnosis,
                                             const RunOptions& options,
                                             const std::stop_token& stop);

// In this process.
Result<KernelDiagnosisAnswer> DiagnoseKernelHere(const KernelDiagnosis& diagnosis);

}  // namespace hloscope::replay
