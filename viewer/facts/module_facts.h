// Module facts: one module in the figures that Home shows.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/analysis/place/placement.h"
#include "core/base/result.h"
#include "core/dump/dump_model.h"

namespace hloscope::viewer {

struct ModuleFacts {
  // Of the entry computation, shapes without layouts: "f32[8,4], s32[] → f32[8]"; empty: not
  // readable.
  std::string signature;
  // Of what the first stage computes, as 8 digits: equal for equal programs. Only where another
  // module of the dump has this name, else empty.
  std::string fingerprint;
  int64_t instructions_before = -1, instructions = -1;  // first and final stage; -1: not readable
  int64_t fusions = 0;
  int64_t kernels = -1, thunks = -1;
  int64_t memory_bytes = -1, live_peak_bytes = -1;  // -1: no buffer assignment
  // Of its allocations, as `info` says them; one of a donated argument is both of the first. -1: as
  // above, or it is known as a whole only.
  int64_t argument_bytes = -1, result_bytes = -1, temporary_bytes = -1;
  bool compiled = false;
  std::array<int64_t, analysis::kPlaceCount> places = {};
  // Work that is not on the device, most bytes first: what, why, how much moves.
  struct Fallback {
    hlo::InstructionId instruction;
    std::string name, reason;
    // Moved in one execution, read and written where nothing needs to move; -1: none or not known.
    int64_t bytes = -1;
  };
  std::vector<Fallback> fallbacks;
  int64_t fallback_count = 0;
  // What moves between host and device, most bytes of a run first.
  struct Transfer {
    hlo::InstructionId instruction;
    std::string name;
    analysis::TransferDirection direction = analysis::TransferDirection::kToHost;
    int64_t bytes = -1, executions = -1;  // of one execution, in one run; -1: not known
    int64_t total() const;                // -1: not known
  };
  std::vector<Transfer> transfers;
  int64_t transfer_count = 0;
  // Those of both that say the same, most bytes first.
  struct Moved {
    hlo::InstructionId instruction;
    std::string name;
    int64_t bytes = -1;  // in one run, of fallbacks in one execution; -1: not known
  };
  struct Equals {
    std::string why;          // "its buffer is in host memory", "to the host, 1.2 MB once per run"
    int64_t count = 0;        // of them
    int64_t bytes = -1;       // of all whose bytes are known; -1: of none
    int64_t unknown = 0;      // of how many they are not
    std::vector<Moved> some;  // at most a hundred
  };
  std::vector<Equals> equal_fallbacks, equal_transfers;
  std::vector<std::string> problems;  // what could not be read
};

// "arguments 1.3 kB, results 80 B, temporaries 1.3 kB"; empty: not known.
std::string MemoryText(const ModuleFacts& facts);
// "to the host, 1.2 MB × 10 in one run: 12 MB".
std::string TransferText(const ModuleFacts::Transfer& transfer);
// "48 × its buffer is in host memory: 805 MB in all"; of one alone "its buffer is …: 16.8 MB".
std::string EqualsText(const ModuleFacts::Equals& equals);

// Never fails: what cannot be read is in `problems`.
std::shared_ptr<const ModuleFacts> FindModuleFacts(const dump::DumpModel& dump, int32_t module);

}  // namespace hloscope::viewer
