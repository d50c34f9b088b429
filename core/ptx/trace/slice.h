// The steps that a value comes from: backwards through registers, shuffles, shared and local
// memory, over the threads that were recorded.
#pragma once

#include <vector>

#include "core/ptx/trace/trace.h"

namespace hloscope::ptx {

struct Slice {
  std::vector<StepRef> steps;           // in an order in which each comes behind what it needs
  std::vector<uint32_t> other_threads;  // that it goes on in, and that were not recorded
  bool complete = true;                 // false: it has more steps than allowed
};

// From the operands of that step: what an instruction reads, and where it writes to memory that it
// reads again. Reads of arguments end it, and what was there when the kernel began.
Slice SliceFrom(const BlockTrace& trace, StepRef from, size_t most_steps = 4096);

// The last recorded step of the thread that wrote that byte of an argument; none: step -1.
StepRef StoreTo(const BlockTrace& trace, uint32_t thread, uint32_t argument, uint64_t byte);

struct SlicedTrace {
  BlockTrace trace;
  StepRef store;  // step -1: it was not found
  Slice slice;
};

// Runs the block, as often as the slice goes on in further threads, and traces `most_threads` of
// them at most. `restore` puts the arguments back before each run.
template <typename Restore>
Result<SlicedTrace> TraceSlice(const Module& module, const LaunchRequest& launch,
                               const Writer& writer, uint32_t thread, uint32_t argument,
                               uint64_t byte, const LaunchOptions& options, Restore restore,
                               size_t most_threads = 64) {
  SlicedTrace sliced;
  TraceRequest request;
  request.block = writer.block;
  request.threads = {thread};
  for (;;) {
    restore();
    SlicedTrace before = std::move(sliced);
    sliced = {};
    HLOSCOPE_ASSIGN_OR_RETURN(sliced.trace, Trace(module, launch, request, options));
    sliced.store = StoreTo(sliced.trace, thread, argument, byte);
    if (sliced.store.step < 0) {
      // So many threads do more steps than are recorded: what was found before them stands.
      return before.store.step < 0 ? std::move(sliced) : std::move(before);
    }
    sliced.slice = SliceFrom(sliced.trace, sliced.store);
    bool more = false;
    for (const uint32_t other : sliced.slice.other_threads) {
      if (request.threads.size() >= most_threads) break;
      request.threads.push_back(other);
      more = true;
    }
    if (!more || !sliced.slice.complete) return sliced;
  }
}

}  // namespace hloscope::ptx
