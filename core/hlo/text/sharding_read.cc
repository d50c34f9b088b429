// Reading shardings: {replicated}, {devices=[2,2]<=[4]}, tuples of them; V3 is next door.
#include "core/base/counted.h"
#include "core/hlo/text/mesh_text.h"
#include "core/hlo/text/sharding_text.h"
#include "core/hlo/text/text_parts.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

Diagnostic BadSharding(uint64_t offset, std::string message, std::string hint = {}) {
  return TextCursor::Fail("sharding", std::move(message), offset, std::move(hint));
}

// Reads the items of one V1 or V2 sharding and puts them together.
class TiledShardingReader {
 public:
  explicit TiledShardingReader(TextCursor& cursor) : cursor_(cursor) {}

  Parsed<Sharding> Read() {
    start_ = (cursor_.SkipSpace(), cursor_.offset());
    while (!cursor_.Consume('}')) HLOSCOPE_TRY(ReadItem());
    HLOSCOPE_TRY(PutTogether());
    Canonicalize(sharding_);
    return std::move(sharding_);
  }

 private:
  Parsed<void> ReadItem() {
    if (cursor_.ConsumeAttributeName("devices")) return ReadTiles();
    if (cursor_.ConsumeAttributeName("device")) {
      HLOSCOPE_ASSIGN_OR_RETURN(int64_t device, ReadNumber(cursor_, "a device id", "sharding"));
      device_ = device;
      return {};
    }
    if (cursor_.ConsumeAttributeName("last_tile_dims")) return ReadSubgroups();
    if (cursor_.ConsumeAttributeName("metadata")) {
      return ReadShardingMetadata(cursor_, sharding_.metadata);
    }
    if (cursor_.ConsumeWord("last_tile_dim_replicate")) {
      sharding_.replicate_on_last_tile_dim = true;
      return {};
    }
    if (cursor_.ConsumeWord("shard_as")) return ReadGroup(sharding_.shard_as);
    if (cursor_.ConsumeWord("shard_like")) return ReadGroup(sharding_.shard_like);
    return ReadKind();
  }

  Parsed<void> ReadGroup(std::optional<int64_t>& group) {
    HLOSCOPE_ASSIGN_OR_RETURN(int64_t id, ReadNumber(cursor_, "a shard group", "sharding"));
    group = id;
    return {};
  }

  Parsed<void> ReadKind() {
    // Where several are given, XLA takes the first of this order.
    constexpr std::pair<std::string_view, ShardingKind> kKinds[] = {
        {"replicated", ShardingKind::kReplicated}, {"maximal", ShardingKind::kMaximal},
        {"manual", ShardingKind::kManual},         {"unknown", ShardingKind::kUnknown},
        {"unreduced", ShardingKind::kUnreduced},
    };
    for (size_t i = 0; i < std::size(kKinds); ++i) {
      if (!cursor_.ConsumeWord(kKinds[i].first)) continue;
      if (kind_rank_ && *kind_rank_ < i) return {};
      kind_rank_ = i;
      sharding_.kind = kKinds[i].second;
      return {};
    }
    return std::unexpected(cursor_.Expected(
        "replicated, manual, maximal, unknown, unreduced, devices=, metadata= or }", "sharding"));
  }

  // [2,2]0,1,2,3 or [2,2]<=[4] after devices=.
  Parsed<void> ReadTiles() {
    HLOSCOPE_TRY(Require(cursor_, '[', "[ of the tile dimensions", "sharding"));
    const uint64_t start = cursor_.offset();
    if (!sharding_.tiles.dimensions.empty()) {
      return std::unexpected(BadSharding(start, "devices= is given twice"));
    }
    TileAssignment& tiles = sharding_.tiles;
    HLOSCOPE_ASSIGN_OR_RETURN(tiles.dimensions, ReadNumbers(cursor_, ']', "a tile dimension"));
    const std::optional<int64_t> count = DeviceCount(tiles);
    if (!count) {
      return std::unexpected(BadSharding(start, "tile dimensions are negative or too large"));
    }
    if (cursor_.Consume("<=")) {
      HLOSCOPE_TRY(Require(cursor_, '[', "[ of an iota such as <=[8]", "sharding"));
      HLOSCOPE_ASSIGN_OR_RETURN(tiles.iota, ReadIota(cursor_, count));
      return {};
    }
    do {
      HLOSCOPE_ASSIGN_OR_RETURN(int64_t device, ReadNumber(cursor_, "a device id", "sharding"));
      tiles.devices.push_back(device);
    } while (cursor_.Consume(','));
    if (*count == static_cast<int64_t>(tiles.devices.size())) return {};
    return std::unexpected(
        BadSharding(start, "sharding lists " + std::to_string(tiles.devices.size()) +
                               " devices for " + std::to_string(*count) + " tiles"));
  }

  // {manual, replicated}
  Parsed<void> ReadSubgroups() {
    constexpr std::pair<std::string_view, SubgroupKind> kKinds[] = {
        {"replicated", SubgroupKind::kReplicated},
        {"manual", SubgroupKind::kManual},
        {"unreduced", SubgroupKind::kUnreduced},
        {"maximal", SubgroupKind::kMaximal},
    };
    HLOSCOPE_TRY(Require(cursor_, '{', "{ after last_tile_dims=", "sharding"));
    if (cursor_.Consume('}')) return {};
    do {
      const size_t before = sharding_.last_tile_dims.size();
      for (const auto& [word, kind] : kKinds) {
        if (cursor_.ConsumeWord(word)) sharding_.last_tile_dims.push_back(kind);
        if (sharding_.last_tile_dims.size() != before) break;
      }
      if (sharding_.last_tile_dims.size() == before) {
        return std::unexpected(
            cursor_.Expected("manual, replicated, unreduced or maximal", "sharding"));
      }
    } while (cursor_.Consume(','));
    return Require(cursor_, '}', "} after last_tile_dims", "sharding");
  }

  Parsed<void> PutTogether() {
    if (!kind_rank_) return FinishTiled();
    const std::vector<int64_t>& devices = sharding_.tiles.devices;
    if (!device_ && devices.size() == 1) device_ = devices[0];
    if (sharding_.kind == ShardingKind::kMaximal) {
      if (!device_) {
        return std::unexpected(
            BadSharding(start_, "maximal sharding has no device", "add device=0"));
      }
      sharding_.maximal_device = *device_;
    } else if (device_ || !devices.empty()) {
      return std::unexpected(BadSharding(start_, "sharding has devices, but its kind takes none"));
    }
    sharding_.tiles = {};
    sharding_.last_tile_dims.clear();
    sharding_.replicate_on_last_tile_dim = false;
    return {};
  }

  Parsed<void> FinishTiled() {
    sharding_.kind = ShardingKind::kTiled;
    const TileAssignment& tiles = sharding_.tiles;
    if (tiles.dimensions.empty()) {
      return std::unexpected(BadSharding(start_, "sharding has neither a kind nor devices",
                                         "write {replicated} or {devices=[…]…}"));
    }
    if (device_) {
      return std::unexpected(BadSharding(start_, "device= and devices= cannot be combined"));
    }
    if (!tiles.iota && tiles.devices.size() < 2) {
      return std::unexpected(BadSharding(
          start_,
          "sharding has " + Counted(tiles.devices.size(), "device") + ", expected more than one",
          "write {replicated} or {maximal device=…}"));
    }
    if (sharding_.replicate_on_last_tile_dim && !sharding_.last_tile_dims.empty()) {
      return std::unexpected(
          BadSharding(start_, "last_tile_dim_replicate and last_tile_dims cannot be combined"));
    }
    if (sharding_.last_tile_dims.size() > tiles.dimensions.size()) {
      return std::unexpected(BadSharding(
          start_, "last_tile_dims has " + std::to_string(sharding_.last_tile_dims.size()) +
                      " entries for " + std::to_string(tiles.dimensions.size()) +
                      " tile dimensions"));
    }
    return {};
  }

  TextCursor& cursor_;
  Sharding sharding_;
  uint64_t start_ = 0;
  std::optional<int64_t> device_;
  std::optional<size_t> kind_rank_;
};

// One sharding after its opening brace.
Parsed<Sharding> ReadSingle(TextCursor& cursor) {
  TextCursor ahead = cursor;
  std::string_view word = ahead.ReadWord();
  if (word != "mesh" && word != "maximal_mesh") return TiledShardingReader(cursor).Read();
  Sharding sharding;
  HLOSCOPE_TRY(ReadNamedSharding(cursor, sharding));
  return sharding;
}

}  // namespace

Parsed<Sharding> ReadSharding(TextCursor& cursor, const Limits& limits) {
  HLOSCOPE_TRY(Require(cursor, '{', "{ of a sharding such as {replicated}", "sharding"));
  const char next = cursor.Peek();
  if (next != '{' && next != '}') return ReadSingle(cursor);
  Sharding tuple;
  tuple.kind = ShardingKind::kTuple;
  if (cursor.Consume('}')) return tuple;
  do {
    if (static_cast<int64_t>(tuple.elements.size()) == limits.tuple_arity) {
      return std::unexpected(
          OverLimit(cursor, "shardings in a tuple", limits.tuple_arity, "tuple-arity"));
    }
    HLOSCOPE_TRY(Require(cursor, '{', "{ of a sharding", "sharding"));
    HLOSCOPE_ASSIGN_OR_RETURN(Sharding element, ReadSingle(cursor));
    tuple.elements.push_back(std::move(element));
  } while (cursor.Consume(','));
  HLOSCOPE_TRY(Require(cursor, '}', "} or , in a tuple of shardings", "sharding"));
  return tuple;
}

}  // namespace hloscope::hlo
