// ExplainKernel: why the kernels of one instruction give something else than it means, on the
// operands that they had.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/backends/gpusim/kernel_case.h"
#include "core/debug/explain/diverge/kernel_finding.h"
#include "core/debug/explain/diverge/verdict.h"
#include "core/debug/run/run_module.h"

namespace hloscope::debug {

// An array of an operand or of the result, as the instruction by itself names it.
struct NamedLeaf {
  std::string name;
  std::vector<int64_t> index;
  hlo::Shape shape;
};

// What the results are held to.
enum class KernelDemand : uint8_t {
  kBounds,     // those of the request
  kEveryBit,   // the instruction means every bit (exact_meaning.h)
  kRoundings,  // as far as the roundings of the kernel itself move them (rounding_budget.h)
};

struct KernelQuestion {
  replay::KernelCase kernels;
  std::shared_ptr<const hlo::Module> alone;  // the instruction as a module
  std::vector<hlo::Literal> arguments;       // its
  std::vector<hlo::Shape> results;           // arrays of its result, with the layouts of the device
  std::vector<NamedLeaf> operand_leaves, result_leaves;  // aligned with those of the case
  // Whether another compilation of the program gives the right results: the tries, the first that
  // does last. Asked only where everything else says that XLA is wrong.
  std::function<std::vector<DivergeTry>()> other_compilations;
  KernelDemand demand = KernelDemand::kBounds;
  // Of a test: what the simulated GPU gets wrong. Everything then runs in this process.
  const ptx::StepChanger* fault = nullptr;
};

struct KernelExplanation {
  Cause cause = Cause::kUnexplained;
  bool confirmed = false;
  LeafComparison worst;  // of the arrays
  std::vector<DivergeTry> tries;
  std::vector<std::string> warnings;
  KernelFinding finding;  // but for the counts
};

// `request` names the reference, and workers, bounds and limits. Nothing where the kernels give
// what the instruction means. It is a miscompilation only if the second implementation of the
// simulated GPU gives the same bits, no switch closes the gap, and another compilation is right;
// within the bounds no other compilation is asked.
// Errors: those of running the kernels or the reference.
Result<std::optional<KernelExplanation>> ExplainKernel(const KernelQuestion& question,
                                                       const RunSpec& request,
                                                       const std::stop_token& stop);

}  // namespace hloscope::debug
