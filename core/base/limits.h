// The limits in force. One Limits value is passed to everything that reads or runs; there is no
// global.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/result.h"

namespace hloscope {

struct Limits {
#define LIMIT(field, name, value, cap, unit, reason) int64_t field = value;
#include "core/base/limits.def"
#undef LIMIT
};

// One row of limits.def.
struct LimitRow {
  std::string_view name;
  int64_t Limits::* field;
  int64_t default_value;
  int64_t hard_cap;
  std::string_view unit;
  std::string_view reason;
};

std::span<const LimitRow> LimitRows();

// Sets the limit called `name`; an unknown name or a value outside [1, hard cap] is an input error.
Status SetLimit(Limits& limits, std::string_view name, int64_t value);

}  // namespace hloscope
