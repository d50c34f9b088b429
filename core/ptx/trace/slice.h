// The steps that a value comes from: backwards through registers, shuffles, shared and local
// memory, and through what decided that they were done, over the threads that were recorded.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "core/ptx/trace/control_flow.h"
#include "core/ptx/trace/trace.h"

namespace hloscope::ptx {

struct SliceStep {
  StepRef step;
  // Of no value that it comes from, but of a decision: whether a step was done, or which value
  // reached it.
  bool control = false;
  uint32_t distance = 0;        // steps between it and where the slice begins
  std::vector<uint32_t> needs;  // positions in Slice::steps of what it comes from
};

struct Slice {
  std::vector<SliceStep> steps;         // each behind what it needs
  std::vector<uint32_t> other_threads;  // that it goes on in, and that were not recorded
  // One for each instruction that no recorded thread could stand in for.
  std::vector<uint32_t> unlike_threads;
  // False: it has more steps than were followed, or goes on where nothing is known.
  bool complete = true;
  bool shortened = false;  // of what is done again and again the nearest steps are told
};

// From the operands of those steps: what an instruction reads, and where it writes to memory that
// it reads again. Reads of arguments end it, and what was there when the kernel began. Decisions
// are the branch that last let a step be done, and branches and guards that could have had another
// value written to what it reads; they are known where guards count as steps
// (TraceRequest::skipped).
// Of what is read from shared memory also what may have kept another value from it, and writes
// beside it, which may have gone astray.
//
// What recorded threads did where it goes on through shared memory in others is told as a decision,
// if that is asked for.
enum class StandIns : uint8_t {
  kNone,
  kOfUses,
  kOfBranches,  // also the stores to shared memory that the branches of the slice led past
};
Slice SliceFrom(const BlockTrace& trace, const ControlFlow& flow, std::span<const StepRef> from,
                StandIns stand_ins = StandIns::kNone);

// The last recorded step of the thread that wrote that byte of an argument; none: step -1.
StepRef StoreTo(const BlockTrace& trace, uint32_t thread, uint32_t argument, uint64_t byte);

// What the thread did in place of storing elsewhere in that argument: its last step of each store
// that may go there, done or not; of a store that it did not come to, the branches that led it
// past.
std::vector<StepRef> InPlaceOfStore(const BlockTrace& trace, const ControlFlow& flow,
                                    uint32_t thread, uint32_t argument);

struct SliceQuestion {
  std::array<uint32_t, 3> block{};
  uint32_t thread = 0;  // in its block, x first
  uint32_t argument = 0;
  uint64_t byte = 0;
  bool is_missing = false;  // nobody stores it: what the thread does in place of that
};

// The last recorded step of the thread at that place of the PTX that touches the byte of that
// memory; of none that does the last at that place. None: step -1.
StepRef LastAt(const BlockTrace& trace, uint32_t thread, const Place& place,
               std::optional<TracedSpace> space, std::optional<uint32_t> argument, uint64_t byte);

// Where the slice that is asked for begins, also through other arguments that hold the same memory.
std::vector<StepRef> BeginsOf(const SliceQuestion& question, const LaunchRequest& launch,
                              const BlockTrace& trace, const ControlFlow& flow);

// So often a block is run anew for a slice that goes on in further threads, and for those that did
// what no other did.
inline constexpr int kMaxRounds = 12, kMaxUnlikeRounds = 3;

struct SlicedTrace {
  BlockTrace trace;
  std::vector<StepRef> begins;  // none: the block by itself does not store the byte
  Slice slice;
};

// Runs the block, as often as the slice goes on in further threads, and traces `most_threads` of
// them at most; then, of those that are left out, `most_unlike` that did what no other did.
// `restore` puts the arguments back before each run; `find` says where the slice begins in a trace.
template <typename Restore, typename Find>
Result<SlicedTrace> TraceSliceFrom(const Module& module, const LaunchRequest& launch,
                                   const std::array<uint32_t, 3>& block, uint32_t thread,
                                   const LaunchOptions& options, Restore restore, Find find,
                                   size_t most_threads = 64, size_t most_unlike = 0) {
  HLOSCOPE_ASSIGN_OR_RETURN(const ControlFlow flow, FlowOf(module, launch.entry));
  SlicedTrace sliced;
  TraceRequest request;
  request.block = block;
  request.threads = {thread};
  request.skipped = true;
  const StandIns stand_ins = most_unlike > 0 ? StandIns::kOfBranches : StandIns::kOfUses;
  int unlike_rounds = 0;
  for (int round = 0;;) {
    restore();
    SlicedTrace before = std::move(sliced);
    sliced = {};
    HLOSCOPE_ASSIGN_OR_RETURN(sliced.trace, Trace(module, launch, request, options));
    sliced.begins = find(sliced.trace, flow);
    // So many threads do more steps than are recorded: what was found before them stands.
    if (sliced.begins.empty()) return before.begins.empty() ? std::move(sliced) : std::move(before);
    sliced.slice = SliceFrom(sliced.trace, flow, sliced.begins);
    bool more = false;
    for (const uint32_t other : sliced.slice.other_threads) {
      if (request.threads.size() >= most_threads || unlike_rounds > 0) break;
      request.threads.push_back(other);
      more = true;
    }
    if (more && sliced.slice.complete && ++round < kMaxRounds) continue;
    if (!sliced.slice.other_threads.empty())
      sliced.slice = SliceFrom(sliced.trace, flow, sliced.begins, stand_ins);
    const std::vector<uint32_t>& unlike = sliced.slice.unlike_threads;
    const size_t taken = std::min(unlike.size(), most_unlike);
    if (taken == 0 || ++unlike_rounds > kMaxUnlikeRounds) return sliced;
    most_unlike -= taken;
    request.threads.insert(request.threads.end(), unlike.begin(), unlike.begin() + taken);
  }
}

// From the store of the byte that is asked for, or what is done in its place.
template <typename Restore>
Result<SlicedTrace> TraceSlice(const Module& module, const LaunchRequest& launch,
                               const SliceQuestion& question, const LaunchOptions& options,
                               Restore restore, size_t most_threads = 64, size_t most_unlike = 0) {
  const auto find = [&](const BlockTrace& trace, const ControlFlow& flow) {
    return BeginsOf(question, launch, trace, flow);
  };
  return TraceSliceFrom(module, launch, question.block, question.thread, options, restore, find,
                        most_threads, most_unlike);
}

}  // namespace hloscope::ptx
