// The rows of limits.def as data.
#include "core/base/limits.h"

#include <fmt/format.h>

namespace hloscope {
namespace {

constexpr LimitRow kRows[] = {
#define LIMIT(field, name, value, cap, unit, reason) \
  {name, &Limits::field, value, cap, unit, reason},
#include "core/base/limits.def"
#undef LIMIT
};

}  // namespace

std::span<const LimitRow> LimitRows() { return kRows; }

Status SetLimit(Limits& limits, std::string_view name, int64_t value) {
  for (const LimitRow& row : kRows) {
    if (row.name != name) continue;
    if (value < 1 || value > row.hard_cap) {
      return InputError(fmt::format("limit {} is {}, expected 1 to {}", name, value, row.hard_cap));
    }
    limits.*row.field = value;
    return {};
  }
  return InputError(fmt::format("unknown limit {}", name), "`hloscope limits` lists them");
}

}  // namespace hloscope
