// The bytes of a .hloprof file that its reader and its writer share; docs/internals/profiler.md
// describes them.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace hloscope::profiler::hloprof {

inline constexpr std::string_view kMagic = "hloprof\n";
inline constexpr uint32_t kVersion = 1;
inline constexpr size_t kHeaderBytes = 16;  // magic, version, CRC-32 of both
inline constexpr size_t kBlockHeaderBytes =
    20;  // kind, size in the file, size, CRC-32 of the bytes, of the header
inline constexpr size_t kMaxBlockBytes = 64 << 20;  // unpacked

// Four characters as they stand in the file.
constexpr uint32_t Kind(const char (&text)[5]) {
  uint32_t kind = 0;
  for (int i = 3; i >= 0; --i) kind = kind << 8 | static_cast<uint8_t>(text[i]);
  return kind;
}
inline constexpr uint32_t kOrigin = Kind("ORIG"), kNames = Kind("NAME"), kGroups = Kind("GRUP");
inline constexpr uint32_t kLanes = Kind("LANE"), kOperations = Kind("OPER");
inline constexpr uint32_t kCounters = Kind("CNTR"), kArguments = Kind("ARGS");
inline constexpr uint32_t kEvents = Kind("EVNT"), kSamples = Kind("SMPL");
inline constexpr uint32_t kModule = Kind("MODL"), kModuleMore = Kind("MORE");
inline constexpr uint32_t kFact = Kind("FACT"), kDone = Kind("DONE");
inline constexpr std::array kKinds = {kOrigin,     kNames,     kGroups, kLanes,   kOperations,
                                      kCounters,   kArguments, kEvents, kSamples, kModule,
                                      kModuleMore, kFact,      kDone};

enum class FactKind : uint8_t { kEnvironment, kHost, kError, kWarning };
enum class ArgumentType : uint8_t { kInt64, kUint64, kDouble, kText };
enum class ModuleForm : uint8_t { kNone, kHloProto, kHloText };

// Signed numbers of small size as small unsigned ones.
constexpr uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
constexpr int64_t FromZigZag(uint64_t value) {
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

inline void AppendFixed32(std::string& out, uint32_t value) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>(value >> (8 * i));
}
inline void AppendVarint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}
inline void AppendSigned(std::string& out, int64_t value) { AppendVarint(out, ZigZag(value)); }
inline void AppendText(std::string& out, std::string_view text) {
  AppendVarint(out, text.size());
  out += text;
}
inline void AppendDouble(std::string& out, double value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

// Walks over the bytes of a block; what is not there reads as zero and makes ok() false.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes)
      : position_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool ok() const { return ok_; }
  bool AtEnd() const { return position_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - position_); }
  void Fail() {
    ok_ = false;
    position_ = end_;
  }

  uint8_t Byte() {
    if (position_ == end_) return Fail(), uint8_t{0};
    return static_cast<uint8_t>(*position_++);
  }
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (position_ == end_) break;
      const auto byte = static_cast<uint8_t>(*position_++);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    Fail();
    return 0;
  }
  int64_t Signed() { return FromZigZag(Varint()); }
  // A number of things that take at least a byte each.
  size_t Count() {
    const uint64_t count = Varint();
    if (count > left()) return Fail(), size_t{0};
    return static_cast<size_t>(count);
  }
  uint32_t Index() {
    const uint64_t index = Varint();
    if (index >= 0xffffffff) return Fail(), 0u;
    return static_cast<uint32_t>(index);
  }
  std::string_view Bytes(size_t size) {
    if (size > left()) return Fail(), std::string_view();
    position_ += size;
    return {position_ - size, size};
  }
  std::string_view Text() { return Bytes(Count()); }
  double Double() {
    const std::string_view bytes = Bytes(sizeof(double));
    double value = 0;
    if (ok_) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

 private:
  const char* position_;
  const char* end_;
  bool ok_ = true;
};

inline uint32_t Fixed32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 4; i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}

}  // namespace hloscope::profiler::hloprof
