// Numbers of matrices as code.
#include "core/codegen/matrix/gpu_matrix.h"

#include <algorithm>

#include "core/codegen/math/inline_complex.h"

namespace hloscope::codegen {

using hlo::ElementType;
using llvm::Value;
using Number = GpuMatrix::Number;

Number GpuMatrix::Complex(hlo::Opcode opcode, const Number& x, const Number& y) {
  Value* operands[] = {FromParts(b_, {x[0], x[1]}, ElementType::kC128),
                       FromParts(b_, {y[0], y[1]}, ElementType::kC128)};
  const Parts parts = PartsOf(b_, InlineComplexFunction(b_, opcode, operands, ElementType::kC128),
                              ElementType::kC128);
  return {parts.real, parts.imag};
}

Number GpuMatrix::Sum(const Number& x, const Number& y) {
  Number out;
  for (size_t i = 0; i < x.size(); ++i) out.push_back(b_.CreateFAdd(x[i], y[i]));
  return out;
}

Number GpuMatrix::Product(const Number& x, const Number& y) {
  if (!is_complex_) return {b_.CreateFMul(x[0], y[0])};
  return Complex(hlo::Opcode::kMultiply, x, y);
}

Number GpuMatrix::Scaled(const Number& x, Value* by) {
  Number out;
  for (Value* part : x) out.push_back(b_.CreateFMul(part, by));
  return out;
}

Number GpuMatrix::Quotient(const Number& x, const Number& y) {
  if (!is_complex_) return {b_.CreateFDiv(x[0], y[0])};
  return Complex(hlo::Opcode::kDivide, x, y);
}

Number GpuMatrix::LessProduct(const Number& x, const Number& y, const Number& z) {
  const Number product = Product(y, z);
  Number out;
  for (size_t i = 0; i < x.size(); ++i) out.push_back(b_.CreateFSub(x[i], product[i]));
  return out;
}

Number GpuMatrix::Select(Value* condition, const Number& x, const Number& y) {
  Number out;
  for (size_t i = 0; i < x.size(); ++i) out.push_back(b_.CreateSelect(condition, x[i], y[i]));
  return out;
}

Value* GpuMatrix::SizeOf(const Number& x) {
  Value* size = Call(b_, llvm::Intrinsic::fabs, {x[0]});
  if (is_complex_) size = b_.CreateFAdd(size, Call(b_, llvm::Intrinsic::fabs, {x[1]}));
  return size;
}

Value* GpuMatrix::SquareOf(const Number& x) {
  Value* square = b_.CreateFMul(x[0], x[0]);
  if (is_complex_) square = b_.CreateFAdd(square, b_.CreateFMul(x[1], x[1]));
  return square;
}

Value* GpuMatrix::IsZero(const Number& x) {
  Value* is_zero = b_.CreateFCmpOEQ(x[0], Double(0));
  return is_complex_ ? b_.CreateAnd(is_zero, b_.CreateFCmpOEQ(x[1], Double(0))) : is_zero;
}

Value* GpuMatrix::Operand(size_t i) {
  return function_.Arrays().at(kernel_.parameters[i].index).address;
}

Number GpuMatrix::Read(size_t operand, Value* at) {
  llvm::Type* memory = MemoryType(b_, type_);
  const llvm::Align align(static_cast<uint64_t>(hlo::StorageBytes(hlo::RealPart(type_))));
  Value* x = FromMemory(
      b_, b_.CreateAlignedLoad(memory, b_.CreateGEP(memory, Operand(operand), at), align), type_);
  if (!is_complex_) return {Converted(b_, x, type_, ElementType::kF64)};
  const Parts parts = PartsOf(b_, Converted(b_, x, type_, ElementType::kC128), ElementType::kC128);
  return {parts.real, parts.imag};
}

void GpuMatrix::Write(size_t leaf, const Number& x, Value* at) {
  if (!is_complex_) return WriteReal(leaf, x[0], at);
  Value* whole = FromParts(b_, {x[0], x[1]}, ElementType::kC128);
  llvm::Type* memory = MemoryType(b_, type_);
  const llvm::Align align(static_cast<uint64_t>(hlo::StorageBytes(hlo::RealPart(type_))));
  b_.CreateAlignedStore(ToMemory(b_, Converted(b_, whole, ElementType::kC128, type_), type_),
                        b_.CreateGEP(memory, function_.result(leaf), at), align);
}

void GpuMatrix::WriteReal(size_t leaf, Value* x, Value* at) {
  const ElementType part = hlo::RealPart(type_);
  function_.Store(Converted(b_, x, ElementType::kF64, part), part, function_.result(leaf), at, 1);
}

void GpuMatrix::WriteInteger(size_t leaf, Value* x, Value* at) {
  function_.Store(b_.CreateTrunc(x, b_.getInt32Ty()), ElementType::kS32, function_.result(leaf), at,
                  1);
}

Value* GpuMatrix::WorkAt(Value* at, size_t part) {
  Value* i =
      b_.CreateAdd(b_.CreateMul(at, Int(is_complex_ ? 2 : 1)), Int(static_cast<int64_t>(part)));
  return b_.CreateGEP(b_.getDoubleTy(), function_.scratch(), i);
}

Number GpuMatrix::Load(Value* at) {
  Number x;
  for (size_t part = 0; part < (is_complex_ ? 2 : 1); ++part) {
    x.push_back(b_.CreateLoad(b_.getDoubleTy(), WorkAt(at, part)));
  }
  return x;
}

void GpuMatrix::Save(const Number& x, Value* at) {
  for (size_t part = 0; part < x.size(); ++part) b_.CreateStore(x[part], WorkAt(at, part));
}

void GpuMatrix::ClearFrom(size_t leaf, Value* is_it, int64_t threads) {
  const auto results = kernel_.module.shape(kernel_.id).results();
  for (; leaf < results.size(); ++leaf) {
    const int64_t bytes = results[leaf].ByteSize().value_or(0);
    block_.When(is_it, [&] {
      function_.Loop(function_.thread(), Int(bytes), threads, [&](Value* at) {
        b_.CreateStore(b_.getInt8(0), b_.CreateGEP(b_.getInt8Ty(), function_.result(leaf), at));
      });
    });
  }
}

int64_t MatrixThreads(int64_t side) {
  return std::min(kMaxMatrixThreads, (side + kWarp - 1) / kWarp * kWarp);
}

}  // namespace hloscope::codegen
