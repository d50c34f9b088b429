// Marks: what one view marks for others to show; forgotten with the dump.
#pragma once

#include <memory>
#include <string>
#include <typeindex>
#include <unordered_map>
#include <vector>

#include "core/dump/dump_model.h"

namespace hloscope::viewer {

/// What views mark for each other to show. Each mark is a struct beside its owner; all are
/// forgotten with the dump.
class Marks {
 public:
  /// The mark of that type, at first a T(). The reference holds until Clear.
  template <typename T>
  T& Of() {
    std::unique_ptr<AnyMark>& slot = marks_[std::type_index(typeid(T))];
    if (slot == nullptr) slot = std::make_unique<Mark<T>>();
    return static_cast<Mark<T>&>(*slot).value;
  }
  void Clear() { marks_.clear(); }
  /// Positions in the reading `before` as those in `now`: calls T::Rebase(before, now, lost) of
  /// those marks that have positions. What is not there any more is named in `lost`, where the user
  /// has made it, and kept for a later reading.
  void Rebase(const dump::DumpModel& before, const dump::DumpModel& now,
              std::vector<std::string>& lost) {
    for (auto& [type, mark] : marks_) mark->Rebase(before, now, lost);
  }

 private:
  struct AnyMark {
    virtual ~AnyMark() = default;
    virtual void Rebase(const dump::DumpModel& before, const dump::DumpModel& now,
                        std::vector<std::string>& lost) = 0;
  };
  template <typename T>
  struct Mark final : AnyMark {
    void Rebase(const dump::DumpModel& before, const dump::DumpModel& now,
                std::vector<std::string>& lost) override {
      if constexpr (requires { value.Rebase(before, now, lost); }) value.Rebase(before, now, lost);
    }
    T value{};
  };

  std::unordered_map<std::type_index, std::unique_ptr<AnyMark>> marks_;
};

}  // namespace hloscope::viewer
