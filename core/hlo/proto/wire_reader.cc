// The less frequent parts of reading wire format.
#include "core/hlo/proto/wire_reader.h"

namespace hloscope::hlo {
namespace {

// Groups inside one another beyond this are taken for malformed bytes, as protobuf does.
constexpr int kMaxGroupDepth = 100;

}  // namespace

bool WireReader::ReadLongVarint(uint64_t& value) {
  uint64_t result = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (position_ == end_) return false;
    auto byte = static_cast<uint8_t>(*position_++);
    result |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) {
      value = result;
      return true;
    }
  }
  return false;
}

bool WireReader::ReadRareValue(WireField& field) {
  switch (field.tag & 7) {
    case 1:
      if (Left() < 8) return false;
      std::memcpy(&field.value, position_, 8);
      position_ += 8;
      return true;
    case 5: {
      if (Left() < 4) return false;
      uint32_t value;
      std::memcpy(&value, position_, 4);
      field.value = value;
      position_ += 4;
      return true;
    }
    case 3:
      return SkipGroup(field.number());
    default:
      return false;
  }
}

bool WireReader::SkipGroup(uint32_t number) {
  std::vector<uint32_t> open = {number};
  while (!open.empty()) {
    uint64_t tag;
    if (!ReadVarint(tag) || tag > UINT32_MAX || tag < 8) return false;
    auto inner = static_cast<uint32_t>(tag >> 3);
    if ((tag & 7) == 3) {
      if (open.size() == kMaxGroupDepth) return false;
      open.push_back(inner);
      continue;
    }
    if ((tag & 7) == 4) {
      if (inner != open.back()) return false;
      open.pop_back();
      continue;
    }
    WireField skipped;
    skipped.tag = static_cast<uint32_t>(tag);
    if (!ReadValue(skipped)) return false;
  }
  return true;
}

bool AppendInts(const WireField& field, std::vector<int64_t>& values) {
  if ((field.tag & 7) == 0) {
    values.push_back(field.AsInt64());
    return true;
  }
  if ((field.tag & 7) != 2) return true;  // no integers: an unknown field
  WireReader packed(field.bytes);
  uint64_t value;
  while (packed.NextVarint(value)) values.push_back(static_cast<int64_t>(value));
  return packed.ok();
}

}  // namespace hloscope::hlo
