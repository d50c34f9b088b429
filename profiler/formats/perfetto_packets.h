// The packets of a Perfetto trace (protos/perfetto/trace), also those that lie packed in others.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "core/base/byte_buffer.h"
#include "core/base/file.h"
#include "core/base/limits.h"
#include "profiler/formats/losses.h"
#include "profiler/formats/source_bytes.h"

namespace hloscope::profiler {

// Numbers of fields, by message.
namespace perfetto {
namespace packet {
inline constexpr uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequence = 10, kTrackEvent = 11;
inline constexpr uint32_t kInternedData = 12, kSequenceFlags = 13, kStateCleared = 41;
inline constexpr uint32_t kPreviousDropped = 42, kThread = 44, kCompressed = 50, kClock = 58;
inline constexpr uint32_t kDefaults = 59, kTrack = 60, kZstd = 133;
inline constexpr uint64_t kFlagCleared = 1, kFlagNeedsState = 2;
}  // namespace packet
namespace event {
inline constexpr uint32_t kAnnotation = 4, kLegacy = 6, kType = 9, kNameId = 10, kTrack = 11;
inline constexpr uint32_t kExtraValue = 12, kName = 23, kValue = 30, kExtraTrack = 31;
inline constexpr uint32_t kDoubleValue = 44, kExtraDoubleTrack = 45, kExtraDoubleValue = 46;
inline constexpr uint64_t kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4;
}  // namespace event
}  // namespace perfetto

// The bytes of a trace: the file, and behind its end those that were packed in it.
class PerfettoBytes {
 public:
  PerfettoBytes(FileView file, const Limits& limits)
      : source_(std::move(file)), size_(source_.file().bytes().size()), limits_(limits) {}

  // visit(packet) for every packet in order. Packed ones are unpacked the first time; what cannot
  // be read is counted then.
  void ForEachPacket(const std::function<void(std::string_view packet)>& visit, Losses* losses);

  // Where a part of these bytes lies, before Release.
  uint64_t OffsetOf(std::string_view part) const;
  // As SourceBytes::ReadFrom does.
  template <typename Read>
  bool ReadFrom(uint64_t offset, Read read) const {
    if (offset < size_) return source_.ReadFrom(offset, read);
    return read(FromUnpacked(offset)), true;
  }
  // As SourceBytes::Release does; packets that were packed stay in memory.
  bool Release() { return source_.Release(); }
  // The file ended inside a packet.
  bool is_cut() const { return is_cut_; }

 private:
  struct Unpacked {
    const char* packed;  // where it was
    uint64_t base;
    ByteBuffer buffer;
  };
  std::string_view FromUnpacked(uint64_t offset) const;
  std::string_view Unpack(std::string_view packed, Losses* losses);
  void Visit(std::string_view trace, bool may_be_packed,
             const std::function<void(std::string_view packet)>& visit, Losses* losses);

  SourceBytes source_;
  const uint64_t size_;  // of the file
  const Limits limits_;
  std::vector<Unpacked> unpacked_;  // in the order of the file
  size_t next_unpacked_ = 0;
  uint64_t unpacked_bytes_ = 0;
  bool is_cut_ = false;
};

}  // namespace hloscope::profiler
