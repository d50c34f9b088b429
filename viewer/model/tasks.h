// Tasks: work in the background of the window. Bodies run on threads of their own, what they found
// is taken over on the main thread; nothing else is shared between the two.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace hloscope::viewer {

// What a running body may say and ask.
class TaskControl {
 public:
  std::stop_token stop() const { return source_.get_token(); }
  bool stopped() const { return source_.stop_requested(); }
  // How far it is; total 0: not known.
  void Progress(int64_t done, int64_t total) {
    done_.store(done, std::memory_order_relaxed);
    total_.store(total, std::memory_order_relaxed);
  }

 private:
  friend class Tasks;
  std::stop_source source_;
  std::atomic<int64_t> done_{0}, total_{0};
};

struct TaskState {
  uint64_t id = 0;
  std::string title;
  int64_t done = 0, total = 0;  // total 0: not known
};

class Tasks {
 public:
  // What a body gives back: called on the main thread by Collect().
  using Finish = std::function<void()>;
  using Body = std::function<Finish(TaskControl&)>;

  // `wake` is called from any thread when there is something to collect. One thread more than
  // `threads` takes only urgent bodies, however long the others read.
  Tasks(int threads, std::function<void()> wake);
  // Asks everything to stop and waits for it.
  ~Tasks();
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;

  // Queues a body, before all others if it is urgent; its id. A body that throws
  // finishes with nothing: bodies report errors as values.
  enum class Urgency : uint8_t { kInTurn, kFirst };
  uint64_t Start(std::string title, Body body, Urgency urgency = Urgency::kInTurn);
  // Asks a task to stop; its Finish is still called.
  void Cancel(uint64_t id);
  void CancelAll();
  // The user stopped work: what failed by that can be resumed.
  bool was_cancelled() const { return was_cancelled_; }
  void NoteCancelled(bool was_cancelled) { was_cancelled_ = was_cancelled; }
  // Drops the Finish of every task so far: what they were for is gone.
  void Forget();

  // Calls what finished, on the calling thread; true if there was anything.
  bool Collect();
  // Nothing is queued, running or waiting to be collected.
  bool idle() const;
  std::vector<TaskState> Running() const;  // oldest first

 private:
  struct Task {
    uint64_t id = 0;
    std::string title;
    Body body;
    TaskControl control;
    Finish finish;
    bool forgotten = false;
  };
  void Work(const std::stop_token& stop, std::deque<std::shared_ptr<Task>> Tasks::* queue);
  std::shared_ptr<Task> Next(std::deque<std::shared_ptr<Task>>& queue);

  std::function<void()> wake_;
  bool was_cancelled_ = false;  // of the main thread
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  uint64_t next_id_ = 1;
  std::deque<std::shared_ptr<Task>> first_, queued_;  // first_: newest in front
  std::deque<std::shared_ptr<Task>> running_;
  std::vector<std::shared_ptr<Task>> finished_;
  std::vector<std::jthread> threads_;
};

}  // namespace hloscope::viewer
