// What every function of the made-up driver does around its own.
#pragma once

#include <fmt/format.h>
#include <string.h>

#include <chrono>
#include <thread>
#include <utility>

#include "tests/fake_cuda/state.h"

namespace fake_cuda {

inline thread_local CUctx_st* current = nullptr;

// `needs_context`: as CUDA's does.
template <typename Body>
int Do(const char* name, bool needs_context, const char* kernel, const Body& body) {
  State& state = State::Get();
  const std::lock_guard lock(state.mutex);
  FakeCudaCall call{name, 0, 0, ++state.correlation, Now(), kernel};
  const uint32_t correlation = call.correlation;
  const auto tell = [&] {
    if (state.listener.call != nullptr) state.listener.call(state.listener.user, &call);
  };
  tell();
  state.correlation = correlation;
  if (const int64_t ms = state.faults.Property(fmt::format("{}_ms", name), 0); ms > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  }
  int result = state.faults.Next(name);
  if (result == 0 && current != nullptr) {
    result = state.faults.Next(fmt::format("{}@{}", name, current->device));
  }
  if (result == 0 && !state.has_started && strcmp(name, "cuInit") != 0 &&
      strcmp(name, "cuDriverGetVersion") != 0) {
    result = kNotInitialized;
  }
  if (result == 0 && needs_context) result = current == nullptr ? kInvalidContext : current->lost;
  const bool is_forgotten = state.faults.Property(fmt::format("forgets_{}", name), 0) != 0;
  if (result == 0 && !is_forgotten) result = body(state);
  if (LosesDevice(result) && current != nullptr) current->lost = result;
  call.has_ended = 1;
  call.result = result;
  call.time_ns = Now();
  tell();
  return result;
}
template <typename Body>
int Do(const char* name, const Body& body) {
  return Do(name, true, nullptr, body);
}

template <typename T>
T* Keep(std::map<const void*, std::unique_ptr<T>>& all, std::unique_ptr<T> made) {
  T* const handle = made.get();
  all[handle] = std::move(made);
  return handle;
}

}  // namespace fake_cuda
