// Archive functions of the types a module is made of, one per type; see byte_archive.h.
#pragma once

#include <tuple>

#include "core/base/byte_archive.h"
#include "core/hlo/module.h"
#include "core/hlo/module_image.h"

namespace hloscope::hlo {

template <typename A>
void Archive(A& a, Archived<A, Tile>& v) {
  a(v.dimensions);
}
template <typename A>
void Archive(A& a, Archived<A, SplitConfig>& v) {
  a(v.dimension, v.split_indices);
}
template <typename A>
void Archive(A& a, Archived<A, Window>& v) {
  a(v.dimensions);
}
template <typename A>
void Archive(A& a, Archived<A, ConvolutionDims>& v) {
  a(v.input_batch, v.input_feature, v.kernel_input_feature, v.kernel_output_feature);
  a(v.output_batch, v.output_feature, v.input_spatial, v.kernel_spatial, v.output_spatial);
}
template <typename A>
void Archive(A& a, Archived<A, IotaTile>& v) {
  a(v.reshape_dims, v.transpose);
}
template <typename A>
void Archive(A& a, Archived<A, TileAssignment>& v) {
  a(v.dimensions, v.iota, v.devices);
}
template <typename A>
void Archive(A& a, Archived<A, Mesh>& v) {
  a(v.axes, v.iota, v.device_ids, v.maximal);
}
template <typename A>
void Archive(A& a, Archived<A, DimensionSharding>& v) {
  a(v.axes, v.is_closed);
}
template <typename A>
void Archive(A& a, Archived<A, ShardingMetadata>& v) {
  a(v.text);
}
template <typename A>
void Archive(A& a, Archived<A, Sharding>& v) {
  if constexpr (!A::kWrites) {
    if (!a.Enter()) return;
  }
  a(v.kind, v.maximal_device, v.tiles, v.replicate_on_last_tile_dim, v.last_tile_dims, v.mesh);
  a(v.dimensions, v.replicated_axes, v.unreduced_axes, v.unreduced_operation, v.manual_axes);
  a(v.elements, v.metadata, v.shard_as, v.shard_like);
  if constexpr (!A::kWrites) a.Leave();
}
template <typename A>
void Archive(A& a, Archived<A, DeviceList>& v) {
  a(v.form, v.groups, v.group_count, v.group_size, v.iota, v.mesh, v.axes);
}
template <typename A>
void Archive(A& a, Archived<A, Domain>& v) {
  a(v.kind, v.entry, v.exit);
}
template <typename A>
void Archive(A& a, Archived<A, FrontendAttributes>& v) {
  a(v.entries);
}
template <typename A>
void Archive(A& a, Archived<A, OutputOperandAlias>& v) {
  a(v.output_index, v.operand, v.operand_index);
}
template <typename A>
void Archive(A& a, Archived<A, OutputOperandAliasing>& v) {
  a(v.entries);
}
template <typename A>
void Archive(A& a, Archived<A, Statistics>& v) {
  a(v.visualizing_index, v.values);
}
template <typename A>
void Archive(A& a, Archived<A, OriginalArray>& v) {
  a(v.instruction, v.index);
}
template <typename A>
void Archive(A& a, Archived<A, OriginalValue::Node>& v) {
  if constexpr (!A::kWrites) {
    if (!a.Enter()) return;
  }
  a(v.is_tuple, v.array, v.children);
  if constexpr (!A::kWrites) a.Leave();
}
template <typename A>
void Archive(A& a, Archived<A, OriginalValue>& v) {
  a(v.synthetic_call, v.root);
}
template <typename A>
void Archive(A& a, Archived<A, InputOutputAlias>& v) {
  a(v.output_index, v.parameter, v.parameter_index, v.must_alias);
}
template <typename A>
void Archive(A& a, Archived<A, BufferDonor>& v) {
  a(v.parameter, v.parameter_index);
}
template <typename A>
void Archive(A& a, Archived<A, EntryLayout>& v) {
  a(v.parameters, v.result);
}
template <typename A>
void Archive(A& a, Archived<A, StackFrames>& v) {
  a(v.file_names, v.function_names, v.locations, v.frames);
}
template <typename A>
void Archive(A& a, Archived<A, UnknownFields>& v) {
  a(v.kind, v.index, v.bytes);
}
template <typename A>
void Archive(A& a, Archived<A, ModuleHeader>& v) {
  a(v.name, v.is_scheduled, v.alias_passthrough_params, v.replica_count, v.num_partitions);
  a(v.entry_layout, v.input_output_alias, v.buffer_donors);
  a(v.allow_spmd_sharding_propagation_to_parameters, v.allow_spmd_sharding_propagation_to_output);
  a(v.is_partitioned, v.spmd_output_sharding, v.frontend_attributes, v.origin_recovery_table);
  a(v.debug_attributes, v.unknown, v.stack_frames, v.proto_id);
}
template <typename A, typename... T>
void ArchivePools(A& a, std::tuple<std::vector<T>...>& pools) {
  std::apply([&a](auto&... pool) { a(pool...); }, pools);
}
template <typename A, typename... T>
void ArchivePools(A& a, const std::tuple<std::vector<T>...>& pools) {
  std::apply([&a](const auto&... pool) { a(pool...); }, pools);
}

}  // namespace hloscope::hlo
