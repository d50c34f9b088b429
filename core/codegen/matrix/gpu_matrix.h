// GpuMatrix: numbers in f64 or pairs of such, and the frame of a kernel of a GPU that works on
// whole matrices: rounded once, when they are written.
#pragma once

#include <functional>
#include <vector>

#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/gpu_block.h"
#include "core/codegen/emit/kernel_function.h"
#include "core/compile/factor_calls.h"

namespace hloscope::codegen {

inline constexpr int64_t kMaxMatrixThreads = 256;  // of a block
inline constexpr int64_t kNumberBytes = 16;        // of the scratch, for a number of any type

class GpuMatrix {
 public:
  using Value = llvm::Value;
  using Number = std::vector<Value*>;  // f64: one, or both parts of a complex number

  GpuMatrix(KernelFunction& function, const Kernel& kernel, hlo::ElementType type)
      : function_(function),
        block_(function),
        b_(function.builder()),
        kernel_(kernel),
        type_(type),
        is_complex_(hlo::IsComplex(type)) {}

  Value* Int(int64_t value) { return function_.Int(value); }
  Value* Double(double value) { return llvm::ConstantFP::get(b_.getDoubleTy(), value); }
  Number Real(Value* value) { return is_complex_ ? Number{value, Double(0)} : Number{value}; }
  Number Real(double value) { return Real(Double(value)); }

  Number Conjugate(const Number& x) { return is_complex_ ? Number{x[0], b_.CreateFNeg(x[1])} : x; }
  Number Sum(const Number& x, const Number& y);
  Number Product(const Number& x, const Number& y);
  Number Scaled(const Number& x, Value* by);
  Number Quotient(const Number& x, const Number& y);
  // x - y·z
  Number LessProduct(const Number& x, const Number& y, const Number& z);
  Number Select(Value* condition, const Number& x, const Number& y);
  Value* SizeOf(const Number& x);    // |x|, of complex numbers the sum of both parts'
  Value* SquareOf(const Number& x);  // |x|²
  Value* IsZero(const Number& x);

  // Arrays of operands and results, and the scratch, element by element.
  Value* Operand(size_t i);
  Number Read(size_t operand, Value* at);
  void Write(size_t leaf, const Number& x, Value* at);
  void WriteReal(size_t leaf, Value* x, Value* at);     // in the type of the number's parts
  void WriteInteger(size_t leaf, Value* x, Value* at);  // s32
  Number Load(Value* at);
  void Save(const Number& x, Value* at);

  // Zeros in the results from that leaf on, by one block.
  void ClearFrom(size_t leaf, Value* is_it, int64_t threads);

 protected:
  KernelFunction& function_;
  GpuBlock block_;
  Builder& b_;
  const Kernel& kernel_;
  hlo::ElementType type_;
  bool is_complex_;

 private:
  Number Complex(hlo::Opcode opcode, const Number& x, const Number& y);
  Value* WorkAt(Value* at, size_t part);
};

// Threads of a block that go through the rows or columns of such a matrix.
int64_t MatrixThreads(int64_t side);

EmittedKernel EmitGpuQr(llvm::Module& module, const Kernel& kernel, const std::string& name,
                        const compile::FactorCall& call);
EmittedKernel EmitGpuFormQ(llvm::Module& module, const Kernel& kernel, const std::string& name,
                           const compile::FactorCall& call);
EmittedKernel EmitGpuSymmetricEigen(llvm::Module& module, const Kernel& kernel,
                                    const std::string& name, const compile::FactorCall& call);

}  // namespace hloscope::codegen
