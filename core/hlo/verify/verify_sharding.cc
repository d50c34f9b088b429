// Shardings fit the shapes they are put on and the devices of the module (XLA:
// HloSharding::Validate).
#include "core/hlo/verify/verify_sharding.h"

#include <algorithm>

#include "core/base/checked.h"
#include "core/base/counted.h"

namespace hloscope::hlo {
namespace {

using std::to_string;

// Lists longer than this are not expanded to be compared.
constexpr int64_t kLongestExpansion = 1 << 16;

// Device counts of the module. Where the header says one device, XLA does not check; strict mode
// does.
struct Devices {
  int64_t count;
  bool certain;
};

// What is wrong, and whether XLA's default verifier says so too.
struct Problem {
  std::string text;
  bool strict_only = false;
};
using Found = std::optional<Problem>;

Found Bad(std::string text) { return Problem{std::move(text), false}; }

Found CheckDevice(int64_t device, const Devices& devices) {
  if (device < 0) return Bad("device " + to_string(device) + " is negative");
  if (device < devices.count) return std::nullopt;
  return Problem{"device " + to_string(device) + " does not exist: the module has " +
                     Counted(devices.count, "partition"),
                 !devices.certain};
}

Found CheckCount(int64_t count, const Devices& devices) {
  if (count == devices.count) return std::nullopt;
  return Problem{"it has " + Counted(count, "device") + ", but the module has " +
                     Counted(devices.count, "partition"),
                 !devices.certain};
}

Found CheckDeviceList(const std::vector<int64_t>& list, const Devices& devices) {
  Found doubtful;
  std::vector<int64_t> sorted(list);
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i + 1 < sorted.size(); ++i) {
    if (sorted[i] == sorted[i + 1]) {
      return Bad("device " + to_string(sorted[i]) + " is not unique in the tile assignment");
    }
  }
  for (int64_t device : {sorted.empty() ? 0 : sorted.front(), sorted.empty() ? 0 : sorted.back()}) {
    Found found = CheckDevice(device, devices);
    if (found && !found->strict_only) return found;
    if (found) doubtful = found;
  }
  if (doubtful) return doubtful;
  return CheckCount(static_cast<int64_t>(list.size()), devices);
}

size_t SubgroupDimensions(const Sharding& sharding) {
  return (sharding.replicate_on_last_tile_dim ? 1 : 0) + sharding.last_tile_dims.size();
}

Found CheckIota(const IotaTile& iota, int64_t count) {
  if (IsSoundIota(iota, count)) return std::nullopt;
  return Bad(
      "its device iota does not have one element for each tile, or its transpose is not a "
      "permutation");
}

Found CheckRank(size_t data_rank, const Shape& shape) {
  if (data_rank == shape.rank()) return std::nullopt;
  return Bad("it tiles " + to_string(data_rank) +
             " dimensions (without subgroups), but the shape has rank " + to_string(shape.rank()));
}

Found CheckTiled(const Sharding& sharding, const Shape& shape, const Devices& devices) {
  const TileAssignment& tiles = sharding.tiles;
  auto count = CheckedProduct(tiles.dimensions);
  if (!count || *count < 1) return Bad("its tile assignment has no valid number of devices");
  if (tiles.iota) {
    if (Found found = CheckIota(*tiles.iota, *count)) return found;
  } else if (static_cast<int64_t>(tiles.devices.size()) != *count) {
    return Bad("it lists " + Counted(tiles.devices.size(), "device") + " for " +
               Counted(*count, "tile"));
  }
  if (*count == 1) return std::nullopt;  // XLA reads it as replicated
  size_t subgroups = SubgroupDimensions(sharding);
  if (tiles.dimensions.size() < subgroups) return Bad("it has more subgroups than dimensions");
  if (Found found = CheckRank(tiles.dimensions.size() - subgroups, shape)) return found;
  if (tiles.iota) return CheckCount(*count, devices);
  return CheckDeviceList(tiles.devices, devices);
}

Found CheckAxes(const Mesh& mesh, const std::vector<AxisRef>& axes) {
  if (AxesSize(mesh, axes).has_value()) return std::nullopt;
  return Bad(
      "it uses an axis that its mesh does not have, or a sub-axis that does not divide its axis");
}

Found CheckNamed(const Sharding& sharding, const Shape& shape, const Devices& devices) {
  const Mesh& mesh = sharding.mesh;
  if (mesh.maximal || mesh.axes.empty()) {
    if (mesh.device_ids.empty()) return std::nullopt;
    return CheckDevice(mesh.device_ids[0], devices);
  }
  auto count = DeviceCount(mesh);
  if (!count || *count < 1) return Bad("its mesh has no valid number of devices");
  if (mesh.iota) {
    if (Found found = CheckIota(*mesh.iota, *count)) return found;
  } else if (!mesh.device_ids.empty() && static_cast<int64_t>(mesh.device_ids.size()) != *count) {
    return Bad("its mesh lists " + to_string(mesh.device_ids.size()) + " devices for " +
               to_string(*count));
  }
  bool used = false;
  for (const DimensionSharding& dimension : sharding.dimensions) {
    used |= !dimension.axes.empty();
    if (Found found = CheckAxes(mesh, dimension.axes)) return found;
  }
  for (const auto* axes :
       {&sharding.replicated_axes, &sharding.unreduced_axes, &sharding.manual_axes}) {
    if (Found found = CheckAxes(mesh, *axes)) return found;
  }
  if (!used || *count == 1) return std::nullopt;
  if (Found found = CheckRank(sharding.dimensions.size(), shape)) return found;
  return CheckCount(*count, devices);
}

Found CheckLeaf(const Sharding& sharding, const Shape& shape, const Devices& devices) {
  switch (sharding.kind) {
    case ShardingKind::kTuple:
      return Bad("it is a tuple sharding inside a tuple sharding");
    case ShardingKind::kMaximal:
      return CheckDevice(sharding.maximal_device, devices);
    case ShardingKind::kTiled:
      return CheckTiled(sharding, shape, devices);
    case ShardingKind::kNamed:
      return CheckNamed(sharding, shape, devices);
    default:
      return std::nullopt;
  }
}

// Leaves of a shape as shardings count them: arrays, tokens and empty tuples.
void ForEachLeaf(const Shape& shape, auto&& visit) {
  ForEachSubshape(shape, [&](const Shape& part, std::span<const int64_t>) {
    if (!part.IsTuple() || part.elements().empty()) visit(part);
  });
}

Found CheckTuple(const Sharding& sharding, const Shape& shape, const Devices& devices) {
  size_t leaves = 0;
  ForEachLeaf(shape, [&](const Shape&) { ++leaves; });
  if (leaves != sharding.elements.size()) {
    return Bad("it has " + Counted(sharding.elements.size(), "element") + ", but the shape has " +
               Counted(leaves, "leaf", "leaves"));
  }
  Found first;
  size_t n = 0;
  ForEachLeaf(shape, [&](const Shape& leaf) {
    const Sharding& element = sharding.elements[n++];
    if (first && !first->strict_only) return;
    if (leaf.IsTuple() || leaf.IsToken()) return;
    Found found = CheckLeaf(element, leaf, devices);
    if (found) first = found;
  });
  return first;
}

Found CheckSharding(const Sharding& sharding, const Shape& shape, const Devices& devices) {
  if (shape.IsToken()) return std::nullopt;
  if (sharding.kind == ShardingKind::kTuple) return CheckTuple(sharding, shape, devices);
  if (shape.IsTuple()) return Bad("the shape is a tuple, but the sharding is not");
  return CheckLeaf(sharding, shape, devices);
}

// Device `index` of an iota, row-major over the transposed dimensions.
std::vector<int64_t> Expand(const TileAssignment& tiles) {
  if (!tiles.iota) return tiles.devices;
  const IotaTile& iota = *tiles.iota;
  size_t rank = iota.reshape_dims.size();
  std::vector<int64_t> strides(rank, 1), order(rank), index(rank), devices;
  for (size_t d = rank; d-- > 1;) strides[d - 1] = strides[d] * iota.reshape_dims[d];
  for (size_t d = 0; d < rank; ++d) {
    order[d] = iota.transpose.empty() ? static_cast<int64_t>(d) : iota.transpose[d];
  }
  int64_t count = CheckedProduct(iota.reshape_dims).value_or(0);
  for (int64_t k = 0; k < count; ++k) {
    int64_t device = 0;
    for (size_t d = 0; d < rank; ++d) device += index[d] * strides[static_cast<size_t>(order[d])];
    devices.push_back(device);
    for (size_t d = rank; d-- > 0;) {
      if (++index[d] < iota.reshape_dims[static_cast<size_t>(order[d])]) break;
      index[d] = 0;
    }
  }
  return devices;
}

bool SameTiles(VerifyContext& context, const TileAssignment& a, const TileAssignment& b) {
  if (a == b) return true;
  if (a.dimensions != b.dimensions) return false;
  if (!a.iota && !b.iota) return a.devices == b.devices;
  auto count = CheckedProduct(a.dimensions);
  if (!count || (a.iota && !IsSoundIota(*a.iota, *count)) ||
      (b.iota && !IsSoundIota(*b.iota, *count))) {
    return true;  // VerifySharding says what is wrong
  }
  if (a.iota && b.iota) {
    IotaTile left = *a.iota, right = *b.iota;
    Canonicalize(left);
    Canonicalize(right);
    return left == right;
  }
  if (*count > kLongestExpansion || !context.Spend(*count)) return true;
  return Expand(a) == Expand(b);
}

// Equal but for metadata and spelling.
bool SameLeafSharding(VerifyContext& context, const Sharding& a, const Sharding& b) {
  return a.kind == b.kind && a.maximal_device == b.maximal_device &&
         SameTiles(context, a.tiles, b.tiles) &&
         a.replicate_on_last_tile_dim == b.replicate_on_last_tile_dim &&
         a.last_tile_dims == b.last_tile_dims && a.mesh == b.mesh && a.dimensions == b.dimensions &&
         a.replicated_axes == b.replicated_axes && a.unreduced_axes == b.unreduced_axes &&
         a.manual_axes == b.manual_axes && a.shard_as == b.shard_as && a.shard_like == b.shard_like;
}

bool SameSharding(VerifyContext& context, const Sharding& a, const Sharding& b) {
  if (!SameLeafSharding(context, a, b) || a.elements.size() != b.elements.size()) return false;
  for (size_t e = 0; e < a.elements.size(); ++e) {
    if (!SameLeafSharding(context, a.elements[e], b.elements[e])) return false;
  }
  return true;
}

}  // namespace

bool IsSoundIota(const IotaTile& iota, int64_t count) {
  auto product = CheckedProduct(iota.reshape_dims);
  if (!product || *product != count) return false;
  size_t rank = iota.reshape_dims.size();
  if (iota.transpose.empty()) return true;
  if (iota.transpose.size() != rank) return false;
  std::vector<bool> seen(rank);
  for (int64_t d : iota.transpose) {
    if (d < 0 || static_cast<size_t>(d) >= rank || seen[static_cast<size_t>(d)]) return false;
    seen[static_cast<size_t>(d)] = true;
  }
  return true;
}

std::optional<int64_t> AxesSize(const Mesh& mesh, const std::vector<AxisRef>& axes) {
  std::vector<int64_t> sizes;
  for (const AxisRef& ref : axes) {
    if (ref.axis < 0 || static_cast<size_t>(ref.axis) >= mesh.axes.size()) return std::nullopt;
    int64_t whole = mesh.axes[static_cast<size_t>(ref.axis)].second;
    if (ref.size == 0) {
      sizes.push_back(whole);
      continue;
    }
    auto used = CheckedMul(std::max<int64_t>(ref.pre_size, 1), ref.size);
    if (ref.size < 1 || !used || *used > whole || whole % *used != 0) return std::nullopt;
    sizes.push_back(ref.size);
  }
  return CheckedProduct(sizes);
}

void VerifyConsistentSharding(VerifyContext& context, InstructionId at,
                              const std::vector<InstructionId>& instructions) {
  const Module& module = context.module();
  InstructionId first;
  const Sharding* common = nullptr;
  for (InstructionId id : instructions) {
    const auto* sharding = module.Get<Sharding>(module[id], AttributeKey::kSharding);
    if (sharding == nullptr) continue;
    if (common == nullptr) {
      common = sharding;
      first = id;
    } else if (!SameSharding(context, *common, *sharding)) {
      context.Error(at, "sharding",
                    context.Name(at) + ": " + context.Name(first) + " and " + context.Name(id) +
                        " have different shardings, expected the same");
      return;
    }
  }
}

void VerifySharding(VerifyContext& context) {
  const Module& module = context.module();
  Devices devices{module.header().num_partitions, module.header().num_partitions > 1};
  for (uint32_t k = 0; k < module.instructions().size() && !context.full(); ++k) {
    const Instruction& i = module.instructions()[k];
    const Attribute* attribute = module.Find(i, AttributeKey::kSharding);
    if (attribute == nullptr) continue;
    InstructionId id(k);
    Found found = CheckSharding(module.Of<Sharding>(*attribute), module.shape(id), devices);
    if (!found) continue;
    std::string message = "the sharding of " + context.Name(id) + ", " + context.Text(id) +
                          ", does not fit: " + found->text;
    if (found->strict_only) {
      context.Strict(id, "sharding-devices", std::move(message),
                     "set num_partitions of the module");
    } else {
      context.Error(id, "sharding", std::move(message));
    }
  }
}

}  // namespace hloscope::hlo
