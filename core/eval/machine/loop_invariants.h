// LoopInvariants: what the body of a while loop computes anew in every iteration although nothing
// that it depends on changes; and LoopMemory, the values of it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/eval/machine/repeatable.h"
#include "core/hlo/module.h"
#include "core/runtime/value.h"

namespace hloscope::eval {

class LoopInvariants {
 public:
  LoopInvariants(const hlo::Module& module, hlo::ComputationId body, const Repeatable& repeatable);

  // By position in the body: run in the first iteration only.
  bool IsInvariant(uint32_t position) const { return invariant_[position] != 0; }
  // Of these, those whose value other instructions of the body need.
  bool IsKept(uint32_t position) const { return kept_[position] != 0; }
  bool empty() const { return empty_; }

 private:
  std::vector<bool> UnchangedElements() const;
  void Find(const Repeatable& repeatable);
  void Keep();

  const hlo::Module& module_;
  const hlo::Computation& body_;
  std::vector<uint8_t> invariant_, kept_;
  bool empty_ = true;
};

// What one run of a loop remembers of its first iteration.
class LoopMemory {
 public:
  explicit LoopMemory(const LoopInvariants& invariants) : invariants_(invariants) {}

  // True if the instruction need not run: its value, where one is needed, is in `value`.
  bool Recall(uint32_t position, runtime::Value& value) const {
    if (!has_run_ || !invariants_.IsInvariant(position)) return false;
    if (invariants_.IsKept(position)) value = kept_[position];
    return true;
  }
  void Remember(uint32_t position, const runtime::Value& value) {
    if (has_run_ || !invariants_.IsKept(position)) return;
    if (kept_.size() <= position) kept_.resize(position + 1);
    kept_[position] = value;
  }
  // The first iteration has come to its end.
  void Ran() { has_run_ = true; }

 private:
  const LoopInvariants& invariants_;
  std::vector<runtime::Value> kept_;  // by position
  bool has_run_ = false;
};

}  // namespace hloscope::eval
