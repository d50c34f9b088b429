// cholesky, and custom calls of it and of LU, on a GPU: a block factors a matrix, column by column,
// cholesky in the runtime's order of sums (core/linking/runtime).
#include "core/codegen/emit/triangular_form.h"
#include "core/codegen/matrix/gpu_matrix.h"

namespace hloscope::codegen {

using compile::FactorCall;
using compile::FactorWork;
using hlo::AttributeKey;
using llvm::Value;

namespace {

FactorCall CallOf(const Kernel& kernel) {
  if (const auto call = compile::FactorCallOf(kernel.module, kernel.id)) return *call;
  const hlo::Shape& shape = kernel.module.shape(kernel.id);
  FactorCall call;
  call.work = FactorWork::kCholesky;
  call.rows = call.columns = shape.dimension(shape.rank() - 1);
  call.matrices = *shape.ElementCount() / (call.rows * call.columns);
  call.is_lower = kernel.module.GetBool(kernel.module[kernel.id], AttributeKey::kLower);
  call.results = 1;
  return call;
}

class GpuFactorKernel : GpuMatrix {
 public:
  GpuFactorKernel(KernelFunction& function, const Kernel& kernel, const FactorCall& call,
                  int64_t threads)
      : GpuMatrix(function, kernel, kernel.module.shape(kernel.id).results()[0].element_type()),
        call_(call),
        is_instruction_(kernel.module[kernel.id].opcode == hlo::Opcode::kCholesky),
        threads_(threads) {}

  void Emit() {
    function_.ForUnits(call_.matrices, 1, [&](Value* matrix) {
      matrix_ = matrix;
      first_ = b_.CreateMul(matrix, Int(call_.rows * call_.columns));
      call_.work == FactorWork::kLu ? Lu() : Cholesky();
      ClearFrom(call_.results, b_.CreateICmpEQ(matrix, Int(0)), threads_);
    });
    function_.Finish();
  }

 private:
  Value* Place(Value* i, Value* j) {
    return b_.CreateAdd(first_, b_.CreateAdd(b_.CreateMul(i, Int(call_.columns)), j));
  }
  Value* IsFirstThread() { return b_.CreateICmpEQ(function_.thread(), Int(0)); }
  // body(row, column) for the elements, by all threads.
  void ForAll(const std::function<void(Value*, Value*)>& body) {
    function_.Loop(function_.thread(), Int(call_.rows * call_.columns), threads_, [&](Value* at) {
      body(b_.CreateUDiv(at, Int(call_.columns)), b_.CreateURem(at, Int(call_.columns)));
    });
  }
  void WriteInfo(size_t leaf, Value* info) {
    block_.When(IsFirstThread(), [&] { WriteInteger(leaf, info, matrix_); });
  }

  // ---- A = L·Lᴴ, L in the lower triangle of the scratch.

  // Σ of products of rows i and j before column j, taken from `x`.
  Number LessRows(const Number& x, Value* i, Value* j) {
    return function_.Loop(Int(0), j, 1, x, [&](Value* k, const Number& sum) {
      return LessProduct(sum, Load(Place(i, k)), Conjugate(Load(Place(j, k))));
    });
  }

  // All threads compute the pivot, each the rest of a column for some rows.
  void Cholesky() {
    const int64_t n = call_.rows;
    ForAll([&](Value* i, Value* j) {
      block_.When(b_.CreateICmpSLE(j, i), [&] {
        const Number x = Read(call_.operand, call_.is_lower ? Place(i, j) : Place(j, i));
        Save(call_.is_lower ? x : Conjugate(x), Place(i, j));
      });
    });
    block_.Barrier();
    const auto infos = function_.Loop(
        Int(0), Int(n), 1, {Int(0)},
        [&](Value* j, const std::vector<Value*>& info) -> std::vector<Value*> {
          Value* pivot = LessRows(Load(Place(j, j)), j, j)[0];
          Value* root = Call(b_, llvm::Intrinsic::sqrt, {pivot});
          block_.Barrier();
          block_.When(IsFirstThread(), [&] { Save(Real(root), Place(j, j)); });
          Value* below = b_.CreateAdd(b_.CreateAdd(j, Int(1)), function_.thread());
          function_.Loop(below, Int(n), threads_, [&](Value* i) {
            Number x = LessRows(Load(Place(i, j)), i, j);
            for (Value*& part : x) part = b_.CreateFDiv(part, root);
            Save(x, Place(i, j));
          });
          block_.Barrier();
          Value* has_failed = b_.CreateAnd(b_.CreateICmpEQ(info[0], Int(0)),
                                           b_.CreateNot(b_.CreateFCmpOGT(pivot, Double(0))));
          return {b_.CreateSelect(has_failed, b_.CreateAdd(j, Int(1)), info[0])};
        });
    Value* info = infos[0];
    ForAll([&](Value* i, Value* j) {
      Value* row = call_.is_lower ? i : j;
      Value* column = call_.is_lower ? j : i;
      Value* is_inside = b_.CreateICmpSLE(column, row);
      // What is above the diagonal was never written: the place is moved onto it.
      const Number made = Load(Place(row, b_.CreateSelect(is_inside, column, row)));
      const Number x = call_.is_lower ? made : Conjugate(made);
      Write(0,
            is_instruction_ ? OfInstruction(x, is_inside, info) : OfCall(x, is_inside, info, i, j),
            Place(i, j));
    });
    if (!is_instruction_) WriteInfo(1, info);
  }
  // Zeros in the other triangle, NaN where there is no factor.
  Number OfInstruction(const Number& x, Value* is_inside, Value* info) {
    Value* nan = llvm::ConstantFP::getNaN(b_.getDoubleTy());
    return Select(b_.CreateICmpEQ(info, Int(0)), Select(is_inside, x, Real(0.0)), Real(nan));
  }
  // The other triangle, and the columns from the one that has no root on, stay.
  Number OfCall(const Number& x, Value* is_inside, Value* info, Value* i, Value* j) {
    Value* column = call_.is_lower ? j : i;
    Value* is_made = b_.CreateOr(b_.CreateICmpEQ(info, Int(0)),
                                 b_.CreateICmpSLT(column, b_.CreateSub(info, Int(1))));
    return Select(b_.CreateAnd(is_inside, is_made), x, Read(call_.operand, Place(i, j)));
  }

  // ---- P·A = L·U.

  // The row from k on with the largest element of column k; the first of several, and row k where
  // that is NaN, as LAPACK has it.
  Value* PivotRow(Value* k) {
    const auto best = function_.Loop(
        k, Int(call_.rows), 1, {k, Double(-1)},
        [&](Value* i, const std::vector<Value*>& so_far) -> std::vector<Value*> {
          Value* size = SizeOf(Load(Place(i, k)));
          Value* is_nan_on_top = b_.CreateAnd(b_.CreateICmpEQ(i, k), b_.CreateFCmpUNO(size, size));
          size =
              b_.CreateSelect(is_nan_on_top, llvm::ConstantFP::getInfinity(b_.getDoubleTy()), size);
          Value* is_larger = b_.CreateFCmpOGT(size, so_far[1]);
          return {b_.CreateSelect(is_larger, i, so_far[0]),
                  b_.CreateSelect(is_larger, size, so_far[1])};
        });
    return best[0];
  }

  void Lu() {
    const int64_t m = call_.rows, n = call_.columns;
    ForAll([&](Value* i, Value* j) { Save(Read(call_.operand, Place(i, j)), Place(i, j)); });
    block_.Barrier();
    const auto infos = function_.Loop(
        Int(0), Int(call_.less()), 1, {Int(0)},
        [&](Value* k, const std::vector<Value*>& info) -> std::vector<Value*> {
          Value* pivot = PivotRow(k);
          Value* next = b_.CreateAdd(k, Int(1));
          block_.Barrier();
          block_.When(IsFirstThread(), [&] {
            WriteInteger(1, b_.CreateAdd(pivot, Int(1)),
                         b_.CreateAdd(b_.CreateMul(matrix_, Int(call_.less())), k));
          });
          function_.Loop(function_.thread(), Int(n), threads_, [&](Value* j) {
            const Number x = Load(Place(k, j)), y = Load(Place(pivot, j));
            Save(y, Place(k, j));
            Save(x, Place(pivot, j));
          });
          block_.Barrier();
          const Number top = Load(Place(k, k));
          Value* is_zero = IsZero(top);
          const Number divisor = Select(is_zero, Real(1.0), top);  // of zeros
          function_.Loop(b_.CreateAdd(next, function_.thread()), Int(m), threads_, [&](Value* i) {
            Save(Quotient(Load(Place(i, k)), divisor), Place(i, k));
          });
          block_.Barrier();
          Value* width = b_.CreateSub(Int(n), next);
          Value* rest = b_.CreateMul(b_.CreateSub(Int(m), next), width);
          function_.Loop(function_.thread(), rest, threads_, [&](Value* at) {
            Value* i = b_.CreateAdd(next, b_.CreateUDiv(at, width));
            Value* j = b_.CreateAdd(next, b_.CreateURem(at, width));
            Save(LessProduct(Load(Place(i, j)), Load(Place(i, k)), Load(Place(k, j))), Place(i, j));
          });
          block_.Barrier();
          Value* is_first = b_.CreateAnd(is_zero, b_.CreateICmpEQ(info[0], Int(0)));
          return {b_.CreateSelect(is_first, next, info[0])};
        });
    ForAll([&](Value* i, Value* j) { Write(0, Load(Place(i, j)), Place(i, j)); });
    WriteInfo(2, infos[0]);
  }

  const FactorCall& call_;
  bool is_instruction_;
  int64_t threads_;
  Value *matrix_ = nullptr, *first_ = nullptr;  // its number, and that of its first element
};

}  // namespace

EmittedKernel EmitGpuFactor(llvm::Module& module, const Kernel& kernel, const std::string& name) {
  const FactorCall call = CallOf(kernel);
  switch (call.work) {
    case FactorWork::kQr:
      return EmitGpuQr(module, kernel, name, call);
    case FactorWork::kFormQ:
      return EmitGpuFormQ(module, kernel, name, call);
    case FactorWork::kSymmetricEigen:
      return EmitGpuSymmetricEigen(module, kernel, name, call);
    default:
      break;
  }
  const int64_t count = call.rows * call.columns;
  const int64_t threads = MatrixThreads(std::max(call.rows, call.columns));
  EmittedKernel out = InGrains(name, call.matrices, 1, count * call.less(),
                               kernel.module.shape(kernel.id).results().size());
  out.code.scratch_bytes = call.matrices * count * kNumberBytes;
  out.block = threads;
  KernelFunction function(module, kernel, name, -1, threads);
  GpuFactorKernel(function, kernel, call, threads).Emit();
  out.is_complete = true;
  return out;
}

}  // namespace hloscope::codegen
