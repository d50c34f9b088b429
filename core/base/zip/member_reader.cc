// Stored bytes as they are, deflated ones through one stream.
#include "core/base/zip/member_reader.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <utility>

#include "core/base/text.h"
#include "core/base/zip/zip_format.h"

namespace hloscope {
namespace {

constexpr uint64_t kPackedPart = uint64_t{1} << 20;  // of a file that is read at a time

}  // namespace

struct ZipMemberReader::Inflater {
  Inflater() { is_ready = inflateInit2(&stream, -MAX_WBITS) == Z_OK; }
  ~Inflater() {
    if (is_ready) inflateEnd(&stream);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream stream = {};
  std::string packed;  // what the stream is taking
  bool is_ready = false, has_ended = false;
};

ZipMemberReader::ZipMemberReader(FileParts file, const ZipArchive::Member& member)
    : file_(std::move(file)), member_(member) {
  if (member_.method == zip::kDeflated) inflater_ = std::make_unique<Inflater>();
}
ZipMemberReader::~ZipMemberReader() = default;
ZipMemberReader::ZipMemberReader(ZipMemberReader&&) noexcept = default;
ZipMemberReader& ZipMemberReader::operator=(ZipMemberReader&&) noexcept = default;

std::unexpected<Error> ZipMemberReader::Bad(std::string_view what) const {
  return InputError(fmt::format("{}: {} {}", file_.path(), EscapeForTerminal(member_.name), what));
}

Result<std::string> ZipMemberReader::Next(uint64_t size) {
  constexpr std::string_view kOtherSize = "does not unpack to its declared size";
  std::string bytes;
  if (inflater_ != nullptr) {
    HLOSCOPE_ASSIGN_OR_RETURN(bytes, Unpack(size));
  } else if (member_.packed_size != member_.size) {
    return Bad(kOtherSize);
  } else {
    HLOSCOPE_ASSIGN_OR_RETURN(bytes, file_.Read(member_.data_offset + given_, size));
  }
  if (bytes.size() != size) return Bad(kOtherSize);
  crc_ = static_cast<uint32_t>(
      crc32_z(crc_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
  given_ += size;
  if (left() > 0) return bytes;
  if (inflater_ != nullptr) {
    // The end of the data has to be where the member ends.
    HLOSCOPE_ASSIGN_OR_RETURN(const std::string more, Unpack(1));
    const bool all_used = inflater_->stream.avail_in == 0 && read_ == member_.packed_size;
    if (!more.empty() || !inflater_->has_ended || !all_used) return Bad(kOtherSize);
  }
  if (crc_ != member_.crc) return Bad("is damaged (wrong CRC)");
  return bytes;
}

// Fewer where the data end, or are broken.
Result<std::string> ZipMemberReader::Unpack(uint64_t size) {
  Inflater& from = *inflater_;
  std::string bytes(size, '\0');
  uint64_t have = 0;
  while (have < size && from.is_ready && !from.has_ended) {
    if (from.stream.avail_in == 0 && read_ < member_.packed_size) {
      const uint64_t part = std::min(kPackedPart, member_.packed_size - read_);
      HLOSCOPE_ASSIGN_OR_RETURN(from.packed, file_.Read(member_.data_offset + read_, part));
      read_ += part;
      from.stream.next_in = reinterpret_cast<Bytef*>(from.packed.data());
      from.stream.avail_in = static_cast<uInt>(part);
    }
    const auto room = static_cast<uInt>(std::min<uint64_t>(size - have, kPackedPart));
    from.stream.next_out = reinterpret_cast<Bytef*>(bytes.data() + have);
    from.stream.avail_out = room;
    const int status = inflate(&from.stream, Z_NO_FLUSH);
    have += room - from.stream.avail_out;
    from.has_ended = status == Z_STREAM_END;
    if (status != Z_OK && status != Z_STREAM_END) break;
  }
  bytes.resize(have);
  return bytes;
}

}  // namespace hloscope
