/// History: where one was, with back and forward as in a browser; also undo and redo of view state.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace hloscope::viewer {

template <typename T>
class History {
 public:
  explicit History(T first = {}, size_t most = 500) : most_(most) {
    entries_.push_back(std::move(first));
  }

  const T& current() const { return entries_[at_]; }
  bool CanGoBack() const { return at_ > 0; }
  bool CanGoForward() const { return at_ + 1 < entries_.size(); }
  // Goes to `next`, dropping what lay ahead; nothing where it is the current entry already.
  void Push(T next) {
    if (next == current()) return;
    entries_.resize(at_ + 1);
    entries_.push_back(std::move(next));
    if (entries_.size() > most_) entries_.erase(entries_.begin());
    at_ = entries_.size() - 1;
  }
  // Takes the place of the current entry, as for a move that goes on.
  void Replace(T now) { entries_[at_] = std::move(now); }
  // Calls `change` with each entry.
  template <typename F>
  void ForEach(F change) {
    for (T& entry : entries_) change(entry);
  }
  template <typename F>
  void ForEach(F look) const {
    for (const T& entry : entries_) look(entry);
  }
  /// Puts what `change` makes of each entry in its place; where that is nothing the entry goes, and
  /// the current one becomes T().
  template <typename F>
  void Change(F change) {
    std::vector<T> changed;
    size_t at = 0;
    for (size_t i = 0; i < entries_.size(); ++i) {
      std::optional<T> entry = change(entries_[i]);
      if (i == at_) at = changed.size();
      if (entry || i == at_) changed.push_back(entry ? *std::move(entry) : T());
    }
    entries_ = std::move(changed);
    at_ = at;
  }
  bool Back() { return CanGoBack() && (--at_, true); }
  bool Forward() { return CanGoForward() && (++at_, true); }
  void Reset(T first) {
    entries_.clear();
    entries_.push_back(std::move(first));
    at_ = 0;
  }

 private:
  std::vector<T> entries_;
  size_t at_ = 0, most_;
};

}  // namespace hloscope::viewer
