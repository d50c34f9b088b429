// WorkerPool: warm workers, kept as long as the pool, one job at a time each.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/replay/workers/worker_process.h"

namespace hloscope::replay {

struct WorkerPoolOptions {
  std::string program = kThisProgram;  // serves with ServeWorker behind kWorkerArgument
  // Where modules that a worker died of are kept; empty: nowhere.
  std::string evidence_folder;
  int most_workers = 0;  // of one kind; 0: one for each CPU
  int64_t most_frame_bytes = int64_t{1} << 30;
};

// Workers are of one kind if they serve one platform in one environment: what differs in either
// does not share a process.
class WorkerPool {
 public:
  struct Kind {
    std::string platform;
    std::vector<std::string> environment;
    auto operator<=>(const Kind&) const = default;
  };

  // A place for a worker. Who has locked it has the worker to himself; after a death the next job
  // gets another process, of the next generation.
  class Seat {
   public:
    Seat(const WorkerPoolOptions& options, Kind kind) : options_(options), kind_(std::move(kind)) {}
    // A worker that lives, the present one if it does; a new one starts by the deadline. Only while
    // locked, as are the next two.
    Result<WorkerProcess*> Worker(
        std::optional<std::chrono::steady_clock::time_point> deadline = {});
    uint64_t generation() const { return generation_; }
    uint64_t NextId() { return next_id_++; }
    // What is loaded under that id is no longer wanted; any time.
    void Unload(uint64_t generation, uint64_t id);

    std::mutex& mutex() { return mutex_; }

   private:
    void TellUnloaded();

    const WorkerPoolOptions options_;
    const Kind kind_;
    std::mutex mutex_;
    std::unique_ptr<WorkerProcess> worker_;
    uint64_t generation_ = 0, next_id_ = 1;
    std::mutex unwanted_mutex_;
    std::vector<std::pair<uint64_t, uint64_t>> unwanted_;  // generation and id
  };
  struct Lease {
    std::shared_ptr<Seat> seat;
    std::unique_lock<std::mutex> lock;
  };

  explicit WorkerPool(WorkerPoolOptions options = {});

  // A seat of that kind that nobody uses, a new one if there may be more, or one to be waited for.
  Lease Take(const Kind& kind);
  // Starts a worker of that kind in advance; what goes wrong shows when it is used.
  void Prestart(const Kind& kind);

  const WorkerPoolOptions& options() const { return options_; }

 private:
  WorkerPoolOptions options_;
  std::mutex mutex_;
  std::map<Kind, std::vector<std::shared_ptr<Seat>>> seats_;
  size_t next_ = 0;
};

}  // namespace hloscope::replay
