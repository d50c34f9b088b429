// One loop at a time is shared between the caller and the waiting threads through an atomic next
// index.
#include "core/base/jobs.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/memory_limit.h"

namespace hloscope {
namespace {

// True on a thread while it runs a body.
thread_local bool inside_body = false;

Error ErrorOfCurrentException() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return EnvironmentError("out of memory").error();
  } catch (const std::exception& e) {
    return InternalError(std::string("a job threw: ") + e.what()).error();
  } catch (...) {
    return InternalError("a job threw an unknown exception").error();
  }
}

// The state of one ParallelFor.
class Loop {
 public:
  Loop(int64_t n, const std::function<void(int64_t)>& body, const std::stop_token& stop)
      : body_(body), stop_(stop), end_(n) {}

  // Runs indices until none is left. Indices are taken in rising order, so when one throws every
  // smaller one has been taken already and will finish: the smallest throwing index is the same in
  // every run.
  void Work() {
    const bool outer = std::exchange(inside_body, true);
    const MemoryLimit::Joined joined(memory_);
    while (!stop_.stop_requested()) {
      const int64_t i = next_.fetch_add(1, std::memory_order_relaxed);
      if (i >= end_.load(std::memory_order_relaxed)) break;
      Call(i);
    }
    inside_body = outer;
  }

  Status Outcome() {
    if (error_.has_value()) return std::unexpected(*std::move(error_));
    if (done_.load() < end_.load())
      return std::unexpected(Error{ErrorClass::kCancelled, "stopped", {}, {}});
    return {};
  }

 private:
  void Call(int64_t i) {
    try {
      body_(i);
      done_.fetch_add(1, std::memory_order_relaxed);
    } catch (...) {
      Record(i, ErrorOfCurrentException());
    }
  }

  void Record(int64_t i, Error error) {
    const std::lock_guard lock(mutex_);
    if (i >= error_index_) return;
    error_index_ = i;
    error_ = std::move(error);
    end_.store(std::min(end_.load(), i), std::memory_order_relaxed);
  }

  const std::function<void(int64_t)>& body_;
  const std::stop_token& stop_;
  MemoryLimit* const memory_ = MemoryLimit::InForce();  // of the caller
  std::atomic<int64_t> next_ = 0;
  std::atomic<int64_t> done_ = 0;
  std::atomic<int64_t> end_;
  std::mutex mutex_;
  int64_t error_index_ = std::numeric_limits<int64_t>::max();
  std::optional<Error> error_;
};

}  // namespace

int AvailableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

IndexRange PartOf(int64_t n, int64_t parts, int64_t part) {
  const int64_t size = n / parts, rest = n % parts;
  const int64_t begin = part * size + std::min(part, rest);
  return {begin, begin + size + (part < rest ? 1 : 0)};
}

// The waiting threads and the loop they work on.
class Jobs::ThreadPool {
 public:
  explicit ThreadPool(int threads) {
    // Where the system gives no more threads, those that there are do the work.
    for (int i = 1; i < threads && AddThread(); ++i) {
    }
  }

  int size() const { return static_cast<int>(threads_.size()) + 1; }

  void Run(Loop& loop) {
    const std::lock_guard turn(turn_);
    {
      const std::lock_guard lock(mutex_);
      loop_ = &loop;
      ++generation_;
    }
    wake_.notify_all();
    loop.Work();
    std::unique_lock lock(mutex_);
    loop_ = nullptr;
    idle_.wait(lock, [this] { return working_ == 0; });
  }

 private:
  bool AddThread() {
    try {
      threads_.emplace_back([this](const std::stop_token& end) { WaitForLoops(end); });
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }

  void WaitForLoops(const std::stop_token& end) {
    uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    while (wake_.wait(lock, end, [&] { return loop_ != nullptr && generation_ != seen; })) {
      seen = generation_;
      Loop* loop = loop_;
      ++working_;
      lock.unlock();
      loop->Work();
      lock.lock();
      if (--working_ == 0) idle_.notify_all();
    }
  }

  std::mutex turn_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::condition_variable_any idle_;
  Loop* loop_ = nullptr;
  uint64_t generation_ = 0;
  int working_ = 0;
  std::vector<std::jthread> threads_;  // last, so that they end before what they use
};

Jobs::Jobs(int threads) : pool_(std::make_unique<ThreadPool>(threads)) {}
Jobs::~Jobs() = default;

int Jobs::threads() const { return pool_->size(); }

Status Jobs::ParallelFor(int64_t n, const std::function<void(int64_t)>& body,
                         const std::stop_token& stop) {
  Loop loop(std::max<int64_t>(n, 0), body, stop);
  if (inside_body || threads() == 1 || n <= 1) {
    loop.Work();
  } else {
    pool_->Run(loop);
  }
  return loop.Outcome();
}

Jobs& SharedJobs(int threads) {
  static std::mutex mutex;
  static std::map<int, Jobs> pools;
  const std::lock_guard lock(mutex);
  return pools.try_emplace(threads, threads).first->second;
}

Status ParallelFor(int64_t n, int threads, const std::function<void(int64_t)>& body,
                   const std::stop_token& stop) {
  const int64_t useful = inside_body ? 1 : std::clamp<int64_t>(n, 1, std::max(threads, 1));
  return Jobs(static_cast<int>(useful)).ParallelFor(n, body, stop);
}

}  // namespace hloscope
