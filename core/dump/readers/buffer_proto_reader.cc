// BufferAssignmentProto field by field (XLA: service/hlo.proto).
#include <fmt/format.h>

#include "core/dump/readers/buffer_reader.h"
#include "core/hlo/proto/wire_reader.h"

namespace hloscope::dump {
namespace {

using hlo::AsBytes;
using hlo::AsVarint;
using hlo::WireField;
using hlo::WireReader;

struct LogicalBuffer {
  int64_t size = 0, color = 0, instruction_id = 0;
  std::string instruction;
  std::vector<int64_t> shape_index;
};

class BufferProto {
 public:
  explicit BufferProto(const std::unordered_map<int64_t, std::string>& names) : names_(names) {}

  Result<BufferTable> Read(std::string_view bytes) {
    WireReader reader(bytes);
    WireField field;
    std::vector<std::string_view> allocations;
    while (reader.Next(field)) {
      if (field.tag == AsBytes(1)) ReadLogicalBuffer(field.bytes);
      if (field.tag == AsBytes(3)) allocations.push_back(field.bytes);
    }
    ok_ &= reader.ok();
    for (std::string_view allocation : allocations) ReadAllocation(allocation);
    if (!ok_) return InputError("the buffer assignment is not a valid proto");
    table_.source = BufferSource::kProto;
    FinishBuffers(table_);
    return std::move(table_);
  }

 private:
  void ReadLogicalBuffer(std::string_view bytes) {
    LogicalBuffer buffer;
    int64_t id = 0;
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsVarint(1)) id = field.AsInt64();
      if (field.tag == AsVarint(2)) buffer.size = field.AsInt64();
      if (field.tag == AsVarint(4)) buffer.color = field.AsInt64();
      if (field.tag == AsBytes(3)) ReadLocation(field.bytes, buffer);
    }
    ok_ &= reader.ok();
    buffers_[id] = std::move(buffer);
  }

  void ReadLocation(std::string_view bytes, LogicalBuffer& buffer) {
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsBytes(2)) buffer.instruction = field.bytes;
      if (field.number() == 3) ok_ &= hlo::AppendInts(field, buffer.shape_index);
      if (field.tag == AsVarint(4)) buffer.instruction_id = field.AsInt64();
    }
    ok_ &= reader.ok();
    if (!buffer.instruction.empty()) return;
    auto name = names_.find(buffer.instruction_id);
    if (name != names_.end()) buffer.instruction = name->second;
  }

  void ReadAllocation(std::string_view bytes) {
    BufferAllocation allocation;
    allocation.index = 0;
    bool is_parameter = false;
    int64_t parameter = 0;
    std::vector<std::string_view> assigned;
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      switch (field.number()) {
        case 1:
          allocation.index = field.AsInt64();
          break;
        case 2:
          allocation.size = field.AsInt64();
          break;
        case 3:
          allocation.is_thread_local = field.AsBool();
          break;
        case 5:
          is_parameter = field.AsBool();
          break;
        case 6:
          parameter = field.AsInt64();
          break;
        case 7:
          allocation.maybe_live_out = field.AsBool();
          break;
        case 8:
          allocation.color = field.AsInt64();
          break;
        case 9:
          assigned.push_back(field.bytes);
          break;
        case 10:
          ok_ &= hlo::AppendInts(field, allocation.parameter_shape_index);
          break;
        case 11:
          allocation.is_tuple = field.AsBool();
          break;
        case 12:
          allocation.is_constant = field.AsBool();
          break;
        case 13:
          allocation.is_parameter_aliased_with_output = field.AsBool();
          break;
        default:
          break;
      }
    }
    ok_ &= reader.ok();
    if (is_parameter) allocation.parameter_number = parameter;
    allocation.is_preallocated_temp = !is_parameter && !allocation.maybe_live_out &&
                                      !allocation.is_constant && !allocation.is_thread_local;
    auto position = static_cast<int32_t>(table_.allocations.size());
    for (std::string_view one : assigned) ReadAssigned(one, position);
    table_.allocations.push_back(std::move(allocation));
  }

  void ReadAssigned(std::string_view bytes, int32_t allocation) {
    BufferValue value;
    value.id = 0;
    value.allocation = allocation;
    WireReader reader(bytes);
    WireField field;
    while (reader.Next(field)) {
      if (field.tag == AsVarint(1)) value.id = field.AsInt64();
      if (field.tag == AsVarint(2)) value.offset = field.AsInt64();
      if (field.tag == AsVarint(3)) value.size = field.AsInt64();
    }
    ok_ &= reader.ok();
    if (auto buffer = buffers_.find(value.id); buffer != buffers_.end()) {
      value.instruction = buffer->second.instruction;
      value.shape_index = buffer->second.shape_index;
      value.color = buffer->second.color;
    }
    table_.values.push_back(std::move(value));
  }

  const std::unordered_map<int64_t, std::string>& names_;
  std::unordered_map<int64_t, LogicalBuffer> buffers_;
  BufferTable table_;
  bool ok_ = true;
};

}  // namespace

Result<BufferTable> ReadBufferProto(std::string_view bytes,
                                    const std::unordered_map<int64_t, std::string>& names) {
  return BufferProto(names).Read(bytes);
}

}  // namespace hloscope::dump
