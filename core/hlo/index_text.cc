#include "core/hlo/index_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hloscope::hlo {

std::string ArrayIndexText(std::span<const int64_t> index) {
  return fmt::format("[{}]", fmt::join(index, ","));
}

std::string ShapeIndexText(std::span<const int64_t> index) {
  return fmt::format("{{{}}}", fmt::join(index, ","));
}

}  // namespace hloscope::hlo
