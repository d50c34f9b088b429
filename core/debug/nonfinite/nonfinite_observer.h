// Observers that watch a run for the origin of a NaN or an infinity.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "core/debug/nonfinite/infinity_sources.h"
#include "core/debug/nonfinite/nonfinite_scan.h"
#include "core/eval/machine/evaluator.h"
#include "core/hlo/module.h"
#include "core/replay/workers/remote_observer.h"

namespace hloscope::debug {

// An instruction's execution that made one, and what it was made of.
struct NonFiniteOrigin {
  hlo::InstructionId instruction;
  int64_t device = 0;
  std::vector<eval::Frame> frames;
  std::vector<eval::Value> operands;
  eval::Value leaf;  // of the result, the array that holds it
  std::vector<int64_t> leaf_index;
  int64_t element = 0;
  int64_t execution = 0;  // how often the instruction had run before
};

// Sees whole arrays; scalar computations only where what they make could be hidden from their
// caller's result. Remembers the first origin, and of a NaN what made the infinity it came from.
class NonFiniteOriginObserver : public replay::RemoteObserver {
 public:
  static constexpr std::string_view kKind = "origin";

  // `lanes_of`: look into the scalar computation of that origin's execution only, and end the run
  // behind it.
  NonFiniteOriginObserver(const hlo::Module& module, NonFiniteKind kind,
                          std::optional<NonFiniteOrigin> lanes_of = std::nullopt);

  Status OnValue(const eval::Site& site, std::span<const eval::Value> operands,
                 const eval::Value& value) override;
  bool WantsLanes(hlo::InstructionId caller) override;

  static std::unique_ptr<replay::RemoteObserver> Make(const hlo::Module& module,
                                                      replay::ValueReader& request);
  std::string_view kind() const override { return kKind; }
  void WriteRequest(replay::ValueWriter& out) const override;
  void WriteFindings(replay::ValueWriter& out) const override;
  Status ReadFindings(replay::ValueReader& in) override;

  const std::optional<NonFiniteOrigin>& first() const { return first_; }
  // Of a NaN made from an infinite operand: what made, or held from the start, that infinity.
  hlo::InstructionId infinity_from() const { return infinity_from_; }

 private:
  void Look(const eval::Site& site, std::span<const eval::Value> operands,
            const eval::Value& value);
  void NoteInfinities(const eval::Site& site, std::span<const eval::Value> operands,
                      const eval::Value& value);
  hlo::InstructionId SourceOfInfinity(const NonFiniteOrigin& origin) const;

  const hlo::Module& module_;
  NonFiniteKind kind_;
  std::optional<NonFiniteOrigin> lanes_of_;
  std::vector<bool> hides_;  // by instruction: it applies a computation that may hide what it makes
  std::vector<int64_t> executions_;
  std::optional<NonFiniteOrigin> first_;
  InfinitySources infinities_;  // looking for a NaN
  hlo::InstructionId infinity_from_;
  std::mutex mutex_;  // devices may run on threads of their own
};

// True if the instruction applies a scalar computation lane by lane.
bool AppliesScalarComputation(hlo::Opcode opcode);

}  // namespace hloscope::debug
