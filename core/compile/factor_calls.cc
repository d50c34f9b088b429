// Which custom calls are factors of matrices in a plain form.
#include "core/compile/factor_calls.h"

#include <algorithm>
#include <array>

#include "core/compile/kernel_rules.h"
#include "core/hlo/analysis/effects.h"
#include "core/hlo/expand/call_config.h"
#include "core/hlo/expand/custom_calls.h"

namespace hloscope::compile {

using hlo::AttributeKey;
using hlo::ElementType;
using hlo::InstructionId;
using hlo::Module;
using hlo::Shape;
using hlo::expand::CustomCall;

namespace {

constexpr int64_t kMaxFactorRows = 1 << 14;  // of a matrix, as the evaluator has it

struct FactorRow {
  FactorWork work;
  std::string_view name;
  CustomCall meaning;
  size_t operands;  // arrays
  size_t results;
};
constexpr FactorRow kFactorRows[] = {
    {FactorWork::kLu, "LU", CustomCall::kLu, 1, 3},
    {FactorWork::kCholesky, "Cholesky", CustomCall::kCholeskyFactor, 1, 2},
    {FactorWork::kQr, "QR", CustomCall::kQr, 1, 2},
    {FactorWork::kFormQ, "Q of QR", CustomCall::kFormQ, 2, 1},
    {FactorWork::kSymmetricEigen, "symmetric eigenvalues", CustomCall::kSymmetricEigen, 1, 3},
};

const FactorRow* FindFactorRow(const Module& module, InstructionId id) {
  const auto* const call = hlo::expand::FindCustomCall(module, id);
  if (call == nullptr) return nullptr;
  const auto row = std::ranges::find(kFactorRows, call->meaning, &FactorRow::meaning);
  return row == std::end(kFactorRows) ? nullptr : row;
}

// Older calls of jaxlib have the triangle as their first scalar, newer ones in their options.
std::optional<bool> HasLowerTriangle(const Module& module, InstructionId id, size_t scalars) {
  const auto config = hlo::expand::CallConfig::Of(module, id);
  if (!config.has_value()) return std::nullopt;
  if (scalars == 0 || !config->empty()) return hlo::expand::IsLowerTriangle(*config);
  const auto* const literal =
      module.Get<hlo::Literal>(module[module.operands(id)[0]], AttributeKey::kConstantValue);
  if (literal == nullptr || literal->elided()) return std::nullopt;
  return std::ranges::any_of(literal->bytes(), [](std::byte b) { return b != std::byte{0}; });
}

bool IsMatrixType(ElementType type) {
  return type == ElementType::kF32 || type == ElementType::kF64 || type == ElementType::kC64 ||
         type == ElementType::kC128;
}

bool HoldsNumbers(const Shape& shape, ElementType type, int64_t count) {
  return IsWholeArray(shape) && shape.element_type() == type && shape.ElementCount() == count;
}

bool FactorResultsFit(const FactorCall& call, const Shape& matrix, const Shape& shape) {
  const auto results = shape.results();
  const auto is_known = [](const Shape& each) {
    return each.IsArray() && each.is_static() && each.ByteSize().has_value();
  };
  if (results.size() < call.results || !std::ranges::all_of(results, is_known)) return false;
  const ElementType type = matrix.element_type();
  if (results[0].element_type() != type ||
      !std::ranges::equal(results[0].dimensions(), matrix.dimensions())) {
    return false;
  }
  const auto is_info = [&](size_t i) {
    return i >= call.results || HoldsNumbers(results[i], ElementType::kS32, call.matrices);
  };
  switch (call.work) {
    case FactorWork::kLu:
      return HoldsNumbers(results[1], ElementType::kS32, call.matrices * call.less()) && is_info(2);
    case FactorWork::kCholesky:
      return is_info(1);
    case FactorWork::kQr:
      return HoldsNumbers(results[1], type, call.matrices * call.less());
    case FactorWork::kFormQ:
      return true;
    case FactorWork::kSymmetricEigen:
      return HoldsNumbers(results[1], hlo::RealPart(type), call.matrices * call.rows) && is_info(2);
  }
  return false;
}

}  // namespace

std::string_view NameOf(FactorWork work) {
  return std::ranges::find(kFactorRows, work, &FactorRow::work)->name;
}

std::optional<FactorCall> FactorCallOf(const Module& module, InstructionId id) {
  const FactorRow* const row = FindFactorRow(module, id);
  if (row == nullptr || hlo::EffectsOf(module).Has(id)) return std::nullopt;
  const auto operands = module.operands(id);
  const auto is_option = [&](InstructionId operand) {
    return module.shape(operand).IsScalar() && IsInteger(module.shape(operand).element_type());
  };
  FactorCall call;
  call.work = row->work;
  call.operand =
      static_cast<size_t>(std::ranges::find_if_not(operands, is_option) - operands.begin());
  if (operands.size() != call.operand + row->operands) return std::nullopt;
  const Shape& matrix = module.shape(operands[call.operand]);
  if (!IsWholeArray(matrix) || matrix.rank() < 2 || !IsMatrixType(matrix.element_type())) {
    return std::nullopt;
  }
  call.rows = matrix.dimension(matrix.rank() - 2);
  call.columns = matrix.dimension(matrix.rank() - 1);
  if (std::max(call.rows, call.columns) > kMaxFactorRows) return std::nullopt;
  call.matrices = *matrix.ElementCount() / (call.rows * call.columns);
  call.results = std::min(row->results, module.shape(id).results().size());
  if (call.work != FactorWork::kSymmetricEigen) call.results = row->results;
  switch (call.work) {
    case FactorWork::kCholesky:
    case FactorWork::kSymmetricEigen: {
      const auto is_lower = HasLowerTriangle(module, id, call.operand);
      if (!is_lower.has_value() || call.rows != call.columns || call.results < 2) {
        return std::nullopt;
      }
      call.is_lower = *is_lower;
      break;
    }
    case FactorWork::kFormQ: {
      const Shape& factors = module.shape(operands[call.operand + 1]);
      if (!IsWholeArray(factors) || factors.rank() == 0) return std::nullopt;
      call.vectors = factors.dimensions().back();
      if (call.vectors > call.columns || call.columns > call.rows ||
          !HoldsNumbers(factors, matrix.element_type(), call.matrices * call.vectors)) {
        return std::nullopt;
      }
      break;
    }
    default:
      break;
  }
  if (!FactorResultsFit(call, matrix, module.shape(id))) return std::nullopt;
  return call;
}

}  // namespace hloscope::compile
