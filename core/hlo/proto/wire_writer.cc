// Growth of the buffer, and packed lists.
#include "core/hlo/proto/wire_writer.h"

#include <algorithm>

namespace hloscope::hlo {

void WireWriter::Grow(size_t bytes) {
  buffer_.resize(std::max(position_ + bytes, std::max<size_t>(256, buffer_.size() * 2)));
}

void WireWriter::PackedInts(uint32_t number, std::span<const int64_t> values) {
  if (values.empty()) return;
  Mark mark = Open(number);
  for (int64_t value : values) Advance(PutVarint(Room(10), static_cast<uint64_t>(value)));
  Close(mark);
}

}  // namespace hloscope::hlo
