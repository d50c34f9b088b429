// LoopWatch: notices that a while loop will never end, because its state has come round.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/hlo/module.h"
#include "core/runtime/value.h"

namespace hloscope::eval {

// The elements of a loop's state that decide when it ends: those that the condition reads, and
// those that the body makes these of. Nullopt where all may.
std::optional<std::vector<size_t>> DecidingElements(const hlo::Module& module,
                                                    hlo::ComputationId condition,
                                                    hlo::ComputationId body);

// A loop whose condition and body have no effects and draw no random numbers does the same again
// from the same state; so a state that occurs twice occurs for ever.
class LoopWatch {
 public:
  LoopWatch(const hlo::Module& module, hlo::ComputationId condition, hlo::ComputationId body);

  // Told the state before each iteration, in order: the number of an earlier iteration that began
  // with the same bits in all that the condition, now or later, depends on.
  // Remembers one state at a time (Brent's method), so it may notice as late as after twice the
  // cycle.
  std::optional<int64_t> CameRound(int64_t iteration, const runtime::Value& state);

 private:
  runtime::Value Deciding(const runtime::Value& state) const;

  const hlo::Module& module_;
  hlo::ComputationId condition_, body_;
  bool repeatable_ = false;  // known from the first iteration that is watched on
  // The elements of the state that decide when the loop ends; nullopt: all.
  std::optional<std::vector<size_t>> deciding_;
  runtime::Value remembered_;
  int64_t remembered_at_ = -1;
};

}  // namespace hloscope::eval
