// Meshes, axes and iotas as text: what shardings and device lists share.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "core/hlo/sharding.h"
#include "core/hlo/text/text_cursor.h"

namespace hloscope::hlo {

// Names of a mesh's axes to their indices.
using AxisIndices = std::unordered_map<std::string_view, int64_t>;
AxisIndices IndexAxes(const Mesh& mesh);

// "4,2]": the numbers up to the closing bracket, of which there must be one.
Parsed<std::vector<int64_t>> ReadNumbers(TextCursor& cursor, char close, std::string_view what);

// `2,4]T(1,0)` after the opening bracket of an iota, for `count` devices; canonical.
Parsed<IotaTile> ReadIota(TextCursor& cursor, std::optional<int64_t> count);

// `mesh['x'=4,'y'=2], device_ids=(…)` or `maximal_mesh[device_id=3]`.
Parsed<Mesh> ReadMesh(TextCursor& cursor);

// `'x'` or `'x':(1)2`.
Parsed<AxisRef> ReadAxis(TextCursor& cursor, const Mesh& mesh, const AxisIndices& indices);

// Checks that axes of one list do not overlap and neighbours cannot be merged, and collects them
// for the same check against other lists.
class AxisUse {
 public:
  explicit AxisUse(const Mesh& mesh) : mesh_(mesh), used_(mesh.axes.size()) {}
  Parsed<void> Add(const AxisRef& axis, uint64_t offset);

 private:
  const Mesh& mesh_;
  std::vector<std::vector<AxisRef>> used_;  // per axis of the mesh
};

// True if `right` continues `left` in the same axis, so that the two are one.
bool CanMerge(const AxisRef& left, const AxisRef& right);

void AppendIota(std::string& out, const IotaTile& iota);  // [2,4]T(1,0)
void AppendMesh(std::string& out, const Mesh& mesh);
void AppendAxis(std::string& out, const AxisRef& axis, const Mesh& mesh);

}  // namespace hloscope::hlo
