// Seats by kind, and workers in them.
#include "core/replay/workers/worker_pool.h"

#include <algorithm>
#include <utility>

#include "core/base/jobs.h"

namespace hloscope::replay {

Result<WorkerProcess*> WorkerPool::Seat::Worker(
    std::optional<std::chrono::steady_clock::time_point> deadline) {
  if (worker_ == nullptr || !worker_->IsUsable()) {
    worker_.reset();
    ++generation_;
    WorkerStart start{options_.program, kind_.platform, kind_.environment,
                      options_.most_frame_bytes};
    start.deadline = deadline;
    HLOSCOPE_ASSIGN_OR_RETURN(worker_, WorkerProcess::Start(start));
  }
  TellUnloaded();
  return worker_.get();
}

void WorkerPool::Seat::Unload(uint64_t generation, uint64_t id) {
  const std::lock_guard lock(unwanted_mutex_);
  unwanted_.emplace_back(generation, id);
}

void WorkerPool::Seat::TellUnloaded() {
  const std::lock_guard lock(unwanted_mutex_);
  for (const auto& [generation, id] : std::exchange(unwanted_, {})) {
    if (generation != generation_) continue;
    ValueWriter frame(FrameKind::kUnload);
    frame.Put(id);
    worker_->Tell(frame.Finish());
  }
}

WorkerPool::WorkerPool(WorkerPoolOptions options) : options_(std::move(options)) {
  if (options_.most_workers <= 0) options_.most_workers = AvailableCpus();
}

WorkerPool::Lease WorkerPool::Take(const Kind& kind) {
  std::shared_ptr<Seat> seat;
  {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<Seat>>& seats = seats_[kind];
    for (const auto& free : seats) {
      std::unique_lock taken(free->mutex(), std::try_to_lock);
      if (taken.owns_lock()) return {free, std::move(taken)};
    }
    if (std::cmp_less(seats.size(), options_.most_workers)) {
      seats.push_back(std::make_shared<Seat>(options_, kind));
      return {seats.back(), std::unique_lock(seats.back()->mutex())};
    }
    seat = seats[next_++ % seats.size()];
  }
  return {seat, std::unique_lock(seat->mutex())};
}

void WorkerPool::Prestart(const Kind& kind) {
  constexpr std::chrono::seconds kMost(1);
  const Lease lease = Take(kind);
  [[maybe_unused]] const auto started =
      lease.seat->Worker(std::chrono::steady_clock::now() + kMost);
}

}  // namespace hloscope::replay
