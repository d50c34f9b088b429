// QR by Householder's reflectors on a GPU, as LAPACK has them (geqrf, orgqr): a block factors a
// matrix, a thread makes a column of Q.
#include "core/codegen/matrix/gpu_matrix.h"

namespace hloscope::codegen {

using compile::FactorCall;
using hlo::ElementType;
using llvm::Value;

namespace {

ElementType TypeOf(const Kernel& kernel) {
  return kernel.module.shape(kernel.id).results()[0].element_type();
}

class GpuReflectorKernel : GpuMatrix {
 public:
  GpuReflectorKernel(KernelFunction& function, const Kernel& kernel, const FactorCall& call,
                     int64_t threads)
      : GpuMatrix(function, kernel, TypeOf(kernel)), call_(call), threads_(threads) {}

  void Factor() {
    function_.ForUnits(call_.matrices, 1, [&](Value* matrix) {
      Begin(matrix);
      ForAll([&](Value* at) { Save(Read(call_.operand, at), at); });
      block_.Barrier();
      function_.Loop(Int(0), Int(call_.less()), 1, [&](Value* k) { Reflect(k); });
      ForAll([&](Value* at) { Write(0, Load(at), at); });
      ClearFrom(call_.results, b_.CreateICmpEQ(matrix, Int(0)), threads_);
    });
    function_.Finish();
  }

  // H₀·H₁·…·eⱼ, the last reflector first.
  void FormQ() {
    function_.ForUnits(call_.matrices * call_.columns, 1, [&](Value* unit) {
      Begin(b_.CreateUDiv(unit, Int(call_.columns)));
      Value* j = b_.CreateURem(unit, Int(call_.columns));
      const int64_t m = call_.rows;
      function_.Loop(Int(0), Int(m), 1, [&](Value* r) {
        Save(Select(b_.CreateICmpEQ(r, j), Real(1.0), Real(0.0)), Place(r, j));
      });
      function_.Loop(Int(0), Int(call_.vectors), 1, [&](Value* step) {
        Value* i = b_.CreateSub(Int(call_.vectors - 1), step);
        const Number tau = Read(call_.operand + 1, FactorPlace(i, call_.vectors));
        Apply(i, j, tau, [&](Value* r) { return Read(call_.operand, Place(r, i)); });
      });
      function_.Loop(Int(0), Int(m), 1,
                     [&](Value* r) { Write(0, Load(Place(r, j)), Place(r, j)); });
      ClearFrom(call_.results, b_.CreateICmpEQ(unit, Int(0)), 1);
    });
    function_.Finish();
  }

 private:
  void Begin(Value* matrix) {
    matrix_ = matrix;
    first_ = b_.CreateMul(matrix, Int(call_.rows * call_.columns));
  }
  Value* Place(Value* i, Value* j) {
    return b_.CreateAdd(first_, b_.CreateAdd(b_.CreateMul(i, Int(call_.columns)), j));
  }
  Value* FactorPlace(Value* k, int64_t each) {
    return b_.CreateAdd(b_.CreateMul(matrix_, Int(each)), k);
  }
  Value* Behind(Value* k) { return b_.CreateAdd(k, Int(1)); }
  void ForAll(const std::function<void(Value*)>& body) {
    function_.Loop(function_.thread(), Int(call_.rows * call_.columns), threads_,
                   [&](Value* at) { body(b_.CreateAdd(first_, at)); });
  }

  // Column j becomes (1 - tau·v·vᴴ) times itself; v is 1 in row k and vector(r) below.
  void Apply(Value* k, Value* j, const Number& tau, const std::function<Number(Value*)>& vector) {
    const Number top = Load(Place(k, j));
    const Number product = function_.Loop(
        Behind(k), Int(call_.rows), 1, top, [&](Value* r, const Number& sum) -> Number {
          return Sum(sum, Product(Conjugate(vector(r)), Load(Place(r, j))));
        });
    const Number by = Product(tau, product);
    Save(LessProduct(top, Real(1.0), by), Place(k, j));
    function_.Loop(Behind(k), Int(call_.rows), 1, [&](Value* r) {
      Save(LessProduct(Load(Place(r, j)), vector(r), by), Place(r, j));
    });
  }

  // The largest of column k from a row on, at least `from`.
  Value* LargestBelow(Value* k, Value* from) {
    return function_.Loop(Behind(k), Int(call_.rows), 1, {from},
                          [&](Value* i, const std::vector<Value*>& so_far) -> std::vector<Value*> {
                            Value* size = SizeOf(Load(Place(i, k)));
                            return {Call(b_, llvm::Intrinsic::maxnum, {so_far[0], size})};
                          })[0];
  }

  // All threads compute the reflector of column k (LAPACK: larfg), each applies it to some columns.
  void Reflect(Value* k) {
    const Number alpha = Load(Place(k, k));
    Value* below = LargestBelow(k, Double(0));
    Value* largest = Call(b_, llvm::Intrinsic::maxnum, {below, SizeOf(alpha)});
    Value* is_nothing = b_.CreateFCmpOEQ(below, Double(0));
    if (is_complex_) {
      is_nothing = b_.CreateAnd(is_nothing, b_.CreateFCmpOEQ(alpha[1], Double(0)));
    }
    Value* unit = b_.CreateSelect(b_.CreateFCmpOEQ(largest, Double(0)), Double(1), largest);
    const auto squares =
        function_.Loop(k, Int(call_.rows), 1, {Double(0)},
                       [&](Value* i, const std::vector<Value*>& sum) -> std::vector<Value*> {
                         Number x = Load(Place(i, k));
                         for (Value*& part : x) part = b_.CreateFDiv(part, unit);
                         return {b_.CreateFAdd(sum[0], SquareOf(x))};
                       });
    Value* length = b_.CreateFMul(unit, Call(b_, llvm::Intrinsic::sqrt, {squares[0]}));
    Value* beta = b_.CreateFNeg(Call(b_, llvm::Intrinsic::copysign, {length, alpha[0]}));
    Number tau = {b_.CreateFDiv(b_.CreateFSub(beta, alpha[0]), beta)};
    if (is_complex_) tau.push_back(b_.CreateFNeg(b_.CreateFDiv(alpha[1], beta)));
    tau = Select(is_nothing, Real(0.0), tau);
    Number divisor = alpha;
    divisor[0] = b_.CreateFSub(alpha[0], beta);
    divisor = Select(is_nothing, Real(1.0), divisor);
    block_.Barrier();
    Value* from = b_.CreateAdd(Behind(k), function_.thread());
    function_.Loop(from, Int(call_.rows), threads_,
                   [&](Value* i) { Save(Quotient(Load(Place(i, k)), divisor), Place(i, k)); });
    block_.When(b_.CreateICmpEQ(function_.thread(), Int(0)), [&] {
      Save(Select(is_nothing, alpha, Real(beta)), Place(k, k));
      Write(1, tau, FactorPlace(k, call_.less()));
    });
    block_.Barrier();
    const Number adjoint = Conjugate(tau);
    function_.Loop(from, Int(call_.columns), threads_, [&](Value* j) {
      Apply(k, j, adjoint, [&](Value* r) { return Load(Place(r, k)); });
    });
    block_.Barrier();
  }

  const FactorCall& call_;
  int64_t threads_;
  Value *matrix_ = nullptr, *first_ = nullptr;  // its number, and that of its first element
};

EmittedKernel Frame(const Kernel& kernel, const std::string& name, const FactorCall& call,
                    int64_t units) {
  const int64_t count = call.rows * call.columns;
  EmittedKernel out = InGrains(name, units, 1, count * call.less(),
                               kernel.module.shape(kernel.id).results().size());
  out.code.scratch_bytes = call.matrices * count * kNumberBytes;
  out.is_complete = true;
  return out;
}

}  // namespace

EmittedKernel EmitGpuQr(llvm::Module& module, const Kernel& kernel, const std::string& name,
                        const FactorCall& call) {
  EmittedKernel out = Frame(kernel, name, call, call.matrices);
  out.block = MatrixThreads(std::max(call.rows, call.columns));
  KernelFunction function(module, kernel, name, -1, out.block);
  GpuReflectorKernel(function, kernel, call, out.block).Factor();
  return out;
}

EmittedKernel EmitGpuFormQ(llvm::Module& module, const Kernel& kernel, const std::string& name,
                           const FactorCall& call) {
  KernelFunction function(module, kernel, name, -1);
  GpuReflectorKernel(function, kernel, call, 1).FormQ();
  return Frame(kernel, name, call, call.matrices * call.columns);
}

}  // namespace hloscope::codegen
