// A queue, some threads, and a list of what they finished.
#include "viewer/tasks.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace hloscope::viewer {

Tasks::Tasks(int threads, std::function<void()> wake) : wake_(std::move(wake)) {
  for (int i = 0; i < std::max(1, threads); ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { Work(stop); });
  }
}

Tasks::~Tasks() {
  CancelAll();
  for (std::jthread& thread : threads_) thread.request_stop();
  threads_.clear();
}

uint64_t Tasks::Start(std::string title, Body body, Urgency urgency) {
  auto task = std::make_shared<Task>();
  std::lock_guard lock(mutex_);
  task->id = next_id_++;
  task->title = std::move(title);
  task->body = std::move(body);
  if (urgency == Urgency::kFirst) {
    queued_.push_front(task);
  } else {
    queued_.push_back(task);
  }
  changed_.notify_one();
  return task->id;
}

void Tasks::Cancel(uint64_t id) {
  std::lock_guard lock(mutex_);
  for (auto& task : queued_) {
    if (task->id == id) task->control.source_.request_stop();
  }
  for (auto& task : running_) {
    if (task->id == id) task->control.source_.request_stop();
  }
}

void Tasks::CancelAll() {
  std::lock_guard lock(mutex_);
  for (auto& task : queued_) task->control.source_.request_stop();
  for (auto& task : running_) task->control.source_.request_stop();
}

void Tasks::Forget() {
  std::lock_guard lock(mutex_);
  for (auto& task : running_) task->forgotten = true;
  queued_.clear();
  finished_.clear();
}

void Tasks::Work(const std::stop_token& stop) {
  while (true) {
    std::shared_ptr<Task> task;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !queued_.empty(); })) return;
      task = std::move(queued_.front());
      queued_.pop_front();
      running_.push_back(task);
    }
    Finish finish;
    try {
      finish = task->body(task->control);
    } catch (const std::exception&) {
      finish = nullptr;
    }
    {
      std::lock_guard lock(mutex_);
      std::erase(running_, task);
      task->body = nullptr;
      task->finish = std::move(finish);
      if (!task->forgotten) finished_.push_back(task);
    }
    if (wake_) wake_();
  }
}

bool Tasks::Collect() {
  std::vector<std::shared_ptr<Task>> finished;
  {
    std::lock_guard lock(mutex_);
    finished.swap(finished_);
  }
  for (auto& task : finished) {
    if (task->finish) task->finish();
  }
  return !finished.empty();
}

bool Tasks::idle() const {
  std::lock_guard lock(mutex_);
  return queued_.empty() && running_.empty() && finished_.empty();
}

std::vector<TaskState> Tasks::Running() const {
  std::lock_guard lock(mutex_);
  std::vector<TaskState> out;
  auto add = [&](const std::shared_ptr<Task>& task) {
    out.push_back({.id = task->id,
                   .title = task->title,
                   .done = task->control.done_.load(std::memory_order_relaxed),
                   .total = task->control.total_.load(std::memory_order_relaxed)});
  };
  std::ranges::for_each(running_, add);
  std::ranges::for_each(queued_, add);
  return out;
}

}  // namespace hloscope::viewer
