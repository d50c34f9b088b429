// The rows of limits.def as data.
#include "core/base/limits.h"

#include <fmt/format.h>

#include "core/base/closest_text.h"

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
      return InputError(
          fmt::format("limit {}: expected 1 to {}, got {}", name, row.hard_cap, value));
    }
    limits.*row.field = value;
    return {};
  }
  ClosestText closest(name);
  for (const LimitRow& row : kRows) closest.Offer(row.name);
  const std::string hint = closest.Hint();
  return InputError(fmt::format("unknown limit {}", name),
                    hint.empty() ? "`hloscope limits` lists them" : hint);
}

}  // namespace hloscope
