// One run of a split module: values handed from the device to the host and back, and counted.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/debug/pieces/split_module.h"
#include "core/hlo/literal.h"
#include "core/replay/host_fallbacks.h"

namespace hloscope::debug {

using replay::kFallbackLane;

class SplitRun {
 public:
  // `where` as for loading, with the options of the run.
  SplitRun(const SplitModule& module, const SplitModule::Where& where, replay::RunStream& stream)
      : split_(module), module_(module.module()), where_(where), stream_(stream) {}

  // Runs the entry on one list of leaves per device; the results and a fallback for each
  // instruction that ran on the host go to the stream.
  Result<replay::RunResult> Run(std::span<const std::vector<hlo::Literal>> inputs);

 private:
  // By device; the leaves of a value, absent ones with the reason.
  using Leaves = std::vector<Result<hlo::Literal>>;
  // Where a leaf was made, wherever it is used: nowhere of both is what the module was given.
  struct Origin {
    hlo::InstructionId on_host = {};  // the instruction that ran there
    bool on_device = false;
  };
  struct Value {
    std::vector<Leaves> lists;
    std::vector<Origin> origins = {};  // by leaf; fewer: the others have none
    double copy_us = 0;                // of bringing it from the device
    Origin OriginOf(size_t leaf) const { return leaf < origins.size() ? origins[leaf] : Origin(); }
  };
  // What one instruction cost in all its executions.
  struct Tally {
    int64_t executions = 0, bytes = 0;
    double us = 0;
  };
  // The values of one execution of a computation.
  struct Frame {
    hlo::ComputationId computation;
    const Split* split = nullptr;
    std::map<hlo::InstructionId, Value> values = {};
  };

  Result<Value> RunComputation(hlo::ComputationId c, const std::vector<const Value*>& arguments);
  Status RunDeviceStage(Frame& frame, size_t stage);
  Status RunHostStage(Frame& frame, size_t stage);
  Status RunOnHost(Frame& frame, hlo::InstructionId id);
  Result<Value> RunInTurn(Frame& frame, hlo::InstructionId id);
  Result<Value> RunLoop(const hlo::Instruction& loop, Value state);
  // The element of a predicate or index that all devices agree on.
  Result<int64_t> Choice(const Value& value) const;
  void PutTogether(Frame& frame, hlo::InstructionId id);

  struct PartRun {
    double run_us = 0, wall_us = 0;
  };
  // Runs a part on the frame's values and keeps its results there, which were made at `origin`.
  Result<PartRun> RunPart(Frame& frame, const LoadedPart& part, Origin origin,
                          std::string_view lane);
  Result<PartRun> RunWithout(Frame& frame, const Piece& piece, const Error& missing);
  void ChargeCopies(Frame& frame, const Piece& piece, double copies_us);
  const Error* FirstMissing(const Frame& frame, std::span<const hlo::InstructionId> ids) const;
  Value Missing(hlo::InstructionId id, const Error& error) const;
  int64_t Bytes(hlo::InstructionId id) const;
  // Those of the leaf that is number `leaf`, on all devices.
  static int64_t BytesOfLeaf(const Value& value, size_t leaf);
  Status CheckStop() const;
  void Tell();

  const SplitModule& split_;
  const hlo::Module& module_;
  SplitModule::Where where_;
  replay::RunStream& stream_;
  size_t lists_ = 1;
  std::map<hlo::InstructionId, Tally> tallies_;
  replay::RunResult result_;
};

}  // namespace hloscope::debug
