// Shardings as XLA prints them.
#include "core/base/append.h"
#include "core/hlo/text/mesh_text.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

std::string_view Word(SubgroupKind kind) {
  switch (kind) {
    case SubgroupKind::kReplicated:
      return "replicated";
    case SubgroupKind::kManual:
      return "manual";
    case SubgroupKind::kUnreduced:
      return "unreduced";
    case SubgroupKind::kMaximal:
      return "maximal";
    case SubgroupKind::kUnknown:
      break;
  }
  return "error_type.";  // XLA has no word for it
}

void AppendMetadata(std::string& out, const std::vector<ShardingMetadata>& metadata,
                    bool always_braced) {
  out += "metadata={";
  const bool braced = always_braced || metadata.size() > 1;
  for (size_t i = 0; i < metadata.size(); ++i) {
    if (i != 0) out += ", ";
    if (braced) out += '{';
    out += metadata[i].text;
    if (braced) out += '}';
  }
  out += '}';
}

void AppendTiles(std::string& out, const Sharding& sharding) {
  const TileAssignment& tiles = sharding.tiles;
  out += "devices=[";
  AppendIntegers<int64_t>(out, tiles.dimensions);
  out += ']';
  if (tiles.iota) {
    out += "<=";
    AppendIota(out, *tiles.iota);
  } else {
    AppendIntegers<int64_t>(out, tiles.devices);
  }
  if (sharding.replicate_on_last_tile_dim) out += " last_tile_dim_replicate";
  if (sharding.last_tile_dims.empty()) return;
  out += " last_tile_dims={";
  for (size_t i = 0; i < sharding.last_tile_dims.size(); ++i) {
    if (i != 0) out += ", ";
    out += Word(sharding.last_tile_dims[i]);
  }
  out += '}';
}

void AppendAxes(std::string& out, const std::vector<AxisRef>& axes, const Mesh& mesh) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i != 0) out += ", ";
    AppendAxis(out, axes[i], mesh);
  }
}

bool AreAllAxes(const std::vector<AxisRef>& axes, const Mesh& mesh) {
  if (axes.size() != mesh.axes.size() || axes.empty()) return false;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].axis != static_cast<int64_t>(i) || axes[i].size != 0) return false;
  }
  return true;
}

// The one word that says it all; empty if there is none.
std::string_view PlainWord(const Sharding& s) {
  if (!s.dimensions.empty() || !s.replicated_axes.empty()) return {};
  if (s.unreduced_axes.empty() && s.manual_axes.empty()) return "replicated";
  if (s.manual_axes.empty() && s.unreduced_operation.empty() &&
      AreAllAxes(s.unreduced_axes, s.mesh)) {
    return "unreduced";
  }
  if (s.unreduced_axes.empty() && AreAllAxes(s.manual_axes, s.mesh)) return "manual";
  return {};
}

void AppendDimensions(std::string& out, const Sharding& sharding) {
  out += ", [";
  for (size_t i = 0; i < sharding.dimensions.size(); ++i) {
    const DimensionSharding& dimension = sharding.dimensions[i];
    if (i != 0) out += ", ";
    out += '{';
    AppendAxes(out, dimension.axes, sharding.mesh);
    if (!dimension.is_closed) out += dimension.axes.empty() ? "?" : ", ?";
    out += '}';
  }
  out += ']';
}

void AppendAxisList(std::string& out, std::string_view name, std::string_view operation,
                    const std::vector<AxisRef>& axes, const Mesh& mesh) {
  if (axes.empty()) return;
  out.append(", ").append(name).append("=").append(operation).append("{");
  AppendAxes(out, axes, mesh);
  out += '}';
}

void AppendNamed(std::string& out, const Sharding& sharding, bool include_metadata) {
  out += '{';
  AppendMesh(out, sharding.mesh);
  if (!sharding.mesh.maximal) {
    if (std::string_view word = PlainWord(sharding); !word.empty()) {
      out.append(", ").append(word);
    } else {
      AppendDimensions(out, sharding);
      AppendAxisList(out, "replicated", "", sharding.replicated_axes, sharding.mesh);
      AppendAxisList(out, "unreduced", sharding.unreduced_operation, sharding.unreduced_axes,
                     sharding.mesh);
      AppendAxisList(out, "manual", "", sharding.manual_axes, sharding.mesh);
    }
  }
  if (include_metadata && !sharding.metadata.empty()) {
    out += ", ";
    AppendMetadata(out, sharding.metadata, true);
  }
  out += '}';
}

void AppendKind(std::string& out, const Sharding& sharding) {
  switch (sharding.kind) {
    case ShardingKind::kReplicated:
      out += "replicated";
      break;
    case ShardingKind::kMaximal:
      out += "maximal device=";
      AppendInteger(out, sharding.maximal_device);
      break;
    case ShardingKind::kManual:
      out += "manual";
      break;
    case ShardingKind::kUnknown:
      out += "unknown";
      break;
    case ShardingKind::kUnreduced:
      out += "unreduced";
      break;
    case ShardingKind::kTiled:
      AppendTiles(out, sharding);
      break;
    case ShardingKind::kTuple:
    case ShardingKind::kNamed:
      break;
  }
}

void AppendSingle(std::string& out, const Sharding& sharding, bool include_metadata) {
  if (sharding.kind == ShardingKind::kNamed) {
    AppendNamed(out, sharding, include_metadata);
    return;
  }
  out += '{';
  AppendKind(out, sharding);
  if (sharding.shard_as) {
    out += " shard_as ";
    AppendInteger(out, *sharding.shard_as);
  } else if (sharding.shard_like) {
    out += " shard_like ";
    AppendInteger(out, *sharding.shard_like);
  }
  if (include_metadata && !sharding.metadata.empty()) {
    out += ' ';
    AppendMetadata(out, sharding.metadata, false);
  }
  out += '}';
}

}  // namespace

void AppendSharding(std::string& out, const Sharding& sharding, bool include_metadata) {
  if (sharding.kind != ShardingKind::kTuple) {
    AppendSingle(out, sharding, include_metadata);
    return;
  }
  out += '{';
  for (size_t i = 0; i < sharding.elements.size(); ++i) {
    if (i != 0) out += ", ";
    if (i != 0 && i % 5 == 0) {
      out += "/*index=";
      AppendInteger(out, i);
      out += "*/";
    }
    AppendSingle(out, sharding.elements[i], include_metadata);
  }
  out += '}';
}

}  // namespace hloscope::hlo
