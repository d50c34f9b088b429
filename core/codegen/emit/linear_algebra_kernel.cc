// Kernels of cholesky and triangular-solve: the work is the runtime's.
#include "core/codegen/emit/emit_kernel.h"
#include "core/codegen/emit/kernel_function.h"
#include "core/codegen/emit/triangular_form.h"

namespace hloscope::codegen {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::Shape;
using hlo::TransposeA;

namespace {

constexpr int64_t kScratchBytes = 16;  // of an element

HloscopeElement ElementOf(ElementType type) {
  switch (type) {
    case ElementType::kF32:
      return kHloscopeF32;
    case ElementType::kF64:
      return kHloscopeF64;
    case ElementType::kC64:
      return kHloscopeC64;
    default:
      return kHloscopeC128;
  }
}

}  // namespace

HloscopeTriangular TriangularFormOf(const Kernel& kernel) {
  const hlo::Instruction& i = kernel.module[kernel.roots[0]];
  const Shape& shape = kernel.module.shape(kernel.roots[0]);
  const int64_t rows = shape.dimension(shape.rank() - 2);
  const int64_t columns = shape.dimension(shape.rank() - 1);
  const auto is = [&](AttributeKey key) -> int32_t {
    return kernel.module.GetBool(i, key) ? 1 : 0;
  };
  HloscopeTriangular form{};
  form.type = ElementOf(shape.element_type());
  form.is_lower = is(AttributeKey::kLower);
  form.n = rows;
  if (i.opcode == hlo::Opcode::kCholesky) return form;
  const auto transpose =
      static_cast<TransposeA>(kernel.module.GetInt(i, AttributeKey::kTransposeA));
  form.is_left = is(AttributeKey::kLeftSide);
  form.has_unit_diagonal = is(AttributeKey::kUnitDiagonal);
  form.is_conjugated = transpose == TransposeA::kAdjoint;
  form.is_transposed = form.is_conjugated || transpose == TransposeA::kTranspose;
  form.n = form.is_left ? rows : columns;
  form.vectors = form.is_left ? columns : rows;
  return form;
}

EmittedKernel EmitLinearAlgebra(llvm::Module& module, const Kernel& kernel,
                                const std::string& name) {
  const HloscopeTriangular form = TriangularFormOf(kernel);
  const bool is_solve = form.vectors > 0;
  const Shape& shape = kernel.module.shape(kernel.roots[0]);
  const int64_t count = shape.ElementCount().value_or(0), bytes = shape.ByteSize().value_or(0);
  const int64_t matrices = count / (form.n * (is_solve ? form.vectors : form.n));
  const int64_t blocks = is_solve ? (form.vectors - 1) / kHloscopeVectors + 1 : 1;
  EmittedKernel out;
  out.code.name = name;
  out.code.grains = matrices * blocks;
  // Each element of a factor or result is made of about half a row.
  out.code.grain_bytes = bytes / out.code.grains * (1 + form.n / 2);
  out.code.scratch_bytes = count * kScratchBytes;
  out.code.in_place = {-1};
  out.is_complete = true;

  KernelFunction function(module, kernel, name, -1);
  Builder& b = function.builder();
  llvm::Constant* data = llvm::ConstantDataArray::get(
      b.getContext(), llvm::ArrayRef(reinterpret_cast<const uint8_t*>(&form), sizeof(form)));
  auto* global = new llvm::GlobalVariable(module, data->getType(), true,
                                          llvm::GlobalValue::PrivateLinkage, data, "triangular");
  global->setAlignment(llvm::Align(alignof(HloscopeTriangular)));
  std::vector<llvm::Value*> arguments = {global};
  for (size_t k = 0; k < (is_solve ? 2 : 1); ++k) {
    arguments.push_back(
        b.CreateLoad(b.getPtrTy(), b.CreateConstGEP1_64(b.getPtrTy(), function.operands(), k)));
  }
  arguments.insert(arguments.end(),
                   {function.result(0), function.scratch(), function.begin(), function.end()});
  std::vector<llvm::Type*> types;
  for (const llvm::Value* argument : arguments) types.push_back(argument->getType());
  b.CreateCall(
      module.getOrInsertFunction(is_solve ? "hloscope_triangular_solve" : "hloscope_cholesky",
                                 llvm::FunctionType::get(b.getVoidTy(), types, false)),
      arguments);
  function.Finish();
  return out;
}

}  // namespace hloscope::codegen
