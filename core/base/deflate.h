// Packing of pieces of bytes with zlib, and their checksum.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hloscope {

// CRC-32 as zip and gzip use it.
uint32_t Crc32(std::string_view bytes);

// Raw deflate data; empty where they would not be smaller than `bytes`, or those are over 1 GiB.
std::string Deflate(std::string_view bytes, int level);

// Unpacks raw deflate data that fill `out` exactly; false where they do not.
bool InflateInto(std::string_view packed, std::span<char> out);

// Packs a stream as gzip data, without a name or a time in them.
class GzipStream {
 public:
  GzipStream();
  GzipStream(GzipStream&&) noexcept;
  GzipStream& operator=(GzipStream&&) noexcept;
  ~GzipStream();
  // Appends to `out` what is ready of it.
  void Append(std::string_view bytes, std::string& out);
  void Finish(std::string& out);

 private:
  struct State;
  void Step(std::string_view bytes, bool is_last, std::string& out);
  std::unique_ptr<State> state_;
};

}  // namespace hloscope
