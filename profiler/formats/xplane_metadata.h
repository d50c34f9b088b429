// What the events of an XPlane refer to: names of events and of stats, read before the lines are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/event_store.h"
#include "profiler/event_store_builder.h"

namespace hloscope::profiler {

// The stats that say which instruction an event belongs to.
enum class StatRole : uint8_t { kOther, kOperation, kModule, kProgram };

struct StatName {
  std::string_view name;
  StatRole role = StatRole::kOther;
};

// Instruction, module and program as stats state them, in any order and number; later ones win.
struct StatedOperation {
  NameId name, module;
  int64_t program = -1;
};

struct EventName {
  NameId name;
  std::string_view bytes;  // the XEventMetadata, for its own stats
  StatedOperation stated;
};

// A map of an XPlane: ids are mostly small and dense, but may be anything.
template <typename T>
class IdTable {
 public:
  T& Insert(int64_t id) {
    if (id < 0 || id >= kDense) return sparse_[id];
    const size_t i = static_cast<size_t>(id);
    if (i >= dense_.size()) {
      dense_.resize(i + 1);
      present_.resize(i + 1, false);
    }
    present_[i] = true;
    return dense_[i];
  }
  const T* Find(int64_t id) const {
    if (id >= 0 && id < kDense) {
      const size_t i = static_cast<size_t>(id);
      return i < dense_.size() && present_[i] ? &dense_[i] : nullptr;
    }
    auto found = sparse_.find(id);
    return found == sparse_.end() ? nullptr : &found->second;
  }
  // visit(id, value) for every entry, small ids first and in order.
  template <typename Visit>
  void ForEach(Visit visit) {
    for (size_t i = 0; i < dense_.size(); ++i) {
      if (present_[i]) visit(static_cast<int64_t>(i), dense_[i]);
    }
    for (auto& [id, value] : sparse_) visit(id, value);
  }

 private:
  static constexpr int64_t kDense = 1 << 16;
  std::vector<T> dense_;
  std::vector<bool> present_;
  std::unordered_map<int64_t, T> sparse_;
};

// One plane, its lines not read yet; views into the bytes of the file.
struct PlaneParts {
  std::string_view name;
  std::vector<std::string_view> lines, stats;
  // Names that are no UTF-8, which protobuf does not write, and metadata that refers to missing
  // ones.
  std::vector<std::string_view> damaged;
  IdTable<EventName> events;
  IdTable<StatName> stat_names;
};

// The parts of an XPlane; false if its bytes are malformed, the parts before that being there.
// Names of events go into `builder`.
bool ReadPlane(std::string_view bytes, EventStoreBuilder& builder, PlaneParts& plane);

// What the XStat says of the operation, if it does; false: a name that it refers to is missing.
bool ReadStated(std::string_view stat, const PlaneParts& plane, EventStoreBuilder& builder,
                StatedOperation& stated);

// The XStat as an argument; names that are not known become "stat N".
Argument ReadStat(std::string_view stat, const IdTable<StatName>& names);

}  // namespace hloscope::profiler
