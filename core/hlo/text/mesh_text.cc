// Meshes, axes and iotas as text.
#include "core/hlo/text/mesh_text.h"

#include <algorithm>

#include "core/base/append.h"
#include "core/base/checked.h"
#include "core/hlo/permutation.h"
#include "core/hlo/text/text_parts.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

Diagnostic BadMesh(uint64_t offset, std::string message, std::string hint = {}) {
  return TextCursor::Fail("sharding", std::move(message), offset, std::move(hint));
}

// 'x'=4 in order until the closing bracket.
Parsed<void> ReadAxes(TextCursor& cursor, Mesh& mesh) {
  HLOSCOPE_TRY(Require(cursor, '[', "[ after mesh", "sharding"));
  if (cursor.Consume(']')) return {};
  do {
    const uint64_t start = (cursor.SkipSpace(), cursor.offset());
    std::optional<std::string> name = cursor.ReadString();
    if (!name) return std::unexpected(cursor.Expected("an axis name such as 'x'", "sharding"));
    HLOSCOPE_TRY(Require(cursor, '=', "= after an axis name", "sharding"));
    HLOSCOPE_ASSIGN_OR_RETURN(int64_t size, ReadNumber(cursor, "an axis size", "sharding"));
    if (size < 0)
      return std::unexpected(BadMesh(start, "size of axis '" + *name + "' is negative"));
    mesh.axes.emplace_back(*std::move(name), size);
  } while (cursor.Consume(','));
  const uint64_t end = cursor.offset();
  HLOSCOPE_TRY(Require(cursor, ']', "] after the axes of a mesh", "sharding"));
  if (IndexAxes(mesh).size() != mesh.axes.size()) {
    return std::unexpected(BadMesh(end, "mesh has two axes with the same name"));
  }
  return {};
}

// The listed ids must be 0, 1, … in another order.
Parsed<void> CheckDeviceIds(const Mesh& mesh, std::optional<int64_t> count, uint64_t offset) {
  if (count != static_cast<int64_t>(mesh.device_ids.size())) {
    return std::unexpected(BadMesh(offset, "mesh lists " + std::to_string(mesh.device_ids.size()) +
                                               " devices, but its axes have " +
                                               (count ? std::to_string(*count) : "too many")));
  }
  if (!IsPermutation(mesh.device_ids, mesh.device_ids.size())) {
    return std::unexpected(BadMesh(offset, "device ids of the mesh are not 0 to " +
                                               std::to_string(mesh.device_ids.size() - 1) +
                                               ", each once"));
  }
  if (std::ranges::is_sorted(mesh.device_ids)) {
    return std::unexpected(
        BadMesh(offset, "device ids of the mesh are in the default order", "omit device_ids"));
  }
  return {};
}

// (0,1,3,2) or ([2,4]T(1,0)) after device_ids=.
Parsed<void> ReadDeviceIds(TextCursor& cursor, Mesh& mesh) {
  const std::optional<int64_t> count = DeviceCount(mesh);
  HLOSCOPE_TRY(Require(cursor, '(', "( after device_ids=", "sharding"));
  const uint64_t start = (cursor.SkipSpace(), cursor.offset());
  if (cursor.Consume('[')) {
    HLOSCOPE_ASSIGN_OR_RETURN(IotaTile iota, ReadIota(cursor, count));
    if (iota.reshape_dims.size() > 1) mesh.iota = std::move(iota);
    return Require(cursor, ')', ") after device_ids", "sharding");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(mesh.device_ids, ReadNumbers(cursor, ')', "a device id"));
  return CheckDeviceIds(mesh, count, start);
}

Parsed<Mesh> ReadMaximalMesh(TextCursor& cursor) {
  Mesh mesh;
  mesh.maximal = true;
  HLOSCOPE_TRY(Require(cursor, '[', "[ after maximal_mesh", "sharding"));
  if (!cursor.ConsumeAttributeName("device_id")) {
    return std::unexpected(cursor.Expected("device_id=", "sharding"));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(int64_t device, ReadNumber(cursor, "a device id", "sharding"));
  mesh.device_ids.push_back(device);
  HLOSCOPE_TRY(Require(cursor, ']', "] after the device id", "sharding"));
  return mesh;
}

// The part of an axis: its sizes before, in and after it have to divide the axis.
Parsed<void> CheckPart(const AxisRef& axis, const Mesh& mesh, uint64_t offset) {
  const auto& [name, size] = mesh.axes[static_cast<size_t>(axis.axis)];
  std::optional<int64_t> end = CheckedMul(axis.pre_size, axis.size);
  if (axis.pre_size >= 1 && axis.size > 1 && axis.size < size && end && size % *end == 0) return {};
  return std::unexpected(BadMesh(offset, "part (" + std::to_string(axis.pre_size) + ")" +
                                             std::to_string(axis.size) + " does not divide axis '" +
                                             name + "' of size " + std::to_string(size)));
}

// Whether two parts of one axis are apart, with a whole number of steps between them.
bool AreApart(const AxisRef& a, const AxisRef& b) {
  if (a.size == 0 || b.size == 0) return false;
  const AxisRef& first = a.pre_size <= b.pre_size ? a : b;
  const AxisRef& second = a.pre_size <= b.pre_size ? b : a;
  const int64_t end = first.pre_size * first.size;
  return end <= second.pre_size && second.pre_size % end == 0;
}

// As the reader unescapes it: a name must not end its quotes.
void AppendName(std::string& out, std::string_view name) {
  out += '\'';
  AppendEscaped(out, name);
  out += '\'';
}

}  // namespace

AxisIndices IndexAxes(const Mesh& mesh) {
  AxisIndices indices;
  for (size_t i = 0; i < mesh.axes.size(); ++i) {
    indices.emplace(mesh.axes[i].first, static_cast<int64_t>(i));
  }
  return indices;
}

Parsed<std::vector<int64_t>> ReadNumbers(TextCursor& cursor, char close, std::string_view what) {
  std::vector<int64_t> numbers;
  do {
    HLOSCOPE_ASSIGN_OR_RETURN(int64_t number, ReadNumber(cursor, what, "sharding"));
    numbers.push_back(number);
  } while (cursor.Consume(','));
  HLOSCOPE_TRY(Require(cursor, close, std::string(1, close) + " or , after " + std::string(what),
                       "sharding"));
  return numbers;
}

Parsed<IotaTile> ReadIota(TextCursor& cursor, std::optional<int64_t> count) {
  IotaTile iota;
  const uint64_t start = (cursor.SkipSpace(), cursor.offset());
  HLOSCOPE_ASSIGN_OR_RETURN(iota.reshape_dims, ReadNumbers(cursor, ']', "a size"));
  std::optional<int64_t> product = CheckedProduct(iota.reshape_dims);
  if (!product || product != count) {
    return std::unexpected(
        BadMesh(start, "iota has " + (product ? std::to_string(*product) : "too many devices") +
                           (product ? " devices" : "") + ", expected " +
                           (count ? std::to_string(*count) : "as many as there are tiles")));
  }
  if (iota.reshape_dims.size() == 1) return iota;
  const uint64_t transpose = (cursor.SkipSpace(), cursor.offset());
  if (!cursor.ConsumeWord("T") || !cursor.Consume('(')) {
    return std::unexpected(cursor.Expected("T(…), the transpose of the iota", "sharding"));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(iota.transpose, ReadNumbers(cursor, ')', "a dimension number"));
  if (iota.transpose.size() != iota.reshape_dims.size() ||
      !IsPermutation(iota.transpose, iota.transpose.size())) {
    return std::unexpected(BadMesh(transpose, "transpose of the iota is not a permutation of its " +
                                                  std::to_string(iota.reshape_dims.size()) +
                                                  " dimensions"));
  }
  Canonicalize(iota);
  return iota;
}

Parsed<Mesh> ReadMesh(TextCursor& cursor) {
  if (cursor.ConsumeWord("maximal_mesh")) return ReadMaximalMesh(cursor);
  if (!cursor.ConsumeWord("mesh")) return std::unexpected(cursor.Expected("mesh[", "sharding"));
  Mesh mesh;
  HLOSCOPE_TRY(ReadAxes(cursor, mesh));
  TextCursor ahead = cursor;
  if (ahead.Consume(',') && ahead.ConsumeAttributeName("device_ids")) {
    cursor = ahead;
    HLOSCOPE_TRY(ReadDeviceIds(cursor, mesh));
  }
  return mesh;
}

Parsed<AxisRef> ReadAxis(TextCursor& cursor, const Mesh& mesh, const AxisIndices& indices) {
  const uint64_t start = (cursor.SkipSpace(), cursor.offset());
  std::optional<std::string> name = cursor.ReadString();
  if (!name) return std::unexpected(cursor.Expected("an axis name such as 'x'", "sharding"));
  auto found = indices.find(*name);
  if (found == indices.end()) {
    return std::unexpected(BadMesh(start, "mesh has no axis '" + *name + "'"));
  }
  AxisRef axis{.axis = found->second};
  if (!cursor.Consume(':')) return axis;
  HLOSCOPE_TRY(Require(cursor, '(', "( of a part such as 'x':(1)2", "sharding"));
  HLOSCOPE_ASSIGN_OR_RETURN(axis.pre_size, ReadNumber(cursor, "a size", "sharding"));
  HLOSCOPE_TRY(Require(cursor, ')', ") after the size before the part", "sharding"));
  HLOSCOPE_ASSIGN_OR_RETURN(axis.size, ReadNumber(cursor, "a size", "sharding"));
  HLOSCOPE_TRY(CheckPart(axis, mesh, start));
  return axis;
}

Parsed<void> AxisUse::Add(const AxisRef& axis, uint64_t offset) {
  std::vector<AxisRef>& used = used_[static_cast<size_t>(axis.axis)];
  for (const AxisRef& other : used) {
    if (AreApart(axis, other)) continue;
    return std::unexpected(BadMesh(
        offset, "axis '" + mesh_.axes[static_cast<size_t>(axis.axis)].first + "' is used twice"));
  }
  used.push_back(axis);
  return {};
}

bool CanMerge(const AxisRef& left, const AxisRef& right) {
  return left.axis == right.axis && left.size != 0 && right.size != 0 &&
         left.pre_size * left.size == right.pre_size;
}

void AppendIota(std::string& out, const IotaTile& iota) {
  out += '[';
  AppendIntegers<int64_t>(out, iota.reshape_dims);
  out += ']';
  if (iota.transpose.empty()) return;
  out += "T(";
  AppendIntegers<int64_t>(out, iota.transpose);
  out += ')';
}

void AppendMesh(std::string& out, const Mesh& mesh) {
  if (mesh.maximal) {
    out += "maximal_mesh[device_id=";
    AppendInteger(out, mesh.device_ids.empty() ? int64_t{0} : mesh.device_ids[0]);
    out += ']';
    return;
  }
  out += "mesh[";
  for (size_t i = 0; i < mesh.axes.size(); ++i) {
    if (i != 0) out += ',';
    AppendName(out, mesh.axes[i].first);
    out += '=';
    AppendInteger(out, mesh.axes[i].second);
  }
  out += ']';
  // The reader refuses the default order where it is said in full.
  if (!mesh.iota && std::ranges::is_sorted(mesh.device_ids)) return;
  out += ", device_ids=(";
  if (mesh.iota) {
    AppendIota(out, *mesh.iota);
  } else {
    AppendIntegers<int64_t>(out, mesh.device_ids);
  }
  out += ')';
}

void AppendAxis(std::string& out, const AxisRef& axis, const Mesh& mesh) {
  const auto index = static_cast<size_t>(axis.axis);
  AppendName(out, index < mesh.axes.size() ? mesh.axes[index].first : std::string_view());
  if (axis.size == 0) return;
  out += ":(";
  AppendInteger(out, axis.pre_size);
  out += ')';
  AppendInteger(out, axis.size);
}

}  // namespace hloscope::hlo
