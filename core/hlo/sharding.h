// How values and collectives are spread over devices: Sharding (XLA's V1 lists, V2 iota tiles, V3
// named meshes) and DeviceList (replica groups). Large lists given as iota stay symbolic; nothing
// here is as big as its device count unless the file lists every device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hloscope::hlo {

// `[reshape_dims]T(transpose)` of an iota: device ids 0..n-1 reshaped, then transposed. Empty
// transpose: identity.
struct IotaTile {
  std::vector<int64_t> reshape_dims;
  std::vector<int64_t> transpose;
  bool operator==(const IotaTile&) const = default;
};

// An array of device ids with the given dimensions: iota or listed in row-major order.
struct TileAssignment {
  std::vector<int64_t> dimensions;
  std::optional<IotaTile> iota;
  std::vector<int64_t> devices;  // used where iota is absent
  bool operator==(const TileAssignment&) const = default;
};

// mesh["x"=4,"y"=2], optionally with device_ids.
struct Mesh {
  std::vector<std::pair<std::string, int64_t>> axes;
  std::optional<IotaTile> iota;     // device order other than 0..n-1, given as iota
  std::vector<int64_t> device_ids;  // device order given as a list
  bool maximal = false;             // one device (device_ids has it)
  bool operator==(const Mesh&) const = default;
};

// An axis of a mesh, or the part "x":(pre_size)size of it (size 0: the whole axis).
struct AxisRef {
  int64_t axis = 0;  // index into Mesh::axes
  int64_t pre_size = 0;
  int64_t size = 0;
  bool operator==(const AxisRef&) const = default;
};

struct DimensionSharding {
  std::vector<AxisRef> axes;
  bool is_closed = true;  // false: printed with a trailing `?`
  bool operator==(const DimensionSharding&) const = default;
};

// xla.OpMetadata of a sharding, verbatim between its braces.
struct ShardingMetadata {
  std::string text;
  bool operator==(const ShardingMetadata&) const = default;
};

enum class ShardingKind : uint8_t {
  kReplicated,
  kMaximal,
  kTuple,
  kTiled,
  kManual,
  kUnknown,
  kUnreduced,
  kNamed
};
// What the devices along a subgroup dimension do.
enum class SubgroupKind : uint8_t { kReplicated, kManual, kUnreduced, kUnknown, kMaximal };

struct Sharding {
  ShardingKind kind = ShardingKind::kReplicated;
  int64_t maximal_device = 0;
  // kTiled
  TileAssignment tiles;
  bool replicate_on_last_tile_dim = false;
  std::vector<SubgroupKind> last_tile_dims;
  // kNamed
  Mesh mesh;
  std::vector<DimensionSharding> dimensions;
  std::vector<AxisRef> replicated_axes;
  std::vector<AxisRef> unreduced_axes;
  std::string unreduced_operation;  // "sum", "min", "max" or empty
  std::vector<AxisRef> manual_axes;
  // kTuple: one per leaf
  std::vector<Sharding> elements;
  // any kind
  std::vector<ShardingMetadata> metadata;
  std::optional<int64_t> shard_as;
  std::optional<int64_t> shard_like;
  bool operator==(const Sharding&) const = default;
};

// replica_groups of a collective.
struct DeviceList {
  enum class Form : uint8_t { kGroups, kIota, kMesh };
  Form form = Form::kGroups;
  std::vector<std::vector<int64_t>> groups;  // kGroups; empty: all devices in one group
  int64_t group_count = 0;                   // kIota: [group_count,group_size]<=[…]T(…)
  int64_t group_size = 0;
  IotaTile iota;
  Mesh mesh;  // kMesh: the axes that are reduced over
  std::vector<AxisRef> axes;
  bool operator==(const DeviceList&) const = default;
};

// The number of devices, the product of the dimensions; nullopt on overflow or a negative one.
std::optional<int64_t> DeviceCount(const TileAssignment& tiles);
std::optional<int64_t> DeviceCount(const Mesh& mesh);

// Brings an iota to the one shortest form XLA keeps: no dimensions of size 1, neighbours that stay
// neighbours merged, no transpose for a single dimension. The transpose must be a permutation.
void Canonicalize(IotaTile& iota);

// Brings a tiled sharding to XLA's form: subgroup dimensions of one kind merged and in order,
// replicated ones sorted and last, shardings that are plainly replicated, manual or unreduced said
// so. Iotas stay symbolic where they can; more than a million devices are left as they are where
// they cannot. There must not be more subgroup dimensions than tile dimensions, nor more listed
// devices than DeviceCount says.
void Canonicalize(Sharding& sharding);

}  // namespace hloscope::hlo
