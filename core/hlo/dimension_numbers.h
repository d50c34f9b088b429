// Dimension numbers, windows and group counts of instructions: the one place where their attributes
// are read and made. The structs are views of a module's attributes: they hold as long as the
// module, and of one that is being built until its builder makes another attribute.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/hlo/module.h"
#include "core/hlo/module_builder.h"

namespace hloscope::hlo {

/// One operand of a dot, scaled-dot or ragged-dot.
struct DotSide {
  std::span<const int64_t> batch, contracting;
  std::span<const int64_t> group = {};  // rhs_group_dims of a ragged-dot

  /// True for a dimension that is none of these; the result has it.
  bool IsFree(int64_t dimension) const;
  /// The free dimensions below `rank`, ascending.
  std::vector<int64_t> Free(size_t rank) const;
};

struct DotDims {
  DotSide lhs, rhs;
  std::span<const int64_t> lhs_ragged = {};  // lhs_ragged_dims of a ragged-dot

  const DotSide& side(size_t operand) const { return operand == 0 ? lhs : rhs; }
};

struct ConvDims {
  const ConvolutionDims* labels = nullptr;  // null where dim_labels is absent
  const Window* window = nullptr;           // null where window is absent
  int64_t feature_groups = 1, batch_groups = 1;
};

/// XLA: GatherDimensionNumbers, with the sizes of the slices.
struct GatherDims {
  std::span<const int64_t> offset_dims, collapsed_slice_dims, start_index_map;
  std::span<const int64_t> operand_batching_dims = {}, start_indices_batching_dims = {};
  int64_t index_vector_dim = 0;
  std::span<const int64_t> slice_sizes = {};

  /// The dimensions below the operand's rank that the result has as offsets, ascending.
  std::vector<size_t> WindowDims(size_t rank) const;
};

/// XLA: ScatterDimensionNumbers.
struct ScatterDims {
  std::span<const int64_t> update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims;
  std::span<const int64_t> input_batching_dims = {}, scatter_indices_batching_dims = {};
  int64_t index_vector_dim = 0;

  /// The dimensions below the operand's rank that update windows have, ascending.
  std::vector<size_t> WindowDims(size_t rank) const;
};

/// What the attributes of an instruction say; empty, null or 0 where they do not, and groups are 1.
DotDims DotDimsOf(const Module& module, std::span<const Attribute> attributes);
ConvDims ConvDimsOf(const Module& module, std::span<const Attribute> attributes);
GatherDims GatherDimsOf(const Module& module, std::span<const Attribute> attributes);
ScatterDims ScatterDimsOf(const Module& module, std::span<const Attribute> attributes);

inline DotDims DotDimsOf(const Module& module, InstructionId id) {
  return DotDimsOf(module, module.attributes(module[id]));
}
inline ConvDims ConvDimsOf(const Module& module, InstructionId id) {
  return ConvDimsOf(module, module.attributes(module[id]));
}
inline GatherDims GatherDimsOf(const Module& module, InstructionId id) {
  return GatherDimsOf(module, module.attributes(module[id]));
}
inline ScatterDims ScatterDimsOf(const Module& module, InstructionId id) {
  return ScatterDimsOf(module, module.attributes(module[id]));
}

/// The window attribute; null where it is absent.
inline const Window* FindWindow(const Module& module, InstructionId id) {
  return module.Get<Window>(module[id], AttributeKey::kWindow);
}
/// The first `rank` dimensions of a window; those that it does not have are trivial.
std::vector<WindowDimension> WindowDimensions(const Window* window, size_t rank);
/// Whether some of `taps` elements of a window, at `places` places along an input of that size, lie
/// outside of it or between its elements. A convolution has no product there.
bool HasGaps(const WindowDimension& window, int64_t input, int64_t taps, int64_t places);

/// The attributes that say these dimension numbers, which must not point into the builder's module.
std::vector<Attribute> MakeDotDims(ModuleBuilder& builder, const DotDims& dims);
std::vector<Attribute> MakeGatherDims(ModuleBuilder& builder, const GatherDims& dims);
std::vector<Attribute> MakeScatterDims(ModuleBuilder& builder, const ScatterDims& dims);

}  // namespace hloscope::hlo
