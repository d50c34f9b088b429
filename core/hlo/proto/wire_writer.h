// WireWriter: protobuf wire format into one growing buffer. Messages inside messages are opened and
// closed; their lengths are put in front when they close.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace hloscope::hlo {

class WireWriter {
 public:
  // Where the contents of an open message begin.
  struct Mark {
    size_t start;
  };

  // Each field with its tag, zero or not.
  void Varint(uint32_t number, uint64_t value) {
    char* p = Room(20);
    p = PutVarint(p, number << 3);
    Advance(PutVarint(p, value));
  }
  void Int(uint32_t number, int64_t value) { Varint(number, static_cast<uint64_t>(value)); }
  void Bool(uint32_t number, bool value) { Varint(number, value ? 1 : 0); }
  void Bytes(uint32_t number, std::string_view bytes) {
    char* p = Room(20 + bytes.size());
    p = PutVarint(p, number << 3 | 2);
    p = PutVarint(p, bytes.size());
    if (!bytes.empty()) std::memcpy(p, bytes.data(), bytes.size());
    Advance(p + bytes.size());
  }
  void Float(uint32_t number, float value) {
    char* p = PutVarint(Room(20), number << 3 | 5);
    std::memcpy(p, &value, sizeof value);
    Advance(p + sizeof value);
  }
  void Double(uint32_t number, double value) {
    char* p = PutVarint(Room(20), number << 3 | 1);
    std::memcpy(p, &value, sizeof value);
    Advance(p + sizeof value);
  }
  // A repeated integer field, packed; nothing if there are none.
  void PackedInts(uint32_t number, std::span<const int64_t> values);
  // One value of a packed list that was opened.
  void BareVarint(uint64_t value) { Advance(PutVarint(Room(10), value)); }
  // Bytes as they are, with tags of their own.
  void Raw(std::string_view bytes) {
    if (bytes.empty()) return;
    char* p = Room(bytes.size());
    std::memcpy(p, bytes.data(), bytes.size());
    Advance(p + bytes.size());
  }

  // The fields proto3 leaves out where they are zero or empty.
  void IntUnlessZero(uint32_t number, int64_t value) {
    if (value != 0) Int(number, value);
  }
  void BoolUnlessFalse(uint32_t number, bool value) {
    if (value) Bool(number, value);
  }
  void BytesUnlessEmpty(uint32_t number, std::string_view bytes) {
    if (!bytes.empty()) Bytes(number, bytes);
  }
  void DoubleUnlessZero(uint32_t number, double value) {
    if (std::bit_cast<uint64_t>(value) != 0) Double(number, value);
  }

  // A message field: everything written until Close belongs to it.
  Mark Open(uint32_t number) {
    Advance(PutVarint(Room(20), number << 3 | 2));
    return {position_};
  }
  void Close(Mark mark) {
    size_t size = position_ - mark.start;
    char length[10];
    auto length_size = static_cast<size_t>(PutVarint(length, size) - length);
    char* start = Room(length_size) + (static_cast<ptrdiff_t>(mark.start) - Position());
    std::memmove(start + length_size, start, size);
    std::memcpy(start, length, length_size);
    position_ += length_size;
  }
  // A message field without contents.
  void Empty(uint32_t number) { Bytes(number, {}); }

  size_t size() const { return position_; }
  std::string_view bytes() const { return {buffer_.data(), position_}; }
  std::string Take() && {
    buffer_.resize(position_);
    return std::move(buffer_);
  }

 private:
  // At least `bytes` bytes to write to.
  char* Room(size_t bytes) {
    if (buffer_.size() - position_ < bytes) Grow(bytes);
    return buffer_.data() + position_;
  }
  void Grow(size_t bytes);
  void Advance(const char* end) { position_ = static_cast<size_t>(end - buffer_.data()); }
  ptrdiff_t Position() const { return static_cast<ptrdiff_t>(position_); }
  static char* PutVarint(char* p, uint64_t value) {
    while (value >= 0x80) {
      *p++ = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    *p++ = static_cast<char>(value);
    return p;
  }

  std::string buffer_;  // its size is the capacity in use
  size_t position_ = 0;
};

}  // namespace hloscope::hlo
