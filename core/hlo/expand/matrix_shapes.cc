// Matrices and options of both kinds of calls.
#include "core/hlo/expand/matrix_shapes.h"

namespace hloscope::hlo::expand {
namespace {

// LAPACK counts in 32 bits, and squares sizes for its workspaces.
constexpr int64_t kMaxRows = 1 << 14;

}  // namespace

Result<MatrixShapes> MatrixShapes::Of(const CallSite& call, size_t arrays) {
  MatrixShapes m;
  HLOSCOPE_ASSIGN_OR_RETURN(m.config_, CallConfig::Of(call));
  for (size_t i = 0; i < call.operand_count(); ++i) {
    if (!call.has_array(i)) return Unsupported(call, "an operand is not an array");
    if (call.operand_shape(i).rank() != 0) {
      m.arrays_.push_back(i);
      m.shapes_.push_back(call.operand_shape(i));
    } else {
      m.scalars_.push_back(call.integer(i).value_or(0));
    }
  }
  m.is_old_ = !m.scalars_.empty() && m.config_.empty();
  if (m.arrays_.size() < arrays) return Unsupported(call, "operands are missing");
  const Shape& main = m.array(0);
  const ElementType type = main.element_type();
  if (!hlo::IsComplex(type) && !IsFloat(type)) {
    return Unsupported(call, "its matrices are neither real nor complex");
  }
  for (size_t d = 0; d + 2 < main.rank(); ++d) m.batch_ *= main.dimension(d);
  for (const Shape& shape : m.shapes_) {
    for (size_t d = shape.rank() > 2 ? shape.rank() - 2 : 0; d < shape.rank(); ++d) {
      if (shape.dimension(d) > kMaxRows) return Unsupported(call, "its matrices are too large");
    }
  }
  return m;
}

int MatrixShapes::rows(size_t i) const {
  return array(i).rank() < 2 ? 1 : static_cast<int>(array(i).dimension(array(i).rank() - 2));
}

int MatrixShapes::columns(size_t i) const {
  return static_cast<int>(array(i).dimension(array(i).rank() - 1));
}

int64_t MatrixShapes::Option(std::string_view name, size_t position, int64_t absent) const {
  if (is_old_) return position < scalars_.size() ? scalars_[position] : absent;
  return config_.Integer(name, absent);
}

bool MatrixShapes::Lower(size_t position) const {
  if (is_old_) return Option("", position, 1) != 0;
  return IsLowerTriangle(config_);
}

}  // namespace hloscope::hlo::expand
