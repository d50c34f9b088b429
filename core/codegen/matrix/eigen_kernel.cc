// Eigenvalues and vectors of symmetric matrices on a GPU, by Jacobi's rotations: a block goes over
// a matrix until what is off the diagonal is nothing beside it. Pairs of rows are those of a round
// robin tournament, so that all pairs of a round are independent of each other.
#include "core/codegen/matrix/gpu_matrix.h"

namespace hloscope::codegen {

using compile::FactorCall;
using llvm::Value;

namespace {

constexpr int64_t kMaxSweeps = 40;  // over all pairs; each squares what is left, about
constexpr double kMinPart = 1e-31;  // of the squares of a matrix that is off its diagonal

class GpuEigenKernel : GpuMatrix {
 public:
  GpuEigenKernel(KernelFunction& function, const Kernel& kernel, const FactorCall& call,
                 int64_t threads)
      : GpuMatrix(function, kernel, kernel.module.shape(kernel.id).results()[0].element_type()),
        call_(call),
        n_(call.rows),
        players_(n_ + n_ % 2),
        threads_(threads) {}

  // Numbers in the scratch for a matrix: it, its vectors, sines and cosines.
  static int64_t Numbers(int64_t n) { return 2 * n * n + 2 * n; }

  void Emit() {
    function_.ForUnits(call_.matrices, 1, [&](Value* matrix) {
      matrix_ = matrix;
      first_ = b_.CreateMul(matrix, Int(n_ * n_));
      work_ = b_.CreateMul(matrix, Int(Numbers(n_)));
      Begin();
      block_.Barrier();
      const std::vector<Value*> sizes = Sizes();
      const auto state = function_.Loop(
          Int(0), Int(kMaxSweeps), 1, {b_.getTrue()},
          [&](Value*, const std::vector<Value*>& goes_on) -> std::vector<Value*> {
            Value* is_off = b_.CreateFCmpOGT(SquaresOffDiagonal(sizes[0]), sizes[1]);
            Value* go_on = b_.CreateAnd(goes_on[0], is_off);
            block_.When(go_on, [&] {
              function_.Loop(Int(0), Int(players_ - 1), 1, [&](Value* round) { Turn(round); });
            });
            return {go_on};
          });
      // NaN is never off by more than anything.
      Value* is_bad = b_.CreateOr(state[0], b_.CreateFCmpUNO(sizes[1], sizes[1]));
      Finish(is_bad);
      ClearFrom(call_.results, b_.CreateICmpEQ(matrix, Int(0)), threads_);
    });
    function_.Finish();
  }

 private:
  Value* InWork(int64_t block, Value* i, Value* j) {
    Value* at = b_.CreateAdd(b_.CreateMul(i, Int(n_)), j);
    return b_.CreateAdd(work_, b_.CreateAdd(Int(block * n_ * n_), at));
  }
  Value* Matrix(Value* i, Value* j) { return InWork(0, i, j); }
  Value* Vectors(Value* i, Value* j) { return InWork(1, i, j); }
  Value* Rotation(int64_t part, Value* pair) { return InWork(2, Int(part), pair); }
  Value* Place(Value* i, Value* j) {
    return b_.CreateAdd(first_, b_.CreateAdd(b_.CreateMul(i, Int(n_)), j));
  }
  void ForAll(int64_t rows, int64_t columns, const std::function<void(Value*, Value*)>& body) {
    function_.Loop(function_.thread(), Int(rows * columns), threads_, [&](Value* at) {
      body(b_.CreateUDiv(at, Int(columns)), b_.CreateURem(at, Int(columns)));
    });
  }

  // The whole matrix of its triangle, whose diagonal is real; no rotation yet.
  void Begin() {
    ForAll(n_, n_, [&](Value* i, Value* j) {
      Value* is_inside = call_.is_lower ? b_.CreateICmpSLE(j, i) : b_.CreateICmpSLE(i, j);
      const Number x = Read(call_.operand, b_.CreateSelect(is_inside, Place(i, j), Place(j, i)));
      Value* is_diagonal = b_.CreateICmpEQ(i, j);
      const Number whole = Select(is_inside, x, Conjugate(x));
      Save(Select(is_diagonal, Real(x[0]), whole), Matrix(i, j));
      Save(Select(is_diagonal, Real(1.0), Real(0.0)), Vectors(i, j));
    });
  }

  // What all numbers are divided by before they are squared, and the squares that are nothing.
  std::vector<Value*> Sizes() {
    const auto all = [&](Value* initial, const std::function<Value*(Value*, const Number&)>& next) {
      return function_.Loop(
          Int(0), Int(n_ * n_), 1, {initial},
          [&](Value* at, const std::vector<Value*>& so_far) -> std::vector<Value*> {
            return {next(so_far[0], Load(b_.CreateAdd(work_, at)))};
          })[0];
    };
    Value* largest = all(Double(0), [&](Value* so_far, const Number& x) {
      return Call(b_, llvm::Intrinsic::maxnum, {so_far, SizeOf(x)});
    });
    Value* unit = b_.CreateSelect(b_.CreateFCmpOEQ(largest, Double(0)), Double(1), largest);
    Value* squares = all(Double(0), [&](Value* so_far, const Number& x) {
      return b_.CreateFAdd(so_far, SquareOf(Parted(x, unit)));
    });
    return {unit, b_.CreateFMul(squares, Double(kMinPart))};
  }
  Number Parted(Number x, Value* unit) {
    for (Value*& part : x) part = b_.CreateFDiv(part, unit);
    return x;
  }
  Value* SquaresOffDiagonal(Value* unit) {
    return function_.Loop(
        Int(0), Int(n_ * n_), 1, {Double(0)},
        [&](Value* at, const std::vector<Value*>& sum) -> std::vector<Value*> {
          Value* is_diagonal =
              b_.CreateICmpEQ(b_.CreateUDiv(at, Int(n_)), b_.CreateURem(at, Int(n_)));
          Value* square = SquareOf(Parted(Load(b_.CreateAdd(work_, at)), unit));
          return {b_.CreateFAdd(sum[0], b_.CreateSelect(is_diagonal, Double(0), square))};
        })[0];
  }

  // The players of a pair in a round, the lower one first; false for the one who has no partner.
  struct Pair {
    Value *p, *q, *is_there;
  };
  Pair PairOf(Value* round, Value* pair) {
    Value* const others = Int(players_ - 1);
    Value* one = b_.CreateURem(b_.CreateAdd(round, pair), others);
    Value* other = b_.CreateURem(b_.CreateSub(b_.CreateAdd(round, others), pair), others);
    one = b_.CreateSelect(b_.CreateICmpEQ(pair, Int(0)), others, one);
    Value* p = function_.Smaller(one, other);
    Value* q = b_.CreateSub(b_.CreateAdd(one, other), p);
    Value* is_there = b_.CreateICmpSLT(q, Int(n_));
    return {p, b_.CreateSelect(is_there, q, p), is_there};
  }

  // Cosine and sine that make element (p, q) zero; the sine has the phase of the element.
  void FindRotation(Value* round, Value* pair) {
    const auto [p, q, is_there] = PairOf(round, pair);
    const Number off = Load(Matrix(p, q));
    Value* unit = SizeOf(off);
    Value* is_zero = b_.CreateOr(b_.CreateFCmpOEQ(unit, Double(0)), b_.CreateNot(is_there));
    unit = b_.CreateSelect(is_zero, Double(1), unit);
    Value* size =
        b_.CreateFMul(unit, Call(b_, llvm::Intrinsic::sqrt, {SquareOf(Parted(off, unit))}));
    size = b_.CreateSelect(is_zero, Double(1), size);
    Value* difference = b_.CreateFSub(Load(Matrix(q, q))[0], Load(Matrix(p, p))[0]);
    Value* theta = b_.CreateFDiv(difference, b_.CreateFMul(size, Double(2)));
    Value* root =
        Call(b_, llvm::Intrinsic::sqrt, {b_.CreateFAdd(b_.CreateFMul(theta, theta), Double(1))});
    Value* tangent =
        b_.CreateFDiv(Double(1), b_.CreateFAdd(Call(b_, llvm::Intrinsic::fabs, {theta}), root));
    tangent = Call(b_, llvm::Intrinsic::copysign, {tangent, theta});
    Value* cosine =
        b_.CreateFDiv(Double(1), Call(b_, llvm::Intrinsic::sqrt,
                                      {b_.CreateFAdd(b_.CreateFMul(tangent, tangent), Double(1))}));
    Value* sine = b_.CreateFMul(tangent, cosine);
    const Number turned = Scaled(Parted(off, size), sine);
    Save(Select(is_zero, Real(1.0), Real(cosine)), Rotation(0, pair));
    Save(Select(is_zero, Real(0.0), turned), Rotation(1, pair));
  }

  // Two numbers of the same row (or column) p and q, turned.
  void Rotate(Value* cosine, const Number& sine, Value* p, Value* q, Value* is_zero_p,
              Value* is_zero_q) {
    const Number x = Load(p), y = Load(q);
    Number low = LessProduct(Scaled(x, cosine), Conjugate(sine), y);
    Number high = Sum(Scaled(y, cosine), Product(sine, x));
    if (is_zero_p != nullptr) low = Select(is_zero_p, Real(0.0), low);
    if (is_zero_q != nullptr) high = Select(is_zero_q, Real(0.0), high);
    Save(low, p);
    Save(high, q);
  }

  // All pairs of a round.
  void Turn(Value* round) {
    const int64_t pairs = players_ / 2;
    function_.Loop(function_.thread(), Int(pairs), threads_,
                   [&](Value* pair) { FindRotation(round, pair); });
    block_.Barrier();
    const auto each =
        [&](const std::function<void(Value*, const Pair&, Value*, const Number&)>& body) {
          ForAll(n_, pairs, [&](Value* i, Value* pair) {
            const Pair of = PairOf(round, pair);
            block_.When(of.is_there,
                        [&] { body(i, of, Load(Rotation(0, pair))[0], Load(Rotation(1, pair))); });
          });
          block_.Barrier();
        };
    each([&](Value* i, const Pair& of, Value* cosine, const Number& sine) {
      Rotate(cosine, sine, Matrix(i, of.p), Matrix(i, of.q), nullptr, nullptr);
      Rotate(cosine, sine, Vectors(i, of.p), Vectors(i, of.q), nullptr, nullptr);
    });
    each([&](Value* i, const Pair& of, Value* cosine, const Number& sine) {
      Rotate(cosine, Conjugate(sine), Matrix(of.p, i), Matrix(of.q, i), b_.CreateICmpEQ(i, of.q),
             b_.CreateICmpEQ(i, of.p));
    });
  }

  // Values and vectors by rank; NaN throughout, and an info, where no end was found.
  void Finish(Value* is_bad) {
    Value* nan = llvm::ConstantFP::getNaN(b_.getDoubleTy());
    function_.Loop(function_.thread(), Int(n_), threads_, [&](Value* i) {
      Value* value = Load(Matrix(i, i))[0];
      Value* rank = function_.Loop(
          Int(0), Int(n_), 1, {Int(0)},
          [&](Value* j, const std::vector<Value*>& count) -> std::vector<Value*> {
            Value* other = Load(Matrix(j, j))[0];
            Value* is_before =
                b_.CreateOr(b_.CreateFCmpOLT(other, value),
                            b_.CreateAnd(b_.CreateFCmpOEQ(other, value), b_.CreateICmpSLT(j, i)));
            return {b_.CreateAdd(count[0], b_.CreateZExt(is_before, b_.getInt64Ty()))};
          })[0];
      rank = b_.CreateSelect(is_bad, i, rank);
      WriteReal(1, b_.CreateSelect(is_bad, nan, value),
                b_.CreateAdd(b_.CreateMul(matrix_, Int(n_)), rank));
      function_.Loop(Int(0), Int(n_), 1, [&](Value* r) {
        Write(0, Select(is_bad, Real(nan), Load(Vectors(r, i))), Place(r, rank));
      });
    });
    if (call_.results < 3) return;
    block_.When(b_.CreateICmpEQ(function_.thread(), Int(0)),
                [&] { WriteInteger(2, b_.CreateSelect(is_bad, Int(n_ - 1), Int(0)), matrix_); });
  }

  const FactorCall& call_;
  int64_t n_, players_, threads_;
  Value *matrix_ = nullptr, *first_ = nullptr, *work_ = nullptr;
};

}  // namespace

EmittedKernel EmitGpuSymmetricEigen(llvm::Module& module, const Kernel& kernel,
                                    const std::string& name, const FactorCall& call) {
  const int64_t n = call.rows;
  EmittedKernel out =
      InGrains(name, call.matrices, 1, n * n * n, kernel.module.shape(kernel.id).results().size());
  out.code.scratch_bytes = call.matrices * GpuEigenKernel::Numbers(n) * kNumberBytes;
  out.block = MatrixThreads(n);
  KernelFunction function(module, kernel, name, -1, out.block);
  GpuEigenKernel(function, kernel, call, out.block).Emit();
  out.is_complete = true;
  return out;
}

}  // namespace hloscope::codegen
