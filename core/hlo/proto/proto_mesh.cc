// Meshes, axes and device lists in protos.
#include "core/hlo/proto/proto_fields.h"
#include "core/hlo/proto/proto_values.h"

namespace hloscope::hlo {
namespace {

Status AppendMeshAxis(std::string_view bytes, Mesh& mesh) {
  auto& [name, size] = mesh.axes.emplace_back();
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(MeshAxisField::kName)) name = field.bytes;
    if (field.tag == AsVarint(MeshAxisField::kSize)) size = field.AsInt64();
  }
  if (!reader.ok()) return Malformed("MeshProto.MeshAxis");
  return {};
}

Status ReadIotaTransform(std::string_view bytes, IotaTile& iota) {
  WireReader reader(bytes);
  WireField field;
  bool ok = true;
  while (reader.Next(field)) {
    if (field.number() == IotaTransformField::kReshapeDims) {
      ok &= AppendInts(field, iota.reshape_dims);
    } else if (field.number() == IotaTransformField::kTransposePerm) {
      ok &= AppendInts(field, iota.transpose);
    }
  }
  if (!ok || !reader.ok()) return Malformed("MeshProto.IotaTransform");
  NormalizeIota(iota);
  return {};
}

Result<AxisRef> ReadAxisRef(std::string_view bytes) {
  AxisRef axis;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(AxisRefField::kMeshAxisIndex)) axis.axis = field.AsInt64();
    if (field.tag != AsBytes(AxisRefField::kSubAxisInfo)) continue;
    int64_t parts[2];
    if (!ReadIntFields(field.bytes, parts)) return Malformed("AxisRefProto.SubAxis");
    axis.pre_size = parts[0];
    axis.size = parts[1];
  }
  if (!reader.ok()) return Malformed("AxisRefProto");
  return axis;
}

}  // namespace

void NormalizeIota(IotaTile& iota) {
  for (size_t i = 0; i < iota.transpose.size(); ++i) {
    if (iota.transpose[i] != static_cast<int64_t>(i)) return;
  }
  iota.transpose.clear();
}

std::vector<int64_t> FullTranspose(const IotaTile& iota) {
  std::vector<int64_t> transpose = iota.transpose;
  for (size_t i = transpose.size(); i < iota.reshape_dims.size(); ++i) {
    transpose.push_back(static_cast<int64_t>(i));
  }
  return transpose;
}

Result<Mesh> ReadMesh(std::string_view bytes) {
  Mesh mesh;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.number() == MeshField::kDeviceIds) {
      if (!AppendInts(field, mesh.device_ids)) return Malformed("MeshProto");
    } else if (field.tag == AsBytes(MeshField::kAxes)) {
      HLOSCOPE_TRY(AppendMeshAxis(field.bytes, mesh));
    } else if (field.tag == AsBytes(MeshField::kIotaTransform)) {
      HLOSCOPE_TRY(ReadIotaTransform(field.bytes, mesh.iota.emplace()));
    }
  }
  if (!reader.ok()) return Malformed("MeshProto");
  mesh.maximal = mesh.axes.empty() && mesh.device_ids.size() == 1;
  return mesh;
}

void WriteMesh(WireWriter& out, const Mesh& mesh) {
  for (const auto& [name, size] : mesh.axes) {
    auto mark = out.Open(MeshField::kAxes);
    out.BytesUnlessEmpty(MeshAxisField::kName, name);
    out.IntUnlessZero(MeshAxisField::kSize, size);
    out.Close(mark);
  }
  out.PackedInts(MeshField::kDeviceIds, mesh.device_ids);
  if (!mesh.iota) return;
  auto mark = out.Open(MeshField::kIotaTransform);
  out.PackedInts(IotaTransformField::kReshapeDims, mesh.iota->reshape_dims);
  out.PackedInts(IotaTransformField::kTransposePerm, FullTranspose(*mesh.iota));
  out.Close(mark);
}

Status AppendAxisRef(std::vector<AxisRef>& axes, std::string_view bytes) {
  HLOSCOPE_ASSIGN_OR_RETURN(AxisRef axis, ReadAxisRef(bytes));
  axes.push_back(axis);
  return {};
}

void WriteAxisRefs(WireWriter& out, uint32_t number, const std::vector<AxisRef>& axes) {
  for (const AxisRef& axis : axes) {
    auto mark = out.Open(number);
    out.IntUnlessZero(AxisRefField::kMeshAxisIndex, axis.axis);
    if (axis.size != 0) {
      auto sub = out.Open(AxisRefField::kSubAxisInfo);
      out.IntUnlessZero(SubAxisField::kPreSize, axis.pre_size);
      out.IntUnlessZero(SubAxisField::kSize, axis.size);
      out.Close(sub);
    }
    out.Close(mark);
  }
}

Result<std::vector<int64_t>> ReadGroup(std::string_view bytes) {
  std::vector<int64_t> ids;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.number() == ReplicaGroupField::kReplicaIds && !AppendInts(field, ids)) {
      return Malformed("ReplicaGroup");
    }
  }
  if (!reader.ok()) return Malformed("ReplicaGroup");
  return ids;
}

Result<DeviceList> ReadGroups(std::string_view bytes) {
  DeviceList list;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag != AsBytes(DeviceListField::kReplicaGroups)) continue;
    HLOSCOPE_ASSIGN_OR_RETURN(std::vector<int64_t> group, ReadGroup(field.bytes));
    list.groups.push_back(std::move(group));
  }
  if (!reader.ok()) return Malformed("CollectiveDeviceListProto");
  return list;
}

Result<DeviceList> ReadIotaDeviceList(std::string_view bytes) {
  using namespace IotaDeviceListField;
  DeviceList list;
  list.form = DeviceList::Form::kIota;
  WireReader reader(bytes);
  WireField field;
  bool ok = true;
  while (reader.Next(field)) {
    if (field.tag == AsVarint(kNumReplicaGroups)) list.group_count = field.AsInt64();
    if (field.tag == AsVarint(kNumDevicesPerGroup)) list.group_size = field.AsInt64();
    if (field.number() == kIotaReshapeDims) ok &= AppendInts(field, list.iota.reshape_dims);
    if (field.number() == kIotaTransposePerm) ok &= AppendInts(field, list.iota.transpose);
  }
  if (!ok || !reader.ok()) return Malformed("IotaReplicaGroupListProto");
  NormalizeIota(list.iota);
  return list;
}

Result<DeviceList> ReadMeshDeviceList(std::string_view bytes) {
  DeviceList list;
  list.form = DeviceList::Form::kMesh;
  WireReader reader(bytes);
  WireField field;
  while (reader.Next(field)) {
    if (field.tag == AsBytes(MeshDeviceListField::kMesh)) {
      HLOSCOPE_ASSIGN_OR_RETURN(list.mesh, ReadMesh(field.bytes));
    } else if (field.tag == AsBytes(MeshDeviceListField::kAxes)) {
      HLOSCOPE_TRY(AppendAxisRef(list.axes, field.bytes));
    }
  }
  if (!reader.ok()) return Malformed("MeshAxesReplicaGroupListProto");
  return list;
}

void WriteDeviceList(WireWriter& out, const DeviceList& list) {
  using namespace InstructionField;
  if (list.form == DeviceList::Form::kIota) {
    auto mark = out.Open(kIotaCollectiveDeviceList);
    out.IntUnlessZero(IotaDeviceListField::kNumReplicaGroups, list.group_count);
    out.IntUnlessZero(IotaDeviceListField::kNumDevicesPerGroup, list.group_size);
    out.PackedInts(IotaDeviceListField::kIotaReshapeDims, list.iota.reshape_dims);
    out.PackedInts(IotaDeviceListField::kIotaTransposePerm, FullTranspose(list.iota));
    return out.Close(mark);
  }
  if (list.form == DeviceList::Form::kMesh) {
    auto mark = out.Open(kMeshAxesReplicaGroupList);
    auto mesh = out.Open(MeshDeviceListField::kMesh);
    WriteMesh(out, list.mesh);
    out.Close(mesh);
    WriteAxisRefs(out, MeshDeviceListField::kAxes, list.axes);
    return out.Close(mark);
  }
  auto mark = out.Open(kCollectiveDeviceList);
  for (const std::vector<int64_t>& group : list.groups) {
    auto group_mark = out.Open(DeviceListField::kReplicaGroups);
    out.PackedInts(ReplicaGroupField::kReplicaIds, group);
    out.Close(group_mark);
  }
  out.Close(mark);
}

}  // namespace hloscope::hlo
