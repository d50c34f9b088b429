// SplitModule: a module cut around what a platform refuses, with every part loaded where it runs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "core/debug/pieces/split.h"
#include "core/replay/platform.h"

namespace hloscope::debug {

// A part of the module as one of its own.
struct LoadedPart {
  std::vector<hlo::InstructionId> parameters, results;  // of the whole module
  std::unique_ptr<replay::Executable> executable;       // null: there is nothing to run
};

class SplitModule {
 public:
  struct Where {
    replay::Platform& device;
    replay::Platform& host;
    const replay::RunOptions& options;
  };

  // Why a part is not loaded: the instructions in it (of one computation), and what was said.
  struct Failure {
    std::vector<hlo::InstructionId> instructions;
    bool is_on_device = false;
    Error error;
  };

  // `module` must outlive it.
  SplitModule(const hlo::Module& module, Refusals refusals)
      : module_(module), refusals_(std::move(refusals)) {}

  // Loads every part, of all computations that are gone through in turn; the first that fails ends
  // it.
  std::optional<Failure> Load(const Where& where);

  const hlo::Module& module() const { return module_; }
  const Refusals& refusals() const { return refusals_; }
  const Split& SplitOf(hlo::ComputationId c) const { return computations_.at(c).split; }
  const LoadedPart& Host(hlo::ComputationId c, hlo::InstructionId id) const {
    return computations_.at(c).on_host.at(id);
  }
  const LoadedPart& Stage(hlo::ComputationId c, size_t stage) const {
    return computations_.at(c).on_device[stage];
  }

  // `piece` as a module on a platform.
  static Result<LoadedPart> LoadPart(const hlo::Module& module, const Piece& piece,
                                     replay::Platform& platform, const replay::RunOptions& options);

 private:
  struct Computation {
    Split split;
    std::vector<LoadedPart> on_device;  // by stage
    std::map<hlo::InstructionId, LoadedPart> on_host;
  };
  std::optional<Failure> LoadComputation(hlo::ComputationId c, const Where& where,
                                         std::vector<hlo::ComputationId>& pending);

  const hlo::Module& module_;
  Refusals refusals_;
  std::map<hlo::ComputationId, Computation> computations_;
};

}  // namespace hloscope::debug
