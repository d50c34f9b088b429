// Queues of streams. Work is done as late as CUDA may do it: when somebody waits for it.
#pragma once

#include <memory>
#include <vector>

#include "tests/fake_cuda/state.h"

namespace fake_cuda {

// Work at the end of a queue; or of several, where they meet. A stream that records takes note of
// it instead: null. `host`: pinned memory that it reads or writes.
std::shared_ptr<Queued> Append(State& state, const std::vector<CUstream_st*>& streams, Work work,
                               const std::byte* host = nullptr);
// Nothing behind it begins before that is done.
void AppendWait(CUstream_st& stream, std::shared_ptr<Queued> for_what);
// Its time is taken when the stream comes there.
void AppendMark(State& state, CUstream_st& stream, CUevent_st& event);

// Does what is first in the queue, and whatever of other queues that waits for.
void Step(State& state, CUstream_st& stream);
void Finish(State& state, CUstream_st& stream);
// Up to the time at which the event was recorded last.
void Finish(State& state, const CUevent_st& event);
// All queues of a device.
void Finish(State& state, int device);
// Nothing that waits there is done any more.
void Drop(CUstream_st& stream);

}  // namespace fake_cuda
