// Calls of zlib for data that lie in memory whole, and for streams.
#include "core/base/deflate.h"

#include <zlib.h>

#include <algorithm>
#include <array>

namespace hloscope {
namespace {

constexpr size_t kMaxAtOnce = size_t{1} << 30;  // zlib counts in 32 bits

Bytef* AsBytes(std::string_view bytes) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
}

}  // namespace

uint32_t Crc32(std::string_view bytes) {
  uLong crc = crc32(0, nullptr, 0);
  for (size_t at = 0; at < bytes.size(); at += kMaxAtOnce) {
    const std::string_view piece = bytes.substr(at, std::min(kMaxAtOnce, bytes.size() - at));
    crc = crc32(crc, AsBytes(piece), static_cast<uInt>(piece.size()));
  }
  return static_cast<uint32_t>(crc);
}

std::string Deflate(std::string_view bytes, int level) {
  z_stream stream = {};
  if (bytes.size() > kMaxAtOnce ||
      deflateInit2(&stream, level, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return {};
  }
  std::string out(bytes.size(), '\0');
  stream.next_in = AsBytes(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool fits = deflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out != 0;
  out.resize(fits ? out.size() - stream.avail_out : 0);
  deflateEnd(&stream);
  return out;
}

bool InflateInto(std::string_view packed, std::span<char> out) {
  z_stream stream = {};
  if (packed.size() > kMaxAtOnce || out.size() > kMaxAtOnce ||
      inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
    return false;
  }
  stream.next_in = AsBytes(packed);
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool is_whole =
      inflate(&stream, Z_FINISH) == Z_STREAM_END && stream.avail_out == 0 && stream.avail_in == 0;
  inflateEnd(&stream);
  return is_whole;
}

struct GzipStream::State {
  z_stream stream = {};
  ~State() { deflateEnd(&stream); }
};

GzipStream::GzipStream() : state_(std::make_unique<State>()) {
  constexpr int kGzip = 16 + MAX_WBITS;
  deflateInit2(&state_->stream, 6, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY);
}

GzipStream::GzipStream(GzipStream&&) noexcept = default;
GzipStream& GzipStream::operator=(GzipStream&&) noexcept = default;
GzipStream::~GzipStream() = default;

void GzipStream::Append(std::string_view bytes, std::string& out) {
  for (; bytes.size() > kMaxAtOnce; bytes.remove_prefix(kMaxAtOnce)) {
    Step(bytes.substr(0, kMaxAtOnce), false, out);
  }
  Step(bytes, false, out);
}

void GzipStream::Finish(std::string& out) { Step({}, true, out); }

void GzipStream::Step(std::string_view bytes, bool is_last, std::string& out) {
  z_stream& stream = state_->stream;
  stream.next_in = AsBytes(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::array<char, 1 << 16> room;
  do {
    stream.next_out = reinterpret_cast<Bytef*>(room.data());
    stream.avail_out = static_cast<uInt>(room.size());
    deflate(&stream, is_last ? Z_FINISH : Z_NO_FLUSH);
    out.append(room.data(), room.size() - stream.avail_out);
  } while (stream.avail_out == 0);
}

}  // namespace hloscope
