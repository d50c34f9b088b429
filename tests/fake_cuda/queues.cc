// Which work is done next. A device that is lost does nothing any more: what waits is dropped.
#include "tests/fake_cuda/queues.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace fake_cuda {
namespace {

// What is not done lies in the queues of its streams.
void FinishUpTo(State& state, const Queued& queued) {
  while (!queued.is_done) Step(state, *queued.streams[0]);
}

}  // namespace

std::shared_ptr<Queued> Append(State& state, const std::vector<CUstream_st*>& streams, Work work,
                               const std::byte* host) {
  if (CUgraph_st* const graph = streams[0]->capture; graph != nullptr) {
    streams[0]->capture_failed |= graph->is_open;
    const bool at_end = state.faults.Property("nodes_at_end", 0) != 0;
    graph->nodes.push_back({at_end ? 0 : state.NewNode(0), std::move(work)});
    return nullptr;
  }
  auto queued = std::make_shared<Queued>();
  queued->work = std::move(work);
  queued->correlation = state.correlation;
  queued->streams = streams;
  queued->host = host;
  for (CUstream_st* const stream : streams) {
    // A stream that comes twice meets itself.
    if (stream->queue.empty() || stream->queue.back() != queued) stream->queue.push_back(queued);
  }
  if (state.listener.at_once != 0) Finish(state, *streams[0]);
  return queued;
}

void AppendWait(CUstream_st& stream, std::shared_ptr<Queued> for_what) {
  if (for_what == nullptr || for_what->is_done) return;
  auto wait = std::make_shared<Queued>();
  wait->streams = {&stream};
  wait->waits_for = std::move(for_what);
  stream.queue.push_back(std::move(wait));
}

void AppendMark(State& state, CUstream_st& stream, CUevent_st& event) {
  event.time_ns = std::make_shared<uint64_t>(0);
  const auto take = [time = event.time_ns](uint32_t, uint32_t, uint64_t) {
    *time = State::Get().MarkedTime();
    return 0;
  };
  event.recorded = Append(state, {&stream}, take);
}

void Step(State& state, CUstream_st& stream) {
  const std::shared_ptr<Queued> next = stream.queue.front();
  if (std::exchange(next->is_begun, true)) {
    // With CUDA both would wait for ever.
    fputs("made-up driver: two streams wait for each other\n", stderr);
    abort();
  }
  if (next->waits_for != nullptr) FinishUpTo(state, *next->waits_for);
  for (CUstream_st* const each : next->streams) {
    while (each->queue.front() != next) Step(state, *each);
  }
  const auto is_lost = [&](const CUstream_st* each) {
    return state.ContextOf(each->device).lost != 0;
  };
  if (next->work && std::ranges::none_of(next->streams, is_lost)) {
    const int result = next->work(next->correlation, 0, 0);
    if (result != 0) state.ContextOf(next->streams[0]->device).lost = result;
  }
  for (CUstream_st* const each : next->streams) {
    if (!each->queue.empty() && each->queue.front() == next) each->queue.pop_front();
  }
  next->is_done = true;
}

void Finish(State& state, CUstream_st& stream) {
  while (!stream.queue.empty()) Step(state, stream);
}

void Finish(State& state, const CUevent_st& event) {
  if (event.recorded != nullptr) FinishUpTo(state, *event.recorded);
}

void Drop(CUstream_st& stream) {
  for (const auto& each : stream.queue) each->is_done = true;
  stream.queue.clear();
}

void Finish(State& state, int device) {
  for (const auto& [handle, stream] : state.streams) {
    if (stream->device == device) Finish(state, *stream);
  }
}

}  // namespace fake_cuda
