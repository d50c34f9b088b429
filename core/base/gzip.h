// Unpacking of gzip and zlib data within limits.
#pragma once

#include <string_view>

#include "core/base/byte_buffer.h"
#include "core/base/limits.h"
#include "core/base/result.h"

namespace hloscope {

// True if `bytes` start as gzip data do.
bool IsGzip(std::string_view bytes);
// Input error: the header of the gzip data at the start of `bytes` has a name or a comment that is
// longer than any. Of data that are cut off it is what is there.
Status CheckGzipHeader(std::string_view bytes);
// True if they start as data with a header of zlib do (RFC 1950).
bool IsZlib(std::string_view bytes);

// What the gzip members in `packed` hold, one after the other. An input error where the data are
// broken or cut off, or unpack to more than `compression_ratio` times their size or more than
// `archive_member_bytes`.
Result<ByteBuffer> Gunzip(std::string_view packed, const Limits& limits);

// The same for data with a header of zlib, which is one member.
Result<ByteBuffer> Unzlib(std::string_view packed, const Limits& limits);

}  // namespace hloscope
