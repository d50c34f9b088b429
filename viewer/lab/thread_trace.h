// What one thread of a kernel did, step by step: the module runs on the simulated GPU up to the
// kernel, and the kernel then by itself on what its operands held, in child processes and in the
// background.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/debug/explain/kernels/trace_thread.h"
#include "core/dump/dump_model.h"
#include "viewer/model/context.h"
#include "viewer/model/pending.h"

namespace hloscope::viewer {

struct ThreadChoice {
  int32_t module = -1, kernel = -1;           // in the dump; in its KernelTable
  std::array<uint32_t, 3> block{}, thread{};  // x first
  auto operator<=>(const ThreadChoice&) const = default;
};

/// A thread that the panel Thread is to show, at a line of its PTX; 0: from its start.
struct WantedThread {
  int32_t module = -1;
  std::string kernel;
  std::array<uint32_t, 3> block{}, thread{};
  uint32_t line = 0;
};
struct ThreadMarks {
  std::optional<WantedThread> wanted;  // until the panel takes it
  void Rebase(const dump::DumpModel& before, const dump::DumpModel& now,
              std::vector<std::string>& lost);
};

struct TracedThread : debug::TracedThread {
  std::string inputs;  // what the module ran on: "seed 0"
};

// Null: not requested, or the dump has changed since.
const Pending<TracedThread>* ThreadTraceOf(Context& context, const ThreadChoice& choice);
// Runs it, also once more where that failed. The module's inputs are those of the last run of the
// divergence lab where that was of this module, else generated from seed 0.
void AskThreadTrace(Context& context, const ThreadChoice& choice);

// "1,0,2" or "7": three numbers, those left out 0; nullopt for anything else.
std::optional<std::array<uint32_t, 3>> IndexOf(std::string_view text);
using debug::IndexText;  // writes what IndexOf reads

}  // namespace hloscope::viewer
