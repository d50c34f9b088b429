// Extract: one instruction, with some of what it is computed from, as a module of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/hlo/literal.h"
#include "core/hlo/module.h"
#include "core/replay/platform.h"

namespace hloscope::debug {

struct ExtractedModule {
  std::shared_ptr<const hlo::Module> module;
  // In the original module: whose values the new parameters take, in order.
  std::vector<hlo::InstructionId> parameters;
  size_t instructions = 0;  // of the new entry, parameters left out
};

// The instruction and what lies at most `depth` operand edges before it in its computation, called
// computations cloned, names kept; the values at the cut become parameters, constants stay
// constants unless their elements are not in the file. The done of an asynchronous pair brings its
// start along, what leaves a manual region (shard_map) the region. An instruction inside one, or of
// a module whose values are own, becomes a module that is partitioned already. Partitions and
// replicas are kept only where something in it tells devices apart.
// Input error: a parameter, the start of a pair without its done, what enters a manual region.
// Without metadata: nothing in it says which program it came from.
enum class Metadata : uint8_t { kKept, kStripped };
// Kept: what is computed from constants alone does not become a parameter, however deep it is.
enum class OfConstants : uint8_t { kCut, kKept };
Result<ExtractedModule> ExtractModule(const hlo::Module& module, hlo::InstructionId root,
                                      int64_t depth, Metadata metadata = Metadata::kKept,
                                      OfConstants of_constants = OfConstants::kCut);

/// The module whose entry gives `root` and computes what that needs alone; all parameters stay.
/// What takes random numbers or infeeds needs those that take them before it. The same module where
/// `root` is in another computation.
Result<std::shared_ptr<const hlo::Module>> OnlyFor(std::shared_ptr<const hlo::Module> module,
                                                   hlo::InstructionId root);

/// By instruction, for those of the entry: true where what OnlyFor would keep of it has a host
/// callback, also in what it calls.
std::vector<bool> NeedsCallback(const hlo::Module& module);

// The plan that captures what `parameters` hold and `root` gives in its execution number
// `iteration` (from 0, over all calls of its computation); the run ends there.
replay::CapturePlan OperandsPlan(hlo::InstructionId root,
                                 std::span<const hlo::InstructionId> parameters, int64_t iteration);

// What `parameters` held and `root` gave in one of its executions.
struct CapturedValues {
  std::vector<hlo::Literal> arguments;
  std::optional<hlo::Literal> value;  // absent where it could not be computed
};

// Runs the module once with a capture plan.
using CaptureRun = std::function<Result<replay::RunResult>(const replay::CapturePlan& plan,
                                                           replay::RunStream& stream)>;

// Captures by OperandsPlan. Input error: there is no such execution. Unsupported: an operand has no
// value.
Result<CapturedValues> CaptureValues(const hlo::Module& module, hlo::InstructionId root,
                                     std::span<const hlo::InstructionId> parameters,
                                     int64_t iteration, const CaptureRun& run);

// What `parameters` held on each device in the execution that CaptureValues tells of one: lists by
// device as Placement numbers them. The whole module runs. Errors as of CaptureValues.
Result<std::vector<std::vector<hlo::Literal>>> CaptureDeviceArguments(
    const hlo::Module& module, hlo::InstructionId root,
    std::span<const hlo::InstructionId> parameters, int64_t iteration, const CaptureRun& run);

}  // namespace hloscope::debug
