// Reading shardings over a named mesh: {mesh['x'=4,'y'=2], [{'x'}, {'y', ?}], manual={…}}.
#include <algorithm>

#include "core/hlo/text/mesh_text.h"
#include "core/hlo/text/sharding_text.h"
#include "core/hlo/text/text_parts.h"

namespace hloscope::hlo {
namespace {

class NamedShardingReader {
 public:
  NamedShardingReader(TextCursor& cursor, Sharding& sharding)
      : cursor_(cursor),
        sharding_(sharding),
        indices_(IndexAxes(sharding.mesh)),
        use_(sharding.mesh) {}

  Parsed<void> Read() {
    if (!sharding_.mesh.maximal) {
      cursor_.Consume(',');
      HLOSCOPE_TRY(ReadDimensionsOrWord());
    }
    while (cursor_.Consume(',')) HLOSCOPE_TRY(ReadAttribute());
    return Require(cursor_, '}', "} at the end of the sharding", "sharding");
  }

 private:
  Parsed<void> ReadDimensionsOrWord() {
    if (cursor_.ConsumeWord("replicated")) return {};
    if (cursor_.ConsumeWord("manual")) return UseAllAxes(sharding_.manual_axes);
    if (cursor_.ConsumeWord("unreduced")) return UseAllAxes(sharding_.unreduced_axes);
    HLOSCOPE_TRY(Require(cursor_, '[', "[ of the dimensions", "sharding"));
    if (cursor_.Consume(']')) return {};
    do {
      HLOSCOPE_TRY(ReadDimension());
    } while (cursor_.Consume(','));
    return Require(cursor_, ']', "] after the dimensions", "sharding");
  }

  Parsed<void> UseAllAxes(std::vector<AxisRef>& axes) {
    if (sharding_.mesh.axes.empty()) {
      return std::unexpected(cursor_.Expected("a mesh with axes", "sharding"));
    }
    for (size_t i = 0; i < sharding_.mesh.axes.size(); ++i) {
      axes.push_back({.axis = static_cast<int64_t>(i)});
      HLOSCOPE_TRY(use_.Add(axes.back(), cursor_.offset()));
    }
    return {};
  }

  // {'x', 'y', ?}
  Parsed<void> ReadDimension() {
    DimensionSharding& dimension = sharding_.dimensions.emplace_back();
    HLOSCOPE_TRY(Require(cursor_, '{', "{ of a dimension", "sharding"));
    if (cursor_.Consume('}')) return {};
    do {
      if (cursor_.Consume('?')) {
        dimension.is_closed = false;
        break;
      }
      HLOSCOPE_TRY(ReadAxisInto(dimension.axes));
    } while (cursor_.Consume(','));
    return Require(cursor_, '}', "} after the axes of a dimension", "sharding");
  }

  Parsed<void> ReadAxisInto(std::vector<AxisRef>& axes) {
    const uint64_t start = (cursor_.SkipSpace(), cursor_.offset());
    HLOSCOPE_ASSIGN_OR_RETURN(AxisRef axis, ReadAxis(cursor_, sharding_.mesh, indices_));
    HLOSCOPE_TRY(use_.Add(axis, start));
    if (!axes.empty() && CanMerge(axes.back(), axis)) {
      return std::unexpected(TextCursor::Fail(
          "sharding", "part of an axis continues the part before it", start, "write them as one"));
    }
    axes.push_back(axis);
    return {};
  }

  Parsed<void> ReadAttribute() {
    if (cursor_.ConsumeAttributeName("replicated")) return ReadAxisList(sharding_.replicated_axes);
    if (cursor_.ConsumeAttributeName("manual")) return ReadAxisList(sharding_.manual_axes);
    if (cursor_.ConsumeAttributeName("metadata")) {
      return ReadShardingMetadata(cursor_, sharding_.metadata);
    }
    if (!cursor_.ConsumeAttributeName("unreduced")) {
      return std::unexpected(
          cursor_.Expected("replicated=, unreduced=, manual= or metadata=", "sharding"));
    }
    bool bracketed = cursor_.Consume('[');
    for (std::string_view operation : {"sum", "max", "min"}) {
      if (cursor_.ConsumeWord(operation)) sharding_.unreduced_operation = operation;
    }
    if (bracketed) HLOSCOPE_TRY(Require(cursor_, ']', "sum], max] or min]", "sharding"));
    return ReadAxisList(sharding_.unreduced_axes);
  }

  // {'x', 'y':(1)2} in the order of the mesh.
  Parsed<void> ReadAxisList(std::vector<AxisRef>& axes) {
    HLOSCOPE_TRY(Require(cursor_, '{', "{ of a list of axes", "sharding"));
    const uint64_t start = cursor_.offset();
    if (cursor_.Consume('}')) return {};
    do {
      HLOSCOPE_TRY(ReadAxisInto(axes));
    } while (cursor_.Consume(','));
    auto before = [](const AxisRef& a, const AxisRef& b) {
      return a.axis != b.axis ? a.axis < b.axis : a.pre_size < b.pre_size;
    };
    if (!std::ranges::is_sorted(axes, before)) {
      return std::unexpected(
          TextCursor::Fail("sharding", "axes of the list are not in the order of the mesh", start));
    }
    return Require(cursor_, '}', "} after a list of axes", "sharding");
  }

  TextCursor& cursor_;
  Sharding& sharding_;
  AxisIndices indices_;
  AxisUse use_;
};

}  // namespace

Parsed<void> ReadNamedSharding(TextCursor& cursor, Sharding& sharding) {
  sharding.kind = ShardingKind::kNamed;
  HLOSCOPE_ASSIGN_OR_RETURN(sharding.mesh, ReadMesh(cursor));
  return NamedShardingReader(cursor, sharding).Read();
}

}  // namespace hloscope::hlo
