// cholesky and triangular-solve on a GPU, in the runtime's order of sums (core/linking/runtime):
// a block factors a matrix, column by column; a thread solves for a vector.
#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/gpu_block.h"
#include "core/codegen/emit/triangular_form.h"
#include "core/codegen/math/device_complex.h"

namespace hloscope::codegen {

using hlo::ElementType;
using llvm::Value;

namespace {

constexpr int64_t kMostMatrixThreads = 256;  // of a block
constexpr int64_t kScratchBytes = 16;        // of an element

class GpuTriangularKernel {
 public:
  using Number = std::vector<Value*>;  // f64: one, or both parts of a complex number

  GpuTriangularKernel(llvm::Module& module, const Kernel& kernel, const std::string& name)
      : kernel_(kernel),
        form_(TriangularFormOf(kernel)),
        shape_(kernel.module.shape(kernel.roots[0])),
        type_(shape_.element_type()),
        is_complex_(hlo::IsComplex(type_)),
        threads_(std::min(kMostMatrixThreads, (form_.n + kWarp - 1) / kWarp * kWarp)),
        function_(module, kernel, name, -1, IsSolve() ? 1 : threads_),
        block_(function_),
        b_(function_.builder()) {}

  EmittedKernel Emit(const std::string& name) {
    const int64_t count = shape_.ElementCount().value_or(0);
    const int64_t matrices = count / (form_.n * (IsSolve() ? form_.vectors : form_.n));
    const int64_t units = IsSolve() ? matrices * form_.vectors : matrices;
    EmittedKernel out = InGrains(name, units, 1, count / units * form_.n, 1);
    out.code.scratch_bytes = count * kScratchBytes;
    out.block = IsSolve() ? 1 : threads_;
    function_.ForUnits(units, 1, [&](Value* unit) { IsSolve() ? Solve(unit) : Factor(unit); });
    function_.Finish();
    out.is_complete = true;
    return out;
  }

 private:
  bool IsSolve() const { return form_.vectors > 0; }
  Value* Int(int64_t value) { return function_.Int(value); }
  Value* Double(double value) { return llvm::ConstantFP::get(b_.getDoubleTy(), value); }

  // ---- Numbers.

  Number Conjugate(const Number& x) { return is_complex_ ? Number{x[0], b_.CreateFNeg(x[1])} : x; }
  // x - y·z
  Number LessProduct(const Number& x, const Number& y, const Number& z) {
    if (!is_complex_) return {b_.CreateFSub(x[0], b_.CreateFMul(y[0], z[0]))};
    const Number product = Complex(hlo::Opcode::kMultiply, y, z);
    return {b_.CreateFSub(x[0], product[0]), b_.CreateFSub(x[1], product[1])};
  }
  Number Quotient(const Number& x, const Number& y) {
    if (!is_complex_) return {b_.CreateFDiv(x[0], y[0])};
    return Complex(hlo::Opcode::kDivide, x, y);
  }
  Number Complex(hlo::Opcode opcode, const Number& x, const Number& y) {
    Value* operands[] = {FromParts(b_, {x[0], x[1]}, ElementType::kC128),
                         FromParts(b_, {y[0], y[1]}, ElementType::kC128)};
    const Parts parts = PartsOf(b_, DeviceComplexFunction(b_, opcode, operands, ElementType::kC128),
                                ElementType::kC128);
    return {parts.real, parts.imag};
  }

  Value* Operand(size_t i) { return function_.Arrays().at(kernel_.parameters[i].index).address; }
  Number Read(Value* array, Value* at) {
    llvm::Type* memory = MemoryType(b_, type_);
    const llvm::Align align(static_cast<uint64_t>(hlo::StorageBytes(hlo::RealPart(type_))));
    Value* x =
        FromMemory(b_, b_.CreateAlignedLoad(memory, b_.CreateGEP(memory, array, at), align), type_);
    if (!is_complex_) return {Converted(b_, x, type_, ElementType::kF64)};
    const Parts parts =
        PartsOf(b_, Converted(b_, x, type_, ElementType::kC128), ElementType::kC128);
    return {parts.real, parts.imag};
  }
  void Write(const Number& x, Value* at) {
    const ElementType wide = is_complex_ ? ElementType::kC128 : ElementType::kF64;
    Value* whole = is_complex_ ? FromParts(b_, {x[0], x[1]}, wide) : x[0];
    llvm::Type* memory = MemoryType(b_, type_);
    const llvm::Align align(static_cast<uint64_t>(hlo::StorageBytes(hlo::RealPart(type_))));
    b_.CreateAlignedStore(ToMemory(b_, Converted(b_, whole, wide, type_), type_),
                          b_.CreateGEP(memory, function_.result(0), at), align);
  }
  Value* WorkAt(Value* at, size_t part) {
    const auto parts = static_cast<int64_t>(is_complex_ ? 2 : 1);
    Value* i = b_.CreateAdd(b_.CreateMul(at, Int(parts)), Int(static_cast<int64_t>(part)));
    return b_.CreateGEP(b_.getDoubleTy(), function_.scratch(), i);
  }
  Number Load(Value* at) {
    Number x;
    for (size_t part = 0; part < (is_complex_ ? 2 : 1); ++part) {
      x.push_back(b_.CreateLoad(b_.getDoubleTy(), WorkAt(at, part)));
    }
    return x;
  }
  void Save(const Number& x, Value* at) {
    for (size_t part = 0; part < x.size(); ++part) b_.CreateStore(x[part], WorkAt(at, part));
  }

  // ---- cholesky: of A = L·Lᴴ, L in the lower triangle.

  Value* Place(Value* i, Value* j) {
    return b_.CreateAdd(first_, b_.CreateAdd(b_.CreateMul(i, Int(form_.n)), j));
  }
  // Σ of products of rows i and j before column j, taken from `x`.
  Number LessRows(const Number& x, Value* i, Value* j) {
    return function_.Loop(Int(0), j, 1, x, [&](Value* k, const Number& sum) {
      return LessProduct(sum, Load(Place(i, k)), Conjugate(Load(Place(j, k))));
    });
  }

  // All threads compute the pivot, each the rest of a column for some rows.
  void Factor(Value* matrix) {
    const int64_t n = form_.n;
    first_ = b_.CreateMul(matrix, Int(n * n));
    const auto for_all = [&](const std::function<void(Value*, Value*)>& body) {
      function_.Loop(function_.thread(), Int(n * n), threads_, [&](Value* at) {
        body(b_.CreateUDiv(at, Int(n)), b_.CreateURem(at, Int(n)));
      });
    };
    for_all([&](Value* i, Value* j) {
      block_.When(b_.CreateICmpSLE(j, i), [&] {
        Value* from = form_.is_lower != 0 ? Place(i, j) : Place(j, i);
        const Number x = Read(Operand(0), from);
        Save(form_.is_lower != 0 ? x : Conjugate(x), Place(i, j));
      });
    });
    block_.Barrier();
    const auto flags = function_.Loop(
        Int(0), Int(n), 1, {b_.getTrue()},
        [&](Value* j, const std::vector<Value*>& is_positive) -> std::vector<Value*> {
          Value* pivot = LessRows(Load(Place(j, j)), j, j)[0];
          Value* root = Call(b_, llvm::Intrinsic::sqrt, {pivot});
          block_.Barrier();
          block_.When(b_.CreateICmpEQ(function_.thread(), Int(0)), [&] {
            Save(is_complex_ ? Number{root, Double(0)} : Number{root}, Place(j, j));
          });
          Value* below = b_.CreateAdd(b_.CreateAdd(j, Int(1)), function_.thread());
          function_.Loop(below, Int(n), threads_, [&](Value* i) {
            Number x = LessRows(Load(Place(i, j)), i, j);
            for (Value*& part : x) part = b_.CreateFDiv(part, root);
            Save(x, Place(i, j));
          });
          block_.Barrier();
          return {b_.CreateAnd(is_positive[0], b_.CreateFCmpOGT(pivot, Double(0)))};
        });
    for_all([&](Value* i, Value* j) {
      Value* row = form_.is_lower != 0 ? i : j;
      Value* column = form_.is_lower != 0 ? j : i;
      Value* is_inside = b_.CreateICmpSLE(column, row);
      // What is above the diagonal was never written: the place is moved onto it.
      Value* at = Place(row, b_.CreateSelect(is_inside, column, row));
      Number x = Load(at);
      if (form_.is_lower == 0) x = Conjugate(x);
      for (size_t part = 0; part < x.size(); ++part) {
        x[part] = b_.CreateSelect(is_inside, x[part], Double(0));
        Value* nan = llvm::ConstantFP::getNaN(b_.getDoubleTy());
        x[part] = b_.CreateSelect(flags[0], x[part], part == 0 ? nan : Double(0));
      }
      Write(x, Place(i, j));
    });
  }

  // ---- triangular-solve: one vector x of op(T)·x = b.

  void Solve(Value* unit) {
    const int64_t n = form_.n;
    Value* system = b_.CreateUDiv(unit, Int(form_.vectors));
    Value* vector = b_.CreateURem(unit, Int(form_.vectors));
    Value* matrix = b_.CreateMul(system, Int(n * n));
    first_ = b_.CreateMul(system, Int(n * form_.vectors));
    const bool is_swapped = (form_.is_transposed != 0) == (form_.is_left != 0);
    const bool is_forward = (form_.is_lower != 0) != is_swapped;
    const auto element = [&](Value* i, Value* k) {
      Value* at = is_swapped ? b_.CreateAdd(b_.CreateMul(k, Int(n)), i)
                             : b_.CreateAdd(b_.CreateMul(i, Int(n)), k);
      const Number x = Read(Operand(0), b_.CreateAdd(matrix, at));
      return form_.is_conjugated != 0 ? Conjugate(x) : x;
    };
    // Element k of the vector; neighbouring threads have neighbours in the scratch.
    const auto place = [&](Value* k) {
      Value* at = form_.is_left != 0 ? b_.CreateAdd(b_.CreateMul(k, Int(form_.vectors)), vector)
                                     : b_.CreateAdd(b_.CreateMul(vector, Int(n)), k);
      return b_.CreateAdd(first_, at);
    };
    const auto kept = [&](Value* k) {
      return b_.CreateAdd(first_, b_.CreateAdd(b_.CreateMul(k, Int(form_.vectors)), vector));
    };
    function_.Loop(Int(0), Int(n), 1, [&](Value* step) {
      Value* i = is_forward ? step : b_.CreateSub(Int(n - 1), step);
      Value* from = is_forward ? Int(0) : b_.CreateAdd(i, Int(1));
      Value* to = is_forward ? i : Int(n);
      Number x =
          function_.Loop(from, to, 1, Read(Operand(1), place(i)), [&](Value* k, const Number& sum) {
            return LessProduct(sum, element(i, k), Load(kept(k)));
          });
      if (form_.has_unit_diagonal == 0) x = Quotient(x, element(i, i));
      Save(x, kept(i));
      Write(x, place(i));
    });
  }

  const Kernel& kernel_;
  HloscopeTriangular form_;
  const hlo::Shape& shape_;
  ElementType type_;
  bool is_complex_;
  int64_t threads_;
  KernelFunction function_;
  GpuBlock block_;
  Builder& b_;
  Value* first_ = nullptr;  // element of the matrix or system
};

}  // namespace

EmittedKernel EmitGpuLinearAlgebra(llvm::Module& module, const Kernel& kernel,
                                   const std::string& name) {
  return GpuTriangularKernel(module, kernel, name).Emit(name);
}

}  // namespace hloscope::codegen
