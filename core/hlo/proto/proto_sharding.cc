// Shardings in protos.
#include <fmt/format.h>

#include "core/hlo/proto/proto_fields.h"
#include "core/hlo/proto/proto_values.h"

namespace hloscope::hlo {
namespace {

// OpSharding.Type.
enum : int64_t {
  kTypeReplicated = 0,
  kTypeMaximal = 1,
  kTypeTuple = 2,
  kTypeOther = 3,
  kTypeManual = 4,
  kTypeUnknown = 5,
  kTypeUnreduced = 6
};

Result<ShardingKind> KindOf(int64_t type) {
  switch (type) {
    case kTypeReplicated:
      return ShardingKind::kReplicated;
    case kTypeMaximal:
      return ShardingKind::kMaximal;
    case kTypeTuple:
      return ShardingKind::kTuple;
    case kTypeOther:
      return ShardingKind::kTiled;
    case kTypeManual:
      return ShardingKind::kManual;
    case kTypeUnknown:
      return ShardingKind::kUnknown;
    case kTypeUnreduced:
      return ShardingKind::kUnreduced;
    default:
      return InputError(fmt::format("sharding type {} is unknown", type));
  }
}

int64_t TypeOf(ShardingKind kind) {
  switch (kind) {
    case ShardingKind::kMaximal:
      return kTypeMaximal;
    case ShardingKind::kTuple:
      return kTypeTuple;
    case ShardingKind::kTiled:
      return kTypeOther;
    case ShardingKind::kManual:
      return kTypeManual;
    case ShardingKind::kUnknown:
      return kTypeUnknown;
    case ShardingKind::kUnreduced:
      return kTypeUnreduced;
    default:
      return kTypeReplicated;
  }
}

Result<SubgroupKind> SubgroupOf(int64_t type) {
  switch (type) {
    case kTypeReplicated:
      return SubgroupKind::kReplicated;
    case kTypeManual:
      return SubgroupKind::kManual;
    case kTypeUnreduced:
      return SubgroupKind::kUnreduced;
    case kTypeUnknown:
      return SubgroupKind::kUnknown;
    default:
      return InputError(fmt::format("sharding subgroup type {} is unknown", type));
  }
}

int64_t TypeOf(SubgroupKind kind) {
  switch (kind) {
    case SubgroupKind::kManual:
      return kTypeManual;
    case SubgroupKind::kUnreduced:
      return kTypeUnreduced;
    case SubgroupKind::kUnknown:
      return kTypeUnknown;
    default:
      return kTypeReplicated;
  }
}

Result<DimensionSharding> ReadDimensionSharding(std::string_view bytes) {
  using namespace DimensionShardingField;
  DimensionSharding dimension;
  dimension.is_closed = false;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(kIsClosed)) dimension.is_closed = field.AsBool();
    if (field.tag == AsBytes(kAxes)) HLOSCOPE_TRY(AppendAxisRef(dimension.axes, field.bytes));
  }
  if (!reader.ok()) return Malformed("NamedShardingProto.DimensionSharding");
  return dimension;
}

Status AppendMetadata(Sharding& sharding, std::string_view bytes) {
  HLOSCOPE_ASSIGN_OR_RETURN(std::string text, ReadMetadataText(bytes));
  sharding.metadata.push_back({std::move(text)});
  return {};
}

Status ReadNamed(std::string_view bytes, Sharding& sharding) {
  using namespace NamedShardingField;
  sharding.kind = ShardingKind::kNamed;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(kMesh)) {
      HLOSCOPE_ASSIGN_OR_RETURN(sharding.mesh, ReadMesh(field.bytes));
    } else if (field.tag == AsBytes(kDimShardings)) {
      HLOSCOPE_ASSIGN_OR_RETURN(DimensionSharding d, ReadDimensionSharding(field.bytes));
      sharding.dimensions.push_back(std::move(d));
    } else if (field.tag == AsBytes(kReplicatedAxes)) {
      HLOSCOPE_TRY(AppendAxisRef(sharding.replicated_axes, field.bytes));
    } else if (field.tag == AsBytes(kUnreducedAxes)) {
      HLOSCOPE_TRY(AppendAxisRef(sharding.unreduced_axes, field.bytes));
    } else if (field.tag == AsBytes(kManualAxes)) {
      HLOSCOPE_TRY(AppendAxisRef(sharding.manual_axes, field.bytes));
    } else if (field.tag == AsBytes(kMetadata)) {
      HLOSCOPE_TRY(AppendMetadata(sharding, field.bytes));
    }
  }
  if (!reader.ok()) return Malformed("NamedShardingProto");
  return {};
}

class ShardingReader {
 public:
  ShardingReader(const Limits& limits, int64_t depth) : limits_(limits), depth_(depth) {}

  Result<Sharding> Read(std::string_view bytes) {
    HLOSCOPE_TRY(CheckDepth(depth_, limits_));
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) HLOSCOPE_TRY(Take(field));
    if (!reader.ok()) return Malformed("OpSharding");
    if (!named_.empty()) {
      HLOSCOPE_TRY(ReadNamed(named_, sharding_));
    } else {
      HLOSCOPE_ASSIGN_OR_RETURN(sharding_.kind, KindOf(type_));
      HLOSCOPE_TRY(Finish());
    }
    return std::move(sharding_);
  }

 private:
  Status Take(const WireField& field) {
    using namespace ShardingField;
    switch (field.number()) {
      case kTileAssignmentDimensions:
        return TakeInts(field, sharding_.tiles.dimensions);
      case kTileAssignmentDevices:
        return TakeInts(field, sharding_.tiles.devices);
      case kLastTileDims:
        return TakeInts(field, last_tile_dims_);
      case kIotaReshapeDims:
        return TakeInts(field, iota_.reshape_dims);
      case kIotaTransposePerm:
        return TakeInts(field, iota_.transpose);
      default:
        return (field.tag & 7) == 2 ? TakeMessage(field) : TakeNumber(field);
    }
  }

  Status TakeNumber(const WireField& field) {
    using namespace ShardingField;
    switch (field.tag) {
      case AsVarint(kType):
        type_ = field.AsInt64();
        return {};
      case AsVarint(kReplicateOnLastTileDim):
        sharding_.replicate_on_last_tile_dim = field.AsBool();
        return {};
      case AsVarint(kIsShardGroup):
        is_group_ = field.AsBool();
        return {};
      case AsVarint(kShardGroupId):
        group_ = field.AsInt64();
        return {};
      case AsVarint(kShardGroupType):
        group_is_like_ = field.AsInt64() == 1;
        return {};
      default:
        return {};
    }
  }

  Status TakeMessage(const WireField& field) {
    using namespace ShardingField;
    switch (field.number()) {
      case kTupleShardings: {
        HLOSCOPE_ASSIGN_OR_RETURN(Sharding element, ReadSharding(field.bytes, limits_, depth_ + 1));
        sharding_.elements.push_back(std::move(element));
        return {};
      }
      case kMetadata:
        return AppendMetadata(sharding_, field.bytes);
      case kNamedSharding:
        named_ = field.bytes;
        return {};
      default:
        return {};
    }
  }

  Status Finish() {
    for (int64_t type : last_tile_dims_) {
      HLOSCOPE_ASSIGN_OR_RETURN(SubgroupKind kind, SubgroupOf(type));
      sharding_.last_tile_dims.push_back(kind);
    }
    if (!iota_.reshape_dims.empty()) {
      NormalizeIota(iota_);
      sharding_.tiles.iota = std::move(iota_);
    }
    if (sharding_.kind == ShardingKind::kMaximal) {
      if (sharding_.tiles.devices.size() == 1) {
        sharding_.maximal_device = sharding_.tiles.devices[0];
      }
      sharding_.tiles = {};
    }
    if (is_group_) (group_is_like_ ? sharding_.shard_like : sharding_.shard_as) = group_;
    return {};
  }

  static Status TakeInts(const WireField& field, std::vector<int64_t>& values) {
    if (!AppendInts(field, values)) return Malformed("OpSharding");
    return {};
  }

  const Limits& limits_;
  int64_t depth_;
  Sharding sharding_;
  IotaTile iota_;
  std::vector<int64_t> last_tile_dims_;
  std::string_view named_;
  int64_t type_ = kTypeReplicated;
  int64_t group_ = 0;
  bool is_group_ = false;
  bool group_is_like_ = false;
};

void WriteMetadata(WireWriter& out, uint32_t number, const Sharding& sharding) {
  for (const ShardingMetadata& metadata : sharding.metadata) {
    auto mark = out.Open(number);
    WriteMetadataText(out, metadata.text);
    out.Close(mark);
  }
}

void WriteNamed(WireWriter& out, const Sharding& sharding) {
  using namespace NamedShardingField;
  auto named = out.Open(ShardingField::kNamedSharding);
  auto mesh = out.Open(kMesh);
  WriteMesh(out, sharding.mesh);
  out.Close(mesh);
  for (const DimensionSharding& dimension : sharding.dimensions) {
    auto mark = out.Open(kDimShardings);
    WriteAxisRefs(out, DimensionShardingField::kAxes, dimension.axes);
    out.BoolUnlessFalse(DimensionShardingField::kIsClosed, dimension.is_closed);
    out.Close(mark);
  }
  WriteAxisRefs(out, kReplicatedAxes, sharding.replicated_axes);
  WriteAxisRefs(out, kUnreducedAxes, sharding.unreduced_axes);
  WriteMetadata(out, kMetadata, sharding);
  WriteAxisRefs(out, kManualAxes, sharding.manual_axes);
  out.Close(named);
}

void WriteTiles(WireWriter& out, const Sharding& sharding) {
  using namespace ShardingField;
  out.PackedInts(kTileAssignmentDimensions, sharding.tiles.dimensions);
  if (sharding.tiles.iota) {
    out.PackedInts(kIotaReshapeDims, sharding.tiles.iota->reshape_dims);
    out.PackedInts(kIotaTransposePerm, FullTranspose(*sharding.tiles.iota));
  } else {
    out.PackedInts(kTileAssignmentDevices, sharding.tiles.devices);
  }
  out.BoolUnlessFalse(kReplicateOnLastTileDim, sharding.replicate_on_last_tile_dim);
  std::vector<int64_t> last;
  last.reserve(sharding.last_tile_dims.size());
  for (SubgroupKind kind : sharding.last_tile_dims) last.push_back(TypeOf(kind));
  out.PackedInts(kLastTileDims, last);
}

}  // namespace

Result<Sharding> ReadSharding(std::string_view bytes, const Limits& limits, int64_t depth) {
  return ShardingReader(limits, depth).Read(bytes);
}

void WriteSharding(WireWriter& out, const Sharding& sharding) {
  using namespace ShardingField;
  if (sharding.kind == ShardingKind::kNamed) return WriteNamed(out, sharding);
  out.IntUnlessZero(kType, TypeOf(sharding.kind));
  if (sharding.kind == ShardingKind::kMaximal) {
    int64_t device = sharding.maximal_device;
    out.PackedInts(kTileAssignmentDevices, {&device, 1});
  }
  if (sharding.kind == ShardingKind::kTiled) WriteTiles(out, sharding);
  for (const Sharding& element : sharding.elements) {
    auto mark = out.Open(kTupleShardings);
    WriteSharding(out, element);
    out.Close(mark);
  }
  WriteMetadata(out, kMetadata, sharding);
  const auto& group = sharding.shard_as ? sharding.shard_as : sharding.shard_like;
  if (!group) return;
  out.Bool(kIsShardGroup, true);
  out.IntUnlessZero(kShardGroupId, *group);
  out.IntUnlessZero(kShardGroupType, sharding.shard_as ? 0 : 1);
}

}  // namespace hloscope::hlo
