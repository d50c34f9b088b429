// triangular-solve on a GPU, in the runtime's order of sums (core/linking/runtime): a thread solves
// for a vector.
#include "core/codegen/emit/triangular_form.h"
#include "core/codegen/matrix/gpu_matrix.h"

namespace hloscope::codegen {

using llvm::Value;

namespace {

class GpuSolveKernel : GpuMatrix {
 public:
  GpuSolveKernel(KernelFunction& function, const Kernel& kernel, const HloscopeTriangular& form)
      : GpuMatrix(function, kernel, kernel.module.shape(kernel.id).element_type()), form_(form) {}

  void Emit(int64_t units) {
    function_.ForUnits(units, 1, [&](Value* unit) { Solve(unit); });
    function_.Finish();
  }

 private:
  // One vector x of op(T)·x = b.
  void Solve(Value* unit) {
    const int64_t n = form_.n;
    Value* system = b_.CreateUDiv(unit, Int(form_.vectors));
    Value* vector = b_.CreateURem(unit, Int(form_.vectors));
    Value* matrix = b_.CreateMul(system, Int(n * n));
    Value* first = b_.CreateMul(system, Int(n * form_.vectors));
    const bool is_swapped = (form_.is_transposed != 0) == (form_.is_left != 0);
    const bool is_forward = (form_.is_lower != 0) != is_swapped;
    const auto element = [&](Value* i, Value* k) {
      Value* at = is_swapped ? b_.CreateAdd(b_.CreateMul(k, Int(n)), i)
                             : b_.CreateAdd(b_.CreateMul(i, Int(n)), k);
      const Number x = Read(0, b_.CreateAdd(matrix, at));
      return form_.is_conjugated != 0 ? Conjugate(x) : x;
    };
    // Element k of the vector; neighbouring threads have neighbours in the scratch.
    const auto place = [&](Value* k) {
      Value* at = form_.is_left != 0 ? b_.CreateAdd(b_.CreateMul(k, Int(form_.vectors)), vector)
                                     : b_.CreateAdd(b_.CreateMul(vector, Int(n)), k);
      return b_.CreateAdd(first, at);
    };
    const auto kept = [&](Value* k) {
      return b_.CreateAdd(first, b_.CreateAdd(b_.CreateMul(k, Int(form_.vectors)), vector));
    };
    function_.Loop(Int(0), Int(n), 1, [&](Value* step) {
      Value* i = is_forward ? step : b_.CreateSub(Int(n - 1), step);
      Value* from = is_forward ? Int(0) : b_.CreateAdd(i, Int(1));
      Value* to = is_forward ? i : Int(n);
      Number x = function_.Loop(from, to, 1, Read(1, place(i)), [&](Value* k, const Number& sum) {
        return LessProduct(sum, element(i, k), Load(kept(k)));
      });
      if (form_.has_unit_diagonal == 0) x = Quotient(x, element(i, i));
      Save(x, kept(i));
      Write(0, x, place(i));
    });
  }

  const HloscopeTriangular& form_;
};

}  // namespace

EmittedKernel EmitGpuSolve(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  const HloscopeTriangular form = TriangularFormOf(kernel);
  const int64_t count = kernel.module.shape(kernel.id).ElementCount().value_or(0);
  const int64_t units = count / form.n;
  EmittedKernel out = InGrains(name, units, 1, count / units * form.n, 1);
  out.code.scratch_bytes = count * kNumberBytes;
  KernelFunction function(module, kernel, name, -1);
  GpuSolveKernel(function, kernel, form).Emit(units);
  out.is_complete = true;
  return out;
}

}  // namespace hloscope::codegen
