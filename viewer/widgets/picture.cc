// PNG: one filtered and deflated stream of rows (PNG specification, second edition).
#include "viewer/widgets/picture.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace hloscope::viewer {
namespace {

void PutWord(std::string& out, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

void PutChunk(std::string& out, std::string_view kind, std::string_view data) {
  PutWord(out, static_cast<uint32_t>(data.size()));
  size_t begin = out.size();
  out += kind;
  out += data;
  auto bytes = reinterpret_cast<const Bytef*>(out.data() + begin);
  PutWord(out, static_cast<uint32_t>(crc32(0, bytes, static_cast<uInt>(out.size() - begin))));
}

}  // namespace

Picture Picture::Cut(int x, int y, int w, int h) const {
  Picture out;
  int left = std::clamp(x, 0, width), top = std::clamp(y, 0, height);
  out.width = std::clamp(x + w, left, width) - left;
  out.height = std::clamp(y + h, top, height) - top;
  for (int row = 0; row < out.height; ++row) {
    auto begin = rgb.begin() + (static_cast<ptrdiff_t>(top + row) * width + left) * 3;
    out.rgb.insert(out.rgb.end(), begin, begin + static_cast<ptrdiff_t>(out.width) * 3);
  }
  return out;
}

Result<std::string> ToPng(const Picture& picture) {
  if (picture.width <= 0 || picture.height <= 0) return InputError("the picture is empty");
  auto row_bytes = static_cast<size_t>(picture.width) * 3;
  std::string rows;
  for (size_t y = 0; y < static_cast<size_t>(picture.height); ++y) {
    // The difference to the row above packs flat surfaces and text best.
    rows += static_cast<char>(y == 0 ? 0 : 2);
    for (size_t i = 0; i < row_bytes; ++i) {
      uint8_t above = y == 0 ? uint8_t{0} : picture.rgb[(y - 1) * row_bytes + i];
      rows += static_cast<char>(picture.rgb[y * row_bytes + i] - above);
    }
  }
  uLongf size = compressBound(static_cast<uLong>(rows.size()));
  std::string packed(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                reinterpret_cast<const Bytef*>(rows.data()), static_cast<uLong>(rows.size()),
                6) != Z_OK)
    return InternalError("cannot compress the pixels");
  packed.resize(size);

  std::string out = "\x89PNG\r\n\x1a\n", header;
  PutWord(header, static_cast<uint32_t>(picture.width));
  PutWord(header, static_cast<uint32_t>(picture.height));
  header += std::string_view("\x08\x02\0\0\0", 5);  // eight bits of red, green and blue
  PutChunk(out, "IHDR", header);
  PutChunk(out, "IDAT", packed);
  PutChunk(out, "IEND", "");
  return out;
}

}  // namespace hloscope::viewer
