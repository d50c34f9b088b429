// WireReader: the fields of one protobuf message in wire format, one after another, never beyond
// its bytes.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace hloscope::hlo {

// The tag of field `number` where its value is stored as…
constexpr uint32_t AsVarint(uint32_t number) { return number << 3; }
constexpr uint32_t AsFixed64(uint32_t number) { return number << 3 | 1; }
constexpr uint32_t AsBytes(uint32_t number) { return number << 3 | 2; }
constexpr uint32_t AsFixed32(uint32_t number) { return number << 3 | 5; }

struct WireField {
  uint32_t tag = 0;
  uint64_t value = 0;      // of a varint or fixed field
  std::string_view bytes;  // of a length-delimited field
  std::string_view raw;    // tag and value, as they stand in the message

  uint32_t number() const { return tag >> 3; }
  int64_t AsInt64() const { return static_cast<int64_t>(value); }
  int32_t AsInt32() const { return static_cast<int32_t>(value); }
  bool AsBool() const { return value != 0; }
};

class WireReader {
 public:
  explicit WireReader(std::string_view bytes)
      : position_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  // Fills in the next field; false at the end and at bytes that are no field (then ok() is false).
  bool Next(WireField& field) {
    if (position_ == end_) return false;
    const char* start = position_;
    uint64_t tag;
    if (!ReadVarint(tag) || tag > UINT32_MAX || tag < 8) return Fail();
    field.tag = static_cast<uint32_t>(tag);
    if (!ReadValue(field)) return Fail();
    field.raw = {start, static_cast<size_t>(position_ - start)};
    return true;
  }
  bool ok() const { return ok_; }
  // What was not read yet.
  std::string_view Rest() const { return {position_, Left()}; }

  // Next varint of a packed list; false at the end and at a malformed one.
  bool NextVarint(uint64_t& value) {
    if (position_ == end_) return false;
    return ReadVarint(value) || Fail();
  }

 private:
  bool Fail() {
    position_ = end_;
    ok_ = false;
    return false;
  }
  bool ReadVarint(uint64_t& value) {
    if (position_ == end_) return false;
    auto byte = static_cast<uint8_t>(*position_);
    if (byte < 0x80) {
      value = byte;
      ++position_;
      return true;
    }
    return ReadLongVarint(value);
  }
  bool ReadLongVarint(uint64_t& value);
  bool ReadValue(WireField& field) {
    switch (field.tag & 7) {
      case 0:
        return ReadVarint(field.value);
      case 2: {
        uint64_t size;
        if (!ReadVarint(size) || size > Left()) return false;
        field.bytes = {position_, static_cast<size_t>(size)};
        position_ += size;
        return true;
      }
      default:
        return ReadRareValue(field);
    }
  }
  bool ReadRareValue(WireField& field);
  // Skips to the end of a group of the retired kind; its fields stay in `raw` only.
  bool SkipGroup(uint32_t number);
  size_t Left() const { return static_cast<size_t>(end_ - position_); }

  const char* position_;
  const char* end_;
  bool ok_ = true;
};

// Appends the values of a repeated integer field, packed or not; false if the bytes are malformed.
bool AppendInts(const WireField& field, std::vector<int64_t>& values);
inline float FloatFromBits(uint64_t bits) {
  auto low = static_cast<uint32_t>(bits);
  float value;
  std::memcpy(&value, &low, sizeof value);
  return value;
}
inline double DoubleFromBits(uint64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace hloscope::hlo
