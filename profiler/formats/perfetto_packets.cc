#include "profiler/formats/perfetto_packets.h"

#include <algorithm>

#include "core/base/gzip.h"
#include "core/hlo/proto/wire_reader.h"

namespace hloscope::profiler {

using hlo::AsBytes;
using hlo::WireField;
using hlo::WireReader;

void PerfettoBytes::ForEachPacket(const std::function<void(std::string_view packet)>& visit,
                                  Losses* losses) {
  next_unpacked_ = 0;
  Visit(source_.file().bytes(), true, visit, losses);
}

void PerfettoBytes::Visit(std::string_view trace, bool may_be_packed,
                          const std::function<void(std::string_view packet)>& visit,
                          Losses* losses) {
  WireReader reader(trace);
  WireField field, part;
  while (reader.Next(field)) {
    if (field.tag != AsBytes(1)) continue;
    std::string_view packed;
    WireReader parts(field.bytes);
    // Packed packets stand alone, so that the first fields tell.
    for (int i = 0; i < 4 && parts.Next(part); ++i) {
      if (part.tag == AsBytes(perfetto::packet::kCompressed)) packed = part.bytes;
    }
    if (packed.empty()) {
      visit(field.bytes);
    } else if (may_be_packed) {
      Visit(Unpack(packed, losses), false, visit, losses);
    } else if (losses != nullptr) {
      losses->Count("nested compressed packets",
                    [] { return std::string("inside of compressed ones"); });
    }
  }
  if (reader.ok()) return;
  is_cut_ = true;
  if (losses == nullptr) return;
  losses->Count("truncated or invalid packets, and everything after them", [&] {
    return std::to_string(trace.size()) + (may_be_packed ? " bytes of the file" : " packed bytes");
  });
}

std::string_view PerfettoBytes::Unpack(std::string_view packed, Losses* losses) {
  if (next_unpacked_ < unpacked_.size() && unpacked_[next_unpacked_].packed == packed.data()) {
    return unpacked_[next_unpacked_++].buffer.bytes();
  }
  if (losses == nullptr) return {};  // could not be unpacked the first time
  Result<ByteBuffer> bytes = Unzlib(packed, limits_);
  const bool fits =
      bytes && std::cmp_less_equal(unpacked_bytes_ + bytes->size(), limits_.archive_bytes);
  if (!fits) {
    losses->Count("compressed packets that cannot be decompressed",
                  [&] { return bytes ? "more than the limit archive" : bytes.error().message; });
    return {};
  }
  unpacked_.push_back({packed.data(), size_ + unpacked_bytes_, *std::move(bytes)});
  unpacked_bytes_ += unpacked_.back().buffer.size();
  next_unpacked_ = unpacked_.size();
  return unpacked_.back().buffer.bytes();
}

uint64_t PerfettoBytes::OffsetOf(std::string_view part) const {
  const auto inside = [&](std::string_view whole) {
    return part.data() >= whole.data() && part.data() < whole.data() + whole.size();
  };
  const std::string_view file = source_.file().bytes();
  if (inside(file)) return static_cast<uint64_t>(part.data() - file.data());
  // The one that is being read.
  const Unpacked& last = unpacked_[next_unpacked_ - 1];
  return last.base + static_cast<uint64_t>(part.data() - last.buffer.bytes().data());
}

std::string_view PerfettoBytes::FromUnpacked(uint64_t offset) const {
  auto after = std::ranges::upper_bound(unpacked_, offset, {}, &Unpacked::base);
  if (after == unpacked_.begin()) return {};
  const Unpacked& found = *std::prev(after);
  const uint64_t inside = offset - found.base;
  return inside < found.buffer.size() ? found.buffer.bytes().substr(inside) : std::string_view();
}

}  // namespace hloscope::profiler
