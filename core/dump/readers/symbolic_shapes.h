// Dimension variables of jax.export: expressions such as "2*b + 1", evaluated.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/dump/readers/jax_export.h"

namespace hloscope::dump {

struct DimensionVariable {
  std::string name;
  int64_t value = 0;
};

using Dimensions = std::vector<int64_t>;

// The value of an expression as JAX prints it: sums and products of integers and variables, powers,
// floordiv, mod, max, min and non_negative, of the integers of Python. Input errors: a variable
// without value, no such expression, division by zero, overflow.
Result<int64_t> EvaluateDimension(std::string_view text,
                                  std::span<const DimensionVariable> variables);

// The dimension variables of all arguments, each once, in the order in which they occur.
std::vector<std::string> DimensionVariablesOf(const JaxExport& exported);

// The dimensions of every argument. `known` are those of arrays that are given for the first ones
// of them (nullopt: none is), from which variables get their values too. Input errors: a variable
// without value, one that does not occur, an array of other dimensions.
Result<std::vector<Dimensions>> ResolveShapes(const JaxExport& exported,
                                              std::vector<DimensionVariable> variables,
                                              std::span<const std::optional<Dimensions>> known);

}  // namespace hloscope::dump
