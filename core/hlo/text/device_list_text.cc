// Device lists (replica groups) as text: {{0,1},{2,3}}, [2,4]<=[8], mesh['x'=4,'y'=2] {'x'}.
#include "core/base/append.h"
#include "core/base/checked.h"
#include "core/hlo/text/mesh_text.h"
#include "core/hlo/text/text_parts.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

constexpr std::string_view kRule = "replica-groups";

Parsed<std::vector<int64_t>> ReadGroup(TextCursor& cursor) {
  std::vector<int64_t> group;
  HLOSCOPE_TRY(Require(cursor, '{', "{ of a group such as {0,1}", kRule));
  if (cursor.Consume('}')) return group;
  do {
    HLOSCOPE_ASSIGN_OR_RETURN(int64_t id, ReadNumber(cursor, "a replica id", kRule));
    group.push_back(id);
  } while (cursor.Consume(','));
  HLOSCOPE_TRY(Require(cursor, '}', "} or , in a group", kRule));
  return group;
}

Parsed<DeviceList> ReadGroups(TextCursor& cursor) {
  DeviceList list;
  if (cursor.Consume('}')) return list;
  do {
    HLOSCOPE_ASSIGN_OR_RETURN(std::vector<int64_t> group, ReadGroup(cursor));
    list.groups.push_back(std::move(group));
  } while (cursor.Consume(','));
  HLOSCOPE_TRY(Require(cursor, '}', "} or , after a group", kRule));
  return list;
}

// `2,4]<=[8]` after the opening bracket.
Parsed<DeviceList> ReadIotaList(TextCursor& cursor) {
  DeviceList list;
  list.form = DeviceList::Form::kIota;
  const uint64_t start = (cursor.SkipSpace(), cursor.offset());
  HLOSCOPE_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, ReadNumbers(cursor, ']', "a size"));
  if (sizes.size() != 2) {
    return std::unexpected(TextCursor::Fail(kRule,
                                            "replica groups have " + std::to_string(sizes.size()) +
                                                " sizes, expected 2: groups and devices of each",
                                            start));
  }
  const std::optional<int64_t> count = CheckedProduct(sizes);
  if (!count) {
    return std::unexpected(
        TextCursor::Fail(kRule, "replica groups have a negative size or too many devices", start));
  }
  if (!cursor.Consume("<=") || !cursor.Consume('[')) {
    return std::unexpected(cursor.Expected("<=[ of an iota", kRule));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(list.iota, ReadIota(cursor, count));
  list.group_count = sizes[0];
  list.group_size = sizes[1];
  return list;
}

Parsed<DeviceList> ReadMeshList(TextCursor& cursor) {
  DeviceList list;
  list.form = DeviceList::Form::kMesh;
  const uint64_t start = cursor.offset();
  HLOSCOPE_ASSIGN_OR_RETURN(list.mesh, ReadMesh(cursor));
  cursor.Consume(',');
  HLOSCOPE_TRY(Require(cursor, '{', "{ of the axes of a group", kRule));
  const AxisIndices indices = IndexAxes(list.mesh);
  AxisUse use(list.mesh);
  bool has_neighbours = false;
  while (cursor.Peek() != '}') {
    if (!list.axes.empty()) HLOSCOPE_TRY(Require(cursor, ',', ", or }", kRule));
    const uint64_t axis_start = (cursor.SkipSpace(), cursor.offset());
    HLOSCOPE_ASSIGN_OR_RETURN(AxisRef axis, ReadAxis(cursor, list.mesh, indices));
    HLOSCOPE_TRY(use.Add(axis, axis_start));
    const int64_t size =
        axis.size != 0 ? axis.size : list.mesh.axes[static_cast<size_t>(axis.axis)].second;
    has_neighbours |= size > 1;
    list.axes.push_back(axis);
  }
  HLOSCOPE_TRY(Require(cursor, '}', "} after the axes of a group", kRule));
  if (has_neighbours) return list;
  return std::unexpected(TextCursor::Fail(
      kRule, "replica groups of the mesh have one device, expected more than one", start));
}

void AppendGroups(std::string& out, const DeviceList& list) {
  out += '{';
  for (size_t i = 0; i < list.groups.size(); ++i) {
    out += i == 0 ? "{" : ",{";
    AppendIntegers<int64_t>(out, list.groups[i]);
    out += '}';
  }
  out += '}';
}

}  // namespace

Parsed<DeviceList> ReadDeviceList(TextCursor& cursor, const Limits&) {
  if (cursor.Consume('{')) return ReadGroups(cursor);
  if (cursor.Consume('[')) return ReadIotaList(cursor);
  TextCursor ahead = cursor;
  std::string_view word = ahead.ReadWord();
  if (word == "mesh" || word == "maximal_mesh") return ReadMeshList(cursor);
  return std::unexpected(
      cursor.Expected("replica groups such as {{0,1},{2,3}} or [2,2]<=[4]", kRule));
}

void AppendDeviceList(std::string& out, const DeviceList& list) {
  switch (list.form) {
    case DeviceList::Form::kGroups:
      AppendGroups(out, list);
      break;
    case DeviceList::Form::kIota:
      out += '[';
      AppendInteger(out, list.group_count);
      out += ',';
      AppendInteger(out, list.group_size);
      out += "]<=";
      AppendIota(out, list.iota);
      break;
    case DeviceList::Form::kMesh:
      AppendMesh(out, list.mesh);
      out += " {";
      for (size_t i = 0; i < list.axes.size(); ++i) {
        if (i != 0) out += ',';
        AppendAxis(out, list.axes[i], list.mesh);
      }
      out += '}';
      break;
  }
}

}  // namespace hloscope::hlo
