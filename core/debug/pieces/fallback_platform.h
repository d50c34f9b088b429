// Fallbacks: what a platform refuses is named, or runs on the host beside it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "core/base/result.h"
#include "core/replay/platform.h"

namespace hloscope::debug {

enum class Fallback : uint8_t {
  kNone,       // what the platform says of a module that it refuses
  kError,      // the instruction that it refuses, why, and how to go on
  kCallbacks,  // the same, but host callbacks alone are left to the host, an error where they run
  kHost,       // that instruction runs on the host, by the reference evaluator, and is told
};

// `platform` with what it refuses named or replaced. `make_host` makes the platform that runs it
// when there is something to run. A platform of ours that drives a device and hands instructions
// over by itself may do so with kHost alone; else the first is an unsupported error.
// Loading tries parts of a module that is refused until it is known what in it is to blame: with
// kError and kCallbacks some, with kHost as many as it takes.
using MakeHost = std::function<Result<std::unique_ptr<replay::Platform>>()>;
// `now`: the clock that says how much of a deadline is left for that; a test has its own.
using Now = std::function<std::chrono::steady_clock::time_point()>;
std::unique_ptr<replay::Platform> WithFallback(std::unique_ptr<replay::Platform> platform,
                                               MakeHost make_host, Fallback fallback,
                                               Now now = &std::chrono::steady_clock::now);

}  // namespace hloscope::debug
