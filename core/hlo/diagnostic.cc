#include "core/hlo/diagnostic.h"

#include <algorithm>

namespace hloscope::hlo {

LineIndex::LineIndex(std::string_view text) : line_starts_{0}, size_(text.size()) {
  for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    line_starts_.push_back(at + 1);
  }
}

Place LineIndex::PlaceOf(uint64_t offset, std::string_view file) const {
  Place place{std::string(file), 0, 0};
  if (offset > size_) return place;
  auto after = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  place.line = static_cast<uint32_t>(after - line_starts_.begin());
  place.column = static_cast<uint32_t>(offset - *(after - 1) + 1);
  return place;
}

}  // namespace hloscope::hlo
