// Products of block-scaled matrices: one scale for every block of elements along the contracted
// dimension, which is the last of both sides.
#include <algorithm>
#include <vector>

#include "core/hlo/expand/call_config.h"
#include "core/hlo/expand/custom_calls.h"
#include "core/hlo/expand/expansion.h"
#include "core/hlo/expand/library_math.h"

namespace hloscope::hlo::expand {
namespace {

using Node = Expansion::Node;

// cuDNN wants scales in tiles of 128 rows and 4 columns, rows being 4 groups of 32.
constexpr int64_t kTileRows = 128, kTileColumns = 4, kTileGroup = 32;

// Scales as they were before they were cut into tiles ([…, C, 32, 4, 4] to […, 4, 32, C, 4]).
Node Untile(Expansion& x, Node scales) {
  const auto sizes = Dimensions(x.ShapeOf(scales));
  const size_t rank = sizes.size();
  const int64_t batch = rank == 3 ? sizes[0] : 1;
  const int64_t row_tiles = sizes[rank - 2] / kTileRows,
                column_tiles = sizes[rank - 1] / kTileColumns;
  const Node split = x.Reshape(
      scales, {batch, row_tiles, column_tiles, kTileGroup, kTileRows / kTileGroup, kTileColumns});
  return x.Reshape(x.Transpose(split, {0, 1, 4, 3, 2, 5}), sizes);
}

// value·scale with every scale repeated over its block. Scales may be padded behind.
Result<Node> Dequantise(const CallSite& call, Expansion& x, Node value, Node scales, bool tiled,
                        int64_t block) {
  const auto sizes = Dimensions(x.ShapeOf(value));
  auto scale_sizes = Dimensions(x.ShapeOf(scales));
  const size_t rank = sizes.size(), last = rank - 1;
  if (scale_sizes.size() != rank || rank < 2) {
    return Unsupported(call, "its scales do not have the dimensions of its matrices");
  }
  if (tiled && scale_sizes[rank - 2] % kTileRows == 0 && scale_sizes[last] % kTileColumns == 0) {
    scales = Untile(x, scales);
  }
  if (block <= 0) block = scale_sizes[last] == 0 ? 0 : sizes[last] / scale_sizes[last];
  if (block <= 0 || sizes[last] % block != 0) {
    return Unsupported(call, "its scales do not cover whole blocks");
  }
  std::vector<int64_t> wanted = sizes;
  wanted[last] = sizes[last] / block;
  for (size_t d = 0; d < rank; ++d) {
    if (scale_sizes[d] < wanted[d]) return Unsupported(call, "scales are missing");
  }
  if (scale_sizes != wanted) {
    const std::vector<int64_t> begin(rank, 0);
    scales = x.Slice(scales, begin, wanted);
  }
  std::vector<int64_t> spread = wanted, dimensions;
  spread.push_back(block);
  for (size_t d = 0; d < rank; ++d) dimensions.push_back(static_cast<int64_t>(d));
  const Node repeated =
      x.Reshape(x.Broadcast(x.Convert(scales, ElementType::kF64), spread, dimensions), sizes);
  return x.Binary(Opcode::kMultiply, x.Convert(value, ElementType::kF64), repeated);
}

Result<ModulePtr> ScaledProduct(const CallSite& call, bool tiled) {
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig whole, CallConfig::Of(call));
  if (call.operand_count() < 4) return Unsupported(call, "operands are missing");
  const CallConfig& config = whole.Section("block_scaled_dot_backend_config");
  const int64_t block = config.Integer("block_size", 0);
  Expansion x(call);
  HLOSCOPE_ASSIGN_OR_RETURN(const Node left,
                            Dequantise(call, x, x.Operand(0), x.Operand(2), tiled, block));
  HLOSCOPE_ASSIGN_OR_RETURN(const Node right,
                            Dequantise(call, x, x.Operand(1), x.Operand(3), tiled, block));
  const Shape a = x.ShapeOf(left), b = x.ShapeOf(right);
  const auto last = static_cast<int64_t>(a.rank()) - 1;
  if (a.rank() != b.rank() || a.rank() > 3 ||
      a.dimension(a.rank() - 1) != b.dimension(a.rank() - 1) ||
      (a.rank() == 3 && a.dimension(0) != b.dimension(0))) {
    return Unsupported(call, "its operands have incompatible shapes");
  }
  DotDimensions dims{{}, {last}, {}, {last}};
  if (a.rank() == 3) dims.lhs_batch = dims.rhs_batch = {0};
  return x.Build(x.Dot(left, right, dims, MainShape(call).element_type()));
}

}  // namespace

Result<ModulePtr> ExpandBlockScaledDot(const CallSite& call) { return ScaledProduct(call, false); }

Result<ModulePtr> ExpandCudnnBlockScaledDot(const CallSite& call) {
  return ScaledProduct(call, true);
}

namespace {

// Every dimension of the scales goes into that of the values without rest.
Result<Node> SpreadScales(const CallSite& call, Expansion& x, Node value, Node scales) {
  const auto sizes = Dimensions(x.ShapeOf(value)), have = Dimensions(x.ShapeOf(scales));
  if (have.size() != sizes.size()) {
    return Unsupported(call, "its scales do not have the dimensions of its matrices");
  }
  std::vector<int64_t> spread, dimensions;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (have[d] == 0 || sizes[d] % have[d] != 0) {
      return Unsupported(call, "its scales do not cover whole blocks");
    }
    dimensions.push_back(static_cast<int64_t>(spread.size()));
    spread.insert(spread.end(), {have[d], sizes[d] / have[d]});
  }
  const Node wide = x.Convert(scales, ElementType::kF64);
  const Node repeated = x.Reshape(x.Broadcast(wide, spread, dimensions), sizes);
  return x.Binary(Opcode::kMultiply, x.Convert(value, ElementType::kF64), repeated);
}

}  // namespace

// Sides, then their scales, one for every block of any dimensions; contracted as the config says.
Result<ModulePtr> ExpandCublasMxMatmul(const CallSite& call) {
  HLOSCOPE_ASSIGN_OR_RETURN(const CallConfig whole, CallConfig::Of(call));
  const CallConfig& config = whole.Section("gemm_backend_config");
  if (call.operand_count() != 4 || !config.Has("dot_dimension_numbers")) {
    return Unsupported(call, "it does not have two operands with scales and dot_dimension_numbers");
  }
  if (config.Number("alpha_real", 1) != 1 || config.Number("beta", 0) != 0) {
    return Unsupported(call, "alpha and beta are not supported");
  }
  Expansion x(call);
  HLOSCOPE_ASSIGN_OR_RETURN(const Node left, SpreadScales(call, x, x.Operand(0), x.Operand(2)));
  HLOSCOPE_ASSIGN_OR_RETURN(const Node right, SpreadScales(call, x, x.Operand(1), x.Operand(3)));
  return x.Build(x.Dot(left, right, ReadDotDimensions(config), MainShape(call).element_type()));
}

// values·scales, one scale per block of the last dimension.
Result<ModulePtr> ExpandDequantize(const CallSite& call) {
  if (call.operand_count() != 2) return Unsupported(call, "it does not have two operands");
  Expansion x(call);
  HLOSCOPE_ASSIGN_OR_RETURN(const Node value,
                            Dequantise(call, x, x.Operand(0), x.Operand(1), false, 0));
  return x.Build(x.Convert(value, MainShape(call).element_type()));
}

}  // namespace hloscope::hlo::expand
