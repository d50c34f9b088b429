// TaskCache: what is computed in the background, once for each key.
//
// A key is a small struct that names all the value depends on, with `using Value = …` and
// operator<=>; so no two callers can mean different things by one key.
#pragma once

#include <compare>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <typeindex>
#include <unordered_map>
#include <utility>

#include "viewer/model/pending.h"
#include "viewer/model/tasks.h"

namespace hloscope::viewer {

template <typename T>
using Computed = Result<std::shared_ptr<const T>>;

// What a body gives, errors as values.
template <typename T, typename F>
Computed<T> Guarded(const F& compute, TaskControl& control) {
  try {
    if (control.stopped())
      return std::unexpected(Error{ErrorClass::kCancelled, "cancelled", {}, {}});
    return compute(control);
  } catch (const std::exception& error) {
    return std::unexpected(Error{ErrorClass::kEnvironment, error.what(), {}, {}});
  }
}

// The key of what depends on a module, or on one stage of it, and on nothing else.
template <typename T>
struct PartKey {
  using Value = T;
  int32_t module = -1, stage = -1;
  auto operator<=>(const PartKey&) const = default;
};

class TaskCache {
 public:
  explicit TaskCache(Tasks& tasks) : tasks_(tasks) {}

  // The first call starts the work; ask again in every frame. References hold until Clear or Drop.
  template <typename Key>
  const Pending<typename Key::Value>& Get(
      const Key& key, const std::string& title,
      std::function<Computed<typename Key::Value>(TaskControl&)> compute) {
    std::shared_ptr<Entry<Key>>& entry = SlotsOf<Key>().entries[key];
    if (entry == nullptr) {
      entry = std::make_shared<Entry<Key>>();
      Start(entry, title, std::move(compute));
    }
    return entry->pending;
  }
  // What Get has started; null: nothing yet.
  template <typename Key>
  const Pending<typename Key::Value>* Find(const Key& key) {
    auto& entries = SlotsOf<Key>().entries;
    const auto found = entries.find(key);
    return found == entries.end() ? nullptr : &found->second->pending;
  }
  // Forgets one value, when it is no longer needed.
  template <typename Key>
  void Drop(const Key& key) {
    SlotsOf<Key>().entries.erase(key);
  }
  // Forgets what was cancelled before it was there; it is computed when it is asked for again.
  void DropCancelled() {
    for (auto& [type, slots] : slots_) slots->DropCancelled();
  }
  // What is still computed is asked to stop: nobody will ask for it.
  void Clear() {
    for (auto& [type, slots] : slots_) slots->Cancel(tasks_);
    slots_.clear();
  }

 private:
  template <typename Key>
  struct Entry {
    Pending<typename Key::Value> pending;
    bool is_cancelled = false;
  };
  struct AnySlots {
    virtual ~AnySlots() = default;
    virtual void DropCancelled() = 0;
    virtual void Cancel(Tasks& tasks) = 0;
  };
  template <typename Key>
  struct Slots final : AnySlots {
    std::map<Key, std::shared_ptr<Entry<Key>>> entries;
    void DropCancelled() override {
      std::erase_if(entries, [](const auto& slot) { return slot.second->is_cancelled; });
    }
    void Cancel(Tasks& tasks) override {
      for (const auto& [key, entry] : entries) {
        if (entry->pending.waiting()) tasks.Cancel(entry->pending.task);
      }
    }
  };

  template <typename Key>
  Slots<Key>& SlotsOf() {
    std::unique_ptr<AnySlots>& slots = slots_[std::type_index(typeid(Key))];
    if (slots == nullptr) slots = std::make_unique<Slots<Key>>();
    return static_cast<Slots<Key>&>(*slots);
  }

  template <typename Key, typename F>
  void Start(const std::shared_ptr<Entry<Key>>& entry, const std::string& title, F compute) {
    using Value = typename Key::Value;
    entry->pending.state = PendingState::kWaiting;
    entry->pending.task =
        tasks_.Start(title, [entry, compute = std::move(compute)](TaskControl& control) {
          auto result = std::make_shared<Computed<Value>>(Guarded<Value>(compute, control));
          return [entry, result, stopped = control.stopped()] {
            entry->is_cancelled = !*result && stopped;
            entry->pending.Settle(std::move(*result));
          };
        });
  }

  Tasks& tasks_;
  std::unordered_map<std::type_index, std::unique_ptr<AnySlots>> slots_;
};

}  // namespace hloscope::viewer
