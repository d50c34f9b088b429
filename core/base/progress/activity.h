// Activity: what work that may take long is doing, for whoever shows how far it is.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hloscope {

// One piece of work while it lives, on whatever thread. Costs a lock at its beginning and end: for
// files, modules and phases, not for instructions.
class Activity {
 public:
  // `what` is a literal ("reading"), `subject` what it is done to, else that of the work around it
  // on this thread; `total` in any unit, 0: not known.
  explicit Activity(std::string_view what, std::string_view subject = {}, int64_t total = 0)
      : what_(what),
        subject_(subject.empty() && around != nullptr ? around->subject_ : std::string(subject)),
        total_(total),
        outer_(around) {
    around = this;
    const std::lock_guard lock(mutex);
    all.push_back(this);
  }
  ~Activity() {
    around = outer_;
    const std::lock_guard lock(mutex);
    all.erase(std::ranges::find(all, this));
  }
  Activity(const Activity&) = delete;
  Activity& operator=(const Activity&) = delete;

  // How much is done in all.
  void Done(int64_t done) { done_.store(done, std::memory_order_relaxed); }

  struct State {
    std::string_view what;
    std::string subject;
    int64_t done = 0, total = 0;
  };
  // The one that began last of those that go on.
  static std::optional<State> Current() {
    const std::lock_guard lock(mutex);
    if (all.empty()) return std::nullopt;
    const Activity& last = *all.back();
    return State{last.what_, last.subject_, last.done_.load(std::memory_order_relaxed),
                 last.total_};
  }

 private:
  static inline std::mutex mutex;
  static inline std::vector<const Activity*> all;
  static inline thread_local const Activity* around = nullptr;

  const std::string_view what_;
  const std::string subject_;
  const int64_t total_;
  const Activity* const outer_;
  std::atomic<int64_t> done_ = 0;
};

}  // namespace hloscope
