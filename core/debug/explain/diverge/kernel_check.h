// KernelCheck: one execution of one kernel or library call, held to what it means on the operands
// that it really had.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "core/base/result.h"
#include "core/debug/explain/diverge/value_comparison.h"
#include "core/debug/explain/diverge/value_walk.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

struct KernelCheck {
  std::shared_ptr<const hlo::Module> alone;  // the instruction as a module
  std::vector<hlo::Literal> arguments;       // what it had
  std::vector<hlo::Literal> value;           // leaves that the platform made of it
  std::vector<LeafComparison> leaves;        // against what the reference makes of the same
  bool differs() const;
};

// `request` names the reference (and workers, bounds, limits) of the run; `inputs` are the
// module's. Fails where the operands are not told or the instruction cannot stand alone.
Result<KernelCheck> CheckKernel(const hlo::Module& module, const replay::ValueKey& key,
                                ValueComparison& values,
                                const std::vector<std::vector<hlo::Literal>>& inputs,
                                const RunSpec& request, std::stop_token stop);

// How far both sides are from the values in double precision, the worst leaf of each; none where
// nothing is computed in floats.
Status MeasureDistances(const KernelCheck& check, const RunSpec& request, ValueWalk& walk,
                        std::stop_token stop);

// Runs the instructions of a fusion, or of a call that is one kernel, one by one on the platform,
// on the values that they have there; the first that differs from the reference, if one does.
// `together` tells whether all of them, compiled anew as one module, agree with the reference.
struct InsideKernel {
  std::optional<InnerPoint> first;
  std::optional<bool> together_agree;
  std::string together;  // in words
};
Result<InsideKernel> LookInside(const KernelCheck& check, const RunSpec& request,
                                std::stop_token stop);

}  // namespace hloscope::debug
