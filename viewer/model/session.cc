// The life of the parts together.
#include "viewer/model/session.h"

namespace hloscope::viewer {

Session::Session(const SessionOptions& options)
    : Context{.document = document_,
              .navigation = navigation_,
              .data = data_,
              .cache = cache_,
              .marks = marks_,
              .requests = requests_,
              .messages = messages_,
              .experiment = experiment_,
              .bookmarks = bookmarks_,
              .recent = recent_,
              .tasks = tasks_},
      document_(options.limits, options.wake),
      experiment_(options.wake, options.worker_program, options.state_folder),
      cache_(tasks),
      data_(document_, cache_),
      navigation_(document_, data_, tasks),
      tasks_(options.threads, options.wake) {}

void Session::Open(const std::vector<std::string>& paths) {
  tasks_.CancelAll();
  tasks_.Forget();
  cache_.Clear();
  data_.Clear();
  marks_ = {};
  bookmarks_.clear();
  experiment_.Reset();
  document_.Open(paths, tasks_, messages_);
  navigation_.Reset();
}

bool Session::Update() {
  const bool ran = experiment_.Update(), changed = document_.TakeNews();
  return tasks_.Collect() || ran || changed;
}

void Session::CancelWork() {
  if (tasks_.idle()) return;
  marks_.was_cancelled = true;
  tasks_.CancelAll();
}

void Session::Resume() {
  marks_.was_cancelled = false;
  cache_.DropCancelled();
  navigation_.ForgetCounterparts();
}

}  // namespace hloscope::viewer
