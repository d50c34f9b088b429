// What reduce, reduce-window and map share: results that may be a tuple, and initial values.
#pragma once

#include <vector>

#include "core/eval/loops/tree_reducer.h"
#include "core/eval/machine/machine.h"

namespace hloscope::eval {

// The arrays an instruction yields: one, or as many as its tuple shape has.
struct ReductionResults {
  bool is_tuple = false;
  std::vector<hlo::Shape> shapes;
  std::vector<Buffer> buffers;

  static Result<ReductionResults> Make(KernelCall& call);
  // Where element number `element` of each result is.
  std::vector<std::byte*> At(int64_t element) const;
  Value Finish() &&;
};

// The reducer of k arrays and k initial elements.
Result<VectorizedComputation> CompileReduction(const KernelCall& call, hlo::ComputationId reducer);

// `operand` folded under each place of the window, from `initial` on; an array of that shape.
Result<Value> ReduceOverWindow(const KernelCall& call, VectorizedComputation& reducer,
                               const hlo::Window& window, Value operand, Value initial,
                               const hlo::Shape& shape);

// The second half of the operands: one initial element per reduced array.
std::vector<const std::byte*> InitialElements(const KernelCall& call);

}  // namespace hloscope::eval
