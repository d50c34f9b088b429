// A loop around zlib's inflate that checks both limits after every step.
#include "core/base/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "core/base/checked.h"
#include "core/base/counted.h"
#include "core/base/progress/activity.h"

namespace hloscope {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;

struct InflateEnd {
  void operator()(z_stream* stream) const {
    inflateEnd(stream);
    delete stream;
  }
};
using Stream = std::unique_ptr<z_stream, InflateEnd>;

// Zlib counts in 32 bits: one step takes and gives at most this much.
uInt Step(size_t size) {
  return static_cast<uInt>(std::min<size_t>(size, std::numeric_limits<uInt>::max()));
}

std::unexpected<Error> TooLarge(std::string_view limit, int64_t value) {
  return InputError(
      fmt::format("gzip data decompresses to more than the limit {} ({})", limit, value),
      fmt::format("raise it with --limit {}=N", limit));
}

Status CheckSize(size_t unpacked, size_t packed, const Limits& limits) {
  const std::pair<std::string_view, int64_t> kSizes[] = {
      {"archive-member", limits.archive_member_bytes},
      {"archive", limits.archive_bytes},
      {"file-memory", limits.file_memory_bytes},
  };
  for (const auto& [name, most] : kSizes) {
    if (std::cmp_greater(unpacked, most)) return TooLarge(name, most);
  }
  const auto most = CheckedMul(static_cast<int64_t>(packed), limits.compression_ratio);
  if (most.has_value() && std::cmp_greater(unpacked, *most)) {
    return TooLarge("compression-ratio", limits.compression_ratio);
  }
  return {};
}

bool IsPadding(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) { return c == '\0'; });
}

// Unpacks the one member at the start of `packed` and removes it from there.
Status GunzipMember(z_stream& stream, std::string_view& packed, size_t total_packed,
                    const Limits& limits, ByteBuffer& out) {
  for (int state = Z_OK; state != Z_STREAM_END;) {
    size_t room = 0;
    char* target = out.Room(&room);
    if (target == nullptr) return EnvironmentError("out of memory while decompressing gzip data");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream.avail_in = Step(packed.size());
    stream.next_out = reinterpret_cast<Bytef*>(target);
    stream.avail_out = Step(room);
    const size_t in_before = stream.avail_in, out_before = stream.avail_out;
    state = inflate(&stream, Z_NO_FLUSH);
    const size_t taken = in_before - stream.avail_in, given = out_before - stream.avail_out;
    packed.remove_prefix(taken);
    out.Commit(given);
    HLOSCOPE_TRY(CheckSize(out.size(), total_packed - packed.size(), limits));
    if (state == Z_STREAM_END) break;
    if (state == Z_MEM_ERROR)
      return EnvironmentError("out of memory while decompressing gzip data");
    if (state == Z_BUF_ERROR || (taken == 0 && given == 0))
      return InputError("gzip data is truncated");
    if (state != Z_OK) {
      return InputError(fmt::format("gzip data is corrupt: {}",
                                    stream.msg != nullptr ? stream.msg : "unknown format"));
    }
  }
  return {};
}

}  // namespace

Status CheckGzipHeader(std::string_view bytes) {
  constexpr size_t kFixed = 10, kMost = size_t{1} << 16;
  constexpr unsigned kExtra = 4, kName = 8, kComment = 16;
  if (bytes.size() < kFixed) return {};
  const auto byte = [&](size_t at) { return static_cast<unsigned char>(bytes[at]); };
  const unsigned flags = byte(3);
  size_t at = kFixed;
  if ((flags & kExtra) != 0) {
    if (bytes.size() < at + 2) return {};
    at += 2 + byte(at) + 256 * byte(at + 1);
  }
  for (const unsigned text : {kName, kComment}) {
    if ((flags & text) == 0 || at > bytes.size()) continue;
    const std::string_view rest = bytes.substr(at, kMost + 1);
    const size_t end = rest.find('\0');
    if (end != rest.npos) {
      at += end + 1;
    } else if (rest.size() > kMost) {
      return InputError(fmt::format("gzip data whose header has a {} of more than {} bytes",
                                    text == kName ? "name" : "comment", kMost),
                        "pack it again with gzip --no-name");
    }
  }
  return {};
}

bool IsGzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

bool IsZlib(std::string_view bytes) {
  if (bytes.size() < 2) return false;
  const auto method = static_cast<unsigned char>(bytes[0]);
  const auto flags = static_cast<unsigned char>(bytes[1]);
  // DEFLATE with a window of at most 32 KiB; the check bits make the two a multiple of 31.
  return (method & 0x0f) == 8 && method >> 4 <= 7 && (method * 256 + flags) % 31 == 0;
}

Result<ByteBuffer> Gunzip(std::string_view packed, const Limits& limits) {
  const Activity activity("unpacking");
  const size_t total_packed = packed.size();
  Stream stream(new z_stream{});
  if (inflateInit2(stream.get(), kGzipOnly) != Z_OK)
    return EnvironmentError("cannot initialise zlib");
  ByteBuffer out;
  do {
    HLOSCOPE_TRY(CheckGzipHeader(packed));
    HLOSCOPE_TRY(GunzipMember(*stream, packed, total_packed, limits, out));
    inflateReset(stream.get());
  } while (IsGzip(packed));
  if (!IsPadding(packed)) {
    return InputError(Counted(packed.size(), "byte") +
                      " of other data after the end of the gzip data");
  }
  if (!out.Finish()) return EnvironmentError("out of memory while decompressing gzip data");
  return out;
}

Result<ByteBuffer> Unzlib(std::string_view packed, const Limits& limits) {
  const size_t total_packed = packed.size();
  Stream stream(new z_stream{});
  if (inflateInit2(stream.get(), MAX_WBITS) != Z_OK)
    return EnvironmentError("cannot initialise zlib");
  ByteBuffer out;
  HLOSCOPE_TRY(GunzipMember(*stream, packed, total_packed, limits, out));
  if (!out.Finish()) return EnvironmentError("out of memory while decompressing zlib data");
  return out;
}

}  // namespace hloscope
