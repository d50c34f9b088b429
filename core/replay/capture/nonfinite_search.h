// NonFiniteSearch: watches a run for the origin of a NaN or an infinity.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "core/eval/machine/evaluator.h"
#include "core/hlo/module.h"
#include "core/replay/capture/infinity_sources.h"
#include "core/replay/capture/nonfinite_scan.h"
#include "core/replay/capture/search.h"

namespace hloscope::replay {

// An instruction's execution that made one, and what it was made of.
struct NonFiniteOrigin {
  hlo::InstructionId instruction;
  int64_t device = 0;
  std::vector<runtime::Frame> frames;
  std::vector<runtime::Value> operands;
  runtime::Value leaf;  // of the result, the array that holds it
  std::vector<int64_t> leaf_index;
  int64_t element = 0;
  int64_t execution = 0;  // how often the instruction had run before
};

// What a search for the first origin has found.
struct NonFiniteFound {
  std::optional<NonFiniteOrigin> first;
  // Of a NaN made from an infinite operand: what made, or held from the start, that infinity.
  hlo::InstructionId infinity_from;
};

// The search for origins of that kind. `lanes_of`: look into the scalar computation of that
// origin's execution only, and end the run behind it.
SearchRequest NonFiniteSearchRequest(NonFiniteKind kind, const NonFiniteOrigin* lanes_of = nullptr);
// What such a search has found in `module`. Internal error: malformed.
Result<NonFiniteFound> ReadNonFiniteFound(const hlo::Module& module, const SearchFinding& finding);

// Sees whole arrays; scalar computations only where what they make could be hidden from their
// caller's result. Remembers the first origin, and of a NaN what made the infinity it came from.
class NonFiniteSearch : public Search {
 public:
  NonFiniteSearch(const hlo::Module& module, NonFiniteKind kind,
                  std::optional<NonFiniteOrigin> lanes_of = std::nullopt);

  Status OnValue(const runtime::Site& site, std::span<const runtime::Value> operands,
                 const runtime::Value& value) override;
  bool WantsLanes(hlo::InstructionId caller) override;
  void FusionsAreWhole() override { sees_fusions_ = false; }

  SearchFinding Finding() const override;

 private:
  bool HandsOn(hlo::InstructionId id) const;
  void Look(const runtime::Site& site, std::span<const runtime::Value> operands,
            const runtime::Value& value);
  hlo::InstructionId SourceOfInfinity(const runtime::Site& site) const;

  const hlo::Module& module_;
  NonFiniteKind kind_;
  std::optional<NonFiniteOrigin> lanes_of_;
  bool sees_fusions_ = true;
  std::vector<bool> hides_;  // by instruction: it applies a computation that may hide what it makes
  std::vector<int64_t> executions_;
  std::optional<NonFiniteOrigin> first_;
  InfinitySources infinities_;  // looking for a NaN
  hlo::InstructionId infinity_from_;
  std::mutex mutex_;  // devices may run on threads of their own
};

// True if the instruction applies a scalar computation lane by lane.
bool AppliesScalarComputation(hlo::Opcode opcode);

}  // namespace hloscope::replay
