// The records of a zip file, as the reader and the writer know them (APPNOTE 6.3).
#pragma once

#include <cstddef>
#include <cstdint>

namespace hloscope::zip {

inline constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50;
inline constexpr uint32_t kEndRecord = 0x06054b50, kEnd64Record = 0x06064b50;
inline constexpr uint32_t kEnd64Locator = 0x07064b50;
inline constexpr size_t kLocalHeaderBytes = 30, kCentralHeaderBytes = 46, kEndRecordBytes = 22;
inline constexpr size_t kEnd64RecordBytes = 56, kEnd64LocatorBytes = 20;
inline constexpr uint64_t kIn64 = 0xffffffffu;  // "the zip64 field has it"
inline constexpr uint16_t kZip64Field = 1, kStored = 0, kDeflated = 8;
inline constexpr uint16_t kEncryptedFlag = 1, kSizesFollowFlag = 8;
inline constexpr uint64_t kMaxMembers = 0xffff;

}  // namespace hloscope::zip
