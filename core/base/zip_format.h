// The records of a zip file, as the reader and the writer know them (APPNOTE 6.3).
#pragma once

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hloscope::zip {

inline constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50;
inline constexpr uint32_t kEndRecord = 0x06054b50, kEnd64Record = 0x06064b50;
inline constexpr uint32_t kEnd64Locator = 0x07064b50;
inline constexpr size_t kLocalHeaderBytes = 30, kCentralHeaderBytes = 46, kEndRecordBytes = 22;
inline constexpr size_t kEnd64RecordBytes = 56, kEnd64LocatorBytes = 20;
inline constexpr uint64_t kIn64 = 0xffffffffu;  // "the zip64 field has it"
inline constexpr uint16_t kZip64Field = 1, kStored = 0, kDeflated = 8;
inline constexpr uint16_t kEncryptedFlag = 1, kSizesFollowFlag = 8;
inline constexpr uint64_t kMostMembers = 0xffff;
inline constexpr size_t kPiece = size_t{1} << 30;  // zlib counts in 32 bits

inline uint32_t Crc(std::string_view bytes) {
  uLong crc = crc32(0, nullptr, 0);
  for (size_t at = 0; at < bytes.size(); at += kPiece) {
    const std::string_view piece = bytes.substr(at, std::min(kPiece, bytes.size() - at));
    crc = crc32(crc, reinterpret_cast<const Bytef*>(piece.data()), static_cast<uInt>(piece.size()));
  }
  return static_cast<uint32_t>(crc);
}

}  // namespace hloscope::zip
