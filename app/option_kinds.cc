#include "app/option_kinds.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

#include "core/base/checked.h"

namespace hloscope::app {

Result<int64_t> BytesFromText(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const char* after = std::from_chars(text.data(), end, value).ptr;
  constexpr std::string_view kUnits = "KMGT";
  size_t power = 0;
  if (after != text.data() && after + 1 == end) {
    const size_t unit = kUnits.find(static_cast<char>(std::toupper(*after)));
    if (unit != std::string_view::npos) power = unit + 1, ++after;
  }
  const std::optional<int64_t> bytes = CheckedMul(value, int64_t{1} << (10 * power));
  if (after != end || value <= 0 || !bytes) {
    return InputError(fmt::format("expected bytes, got {}", text), "for example 500M or 8G");
  }
  return *bytes;
}

}  // namespace hloscope::app
