// ById: a fact of each shape or computation, found once however many instructions ask for it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace hloscope::hlo {

template <typename Id, typename T>
class ById {
 public:
  /// The fact of that id; `find` finds it the first time.
  template <typename Find>
  T Get(Id id, Find find) {
    if (known_.size() <= id.index) known_.resize(size_t{id.index} + 1);
    std::optional<T>& fact = known_[id.index];
    if (!fact) fact = find();
    return *fact;
  }
  /// One that was found before.
  T Known(Id id) const { return *known_[id.index]; }

 private:
  std::vector<std::optional<T>> known_;
};

}  // namespace hloscope::hlo
