// Pending<T>: something that is read or computed in the background, and how that went.
#pragma once

#include <cstdint>
#include <memory>

#include "core/base/result.h"

namespace hloscope::viewer {

enum class PendingState : uint8_t { kNone, kWaiting, kReady, kFailed };

template <typename T>
struct Pending {
  PendingState state = PendingState::kNone;
  std::shared_ptr<const T> value;  // kReady
  Error error;                     // kFailed
  uint64_t task = 0;               // kWaiting: who works on it

  /// The end of the wait.
  void Settle(Result<std::shared_ptr<const T>>&& result) {
    state = result ? PendingState::kReady : PendingState::kFailed;
    if (result) {
      value = *std::move(result);
    } else {
      error = result.error();
    }
  }
  bool ready() const { return state == PendingState::kReady; }
  bool waiting() const { return state == PendingState::kWaiting; }
  bool failed() const { return state == PendingState::kFailed; }
  const T& operator*() const { return *value; }
  const T* operator->() const { return value.get(); }
};

}  // namespace hloscope::viewer
