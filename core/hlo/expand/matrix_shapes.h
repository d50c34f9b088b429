// MatrixShapes: a custom call of a linear algebra library: its matrices by their shapes, and its
// options, whichever way they come.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/hlo/expand/call_config.h"
#include "core/hlo/expand/call_site.h"

namespace hloscope::hlo::expand {

// jaxlib has two kinds of these calls. Typed FFI calls (names ending in _ffi, and all newer GPU
// ones) have options as attributes; older ones have sizes and options as scalar operands in front
// of the arrays, and workspaces among the results.
class MatrixShapes {
 public:
  /// Unsupported where there are fewer than `arrays` array operands, or sizes LAPACK cannot count.
  static Result<MatrixShapes> Of(const CallSite& call, size_t arrays);

  const CallConfig& config() const { return config_; }
  bool is_old() const { return is_old_; }
  bool is_complex() const { return IsComplex(array(0).element_type()); }

  // Array operand i, scalars left out; which operand of the call that is.
  const Shape& array(size_t i) const { return shapes_[i]; }
  size_t operand_of(size_t i) const { return arrays_[i]; }
  int rows(size_t i = 0) const;
  int columns(size_t i = 0) const;
  int64_t batch() const { return batch_; }

  // An option: attribute `name`, or scalar operand `position` of an old call.
  int64_t Option(std::string_view name, size_t position, int64_t absent) const;
  // The triangle: uplo='L', or lower=true; scalar operand `position` of an old call.
  bool Lower(size_t position) const;
  bool IsSet(std::string_view name, bool absent) const { return config_.Flag(name, absent); }

 private:
  CallConfig config_;
  bool is_old_ = false;
  std::vector<size_t> arrays_;
  std::vector<Shape> shapes_;
  std::vector<int64_t> scalars_;  // of operands of rank 0, in order
  int64_t batch_ = 1;
};

}  // namespace hloscope::hlo::expand
