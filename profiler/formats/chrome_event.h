// One event of a Chrome trace, as its JSON object says it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/json_cursor.h"
#include "profiler/event_store.h"

namespace hloscope::profiler {

// The member of a trace that says of what nanosecond of the clock its times count, as PyTorch
// writes it too.
inline constexpr std::string_view kBaseTimeKey = "baseTimeNanoseconds";

// A decimal number of microseconds, exact to the picosecond: whole ones, and picoseconds of [0,
// 1000000).
struct Microseconds {
  int64_t whole = 0, picoseconds = 0;
};
// Nullopt for what is no number or beyond 2^62 microseconds.
std::optional<Microseconds> ParseMicroseconds(std::string_view text);

// Strings are as they are written, without their quotes; numbers likewise. Views into the text.
struct ChromeEvent {
  size_t where = 0;  // offset of its brace
  char phase = '\0';
  bool is_empty = true;  // {} ends the traces of JAX
  std::string_view name, category, id, process, thread;
  std::optional<Microseconds> time, duration;
  bool has_bad_number = false;
  // Of its arguments, those that are understood.
  std::string_view operation, module, program, shown_name, sort_index, role, part_of, is_device;
};

// The event whose `{` is the next token; nullopt if the text is malformed.
std::optional<ChromeEvent> ReadChromeEvent(JsonCursor& cursor);

// All members of its "args".
std::vector<Argument> ReadChromeArguments(JsonCursor& cursor);

}  // namespace hloscope::profiler
