// ZipWriter: a zip archive handed on as it is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/result.h"
#include "core/base/zip.h"

namespace hloscope {

// The bytes are those of WriteZip. After an error nothing more is handed on, and every call returns
// it.
class ZipWriter {
 public:
  using Sink = std::function<Status(std::string_view)>;
  explicit ZipWriter(Sink sink, uint64_t wide_from = 0xffffffff)
      : sink_(std::move(sink)), wide_from_(wide_from) {}

  // An input error where a directory cannot count as many members.
  static Status CheckCount(size_t members);

  Status Add(const ZipEntry& entry);
  // A member of these pieces, one behind the other, as they are.
  Status AddStored(std::string_view name, std::span<const std::string_view> pieces);
  // The directory, behind all members.
  Status Finish();

 private:
  struct Sizes {
    uint64_t unpacked = 0, packed = 0;
  };
  Status AddMember(std::string_view name, std::span<const std::string_view> pieces, Sizes sizes,
                   uint32_t crc, uint16_t method);
  Status Write(std::string_view bytes);

  Sink sink_;
  uint64_t wide_from_;
  uint64_t written_ = 0, count_ = 0;
  std::string directory_;
  Status status_;
};

}  // namespace hloscope
