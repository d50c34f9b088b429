// A queue, some threads, and a list of what they finished.
#include "viewer/model/tasks.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace hloscope::viewer {

Tasks::Tasks(int threads, std::function<void()> wake) : wake_(std::move(wake)) {
  for (int i = 0; i < std::max(1, threads); ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { Work(stop, &Tasks::queued_); });
  }
  threads_.emplace_back([this](const std::stop_token& stop) { Work(stop, &Tasks::first_); });
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
    first_.push_front(task);
  } else {
    queued_.push_back(task);
  }
  changed_.notify_all();
  return task->id;
}

void Tasks::Cancel(uint64_t id) {
  std::lock_guard lock(mutex_);
  for (auto* tasks : {&first_, &queued_, &running_}) {
    for (auto& task : *tasks) {
      if (task->id == id) task->control.source_.request_stop();
    }
  }
}

void Tasks::CancelAll() {
  std::lock_guard lock(mutex_);
  for (auto* tasks : {&first_, &queued_, &running_}) {
    for (auto& task : *tasks) task->control.source_.request_stop();
  }
}

void Tasks::Forget() {
  std::lock_guard lock(mutex_);
  for (auto& task : running_) task->forgotten = true;
  first_.clear();
  queued_.clear();
  finished_.clear();
}

// What is waited for goes before the queue of a thread; null: there is nothing for it. Under the
// lock.
std::shared_ptr<Tasks::Task> Tasks::Next(std::deque<std::shared_ptr<Task>>& queue) {
  std::deque<std::shared_ptr<Task>>& from = first_.empty() ? queue : first_;
  if (from.empty()) return nullptr;
  std::shared_ptr<Task> task = std::move(from.front());
  from.pop_front();
  running_.push_back(task);
  return task;
}

void Tasks::Work(const std::stop_token& stop, std::deque<std::shared_ptr<Task>> Tasks::* queue) {
  while (true) {
    std::shared_ptr<Task> task;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [&] { return (task = Next(this->*queue)) != nullptr; }))
        return;
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
  return first_.empty() && queued_.empty() && running_.empty() && finished_.empty();
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
  std::ranges::for_each(first_, add);
  std::ranges::for_each(queued_, add);
  return out;
}

}  // namespace hloscope::viewer
