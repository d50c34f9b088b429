// Reading of the JSON objects of a Chrome trace.
#include "profiler/formats/chrome_event.h"

#include <charconv>
#include <cmath>

namespace hloscope::profiler {
namespace {

constexpr int64_t kPicoseconds = 1'000'000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::optional<Microseconds> FromDouble(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (!(std::abs(value) < 0x1p62)) return std::nullopt;
  const double whole = std::floor(value);
  Microseconds result{static_cast<int64_t>(whole), std::llround((value - whole) * kPicoseconds)};
  if (result.picoseconds == kPicoseconds) result = {result.whole + 1, 0};
  return result;
}

// A string or a number as it is written.
std::optional<std::string_view> ReadScalar(JsonCursor& cursor) {
  if (cursor.Peek() == '"') return cursor.ReadRawString();
  if (cursor.Peek() == '{' || cursor.Peek() == '[') return cursor.SkipValue();
  return cursor.ReadWord();
}

// Fills in `target`; false if the text is malformed.
bool ReadInto(JsonCursor& cursor, std::string_view& target) {
  std::optional<std::string_view> text = ReadScalar(cursor);
  if (text) target = *text;
  return text.has_value();
}

std::string_view* ArgumentOfKey(ChromeEvent& event, std::string_view key) {
  if (key == "hlo_op") return &event.operation;
  if (key == "hlo_module") return &event.module;
  if (key == "program_id") return &event.program;
  if (key == "name") return &event.shown_name;
  if (key == "sort_index") return &event.sort_index;
  if (key == "role") return &event.role;
  if (key == "part_of") return &event.part_of;
  if (key == "is_device") return &event.is_device;
  return nullptr;
}

bool ReadChromeValues(JsonCursor& cursor, ChromeEvent& event) {
  if (!cursor.Consume('{')) return cursor.SkipValue().has_value();
  bool is_first = true;
  while (std::optional<std::string_view> key = cursor.NextKey(is_first)) {
    std::string_view* const target = ArgumentOfKey(event, *key);
    const bool sound =
        target != nullptr ? ReadInto(cursor, *target) : cursor.SkipValue().has_value();
    if (!sound) return false;
  }
  return !cursor.failed();
}

bool ReadTime(JsonCursor& cursor, ChromeEvent& event, std::optional<Microseconds>& time) {
  std::string_view text;
  if (!ReadInto(cursor, text)) return false;
  time = ParseMicroseconds(text);
  event.has_bad_number |= !time.has_value();
  return true;
}

bool ReadMember(JsonCursor& cursor, std::string_view key, ChromeEvent& event) {
  if (key == "ts") return ReadTime(cursor, event, event.time);
  if (key == "dur") return ReadTime(cursor, event, event.duration);
  if (key == "pid") return ReadInto(cursor, event.process);
  if (key == "tid") return ReadInto(cursor, event.thread);
  if (key == "name") return ReadInto(cursor, event.name);
  if (key == "cat") return ReadInto(cursor, event.category);
  if (key == "id" || key == "id2") return ReadInto(cursor, event.id);
  if (key == "args") return ReadChromeValues(cursor, event);
  if (key != "ph") return cursor.SkipValue().has_value();
  std::string_view phase;
  if (!ReadInto(cursor, phase)) return false;
  event.phase = phase.size() == 1 ? phase[0] : '\0';
  return true;
}

Argument ArgumentOf(std::string_view key, JsonCursor& cursor) {
  Argument argument{UnescapeJson(key), std::string()};
  if (cursor.Peek() == '"') {
    argument.value = UnescapeJson(cursor.ReadRawString().value_or(""));
    return argument;
  }
  const std::string_view text = cursor.SkipValue().value_or("");
  const char* end = text.data() + text.size();
  int64_t integer = 0;
  uint64_t large = 0;
  double real = 0;
  if (auto r = std::from_chars(text.data(), end, integer); r.ec == std::errc() && r.ptr == end) {
    argument.value = integer;
  } else if (auto u = std::from_chars(text.data(), end, large);
             u.ec == std::errc() && u.ptr == end) {
    argument.value = large;
  } else if (auto d = std::from_chars(text.data(), end, real);
             d.ec == std::errc() && d.ptr == end) {
    argument.value = real;
  } else {
    argument.value = std::string(text);
  }
  return argument;
}

}  // namespace

std::optional<Microseconds> ParseMicroseconds(std::string_view text) {
  constexpr size_t kExact = 18;
  const bool is_negative = text.starts_with('-');
  size_t i = is_negative ? 1 : 0;
  const size_t first = i;
  Microseconds result;
  for (; i < text.size() && i - first < kExact && IsDigit(text[i]); ++i) {
    result.whole = result.whole * 10 + (text[i] - '0');
  }
  if (i == first) return FromDouble(text);
  if (i < text.size() && text[i] == '.') {
    int64_t unit = kPicoseconds;
    for (++i; i < text.size() && IsDigit(text[i]); ++i) {
      // The seventh digit rounds.
      if (unit == 1 && text[i] >= '5') ++result.picoseconds;
      unit /= 10;
      result.picoseconds += unit * (text[i] - '0');
    }
  }
  if (i != text.size()) return FromDouble(text);
  if (is_negative) result = {-result.whole, -result.picoseconds};
  if (result.picoseconds < 0) result = {result.whole - 1, result.picoseconds + kPicoseconds};
  if (result.picoseconds >= kPicoseconds) {
    result = {result.whole + 1, result.picoseconds - kPicoseconds};
  }
  return result;
}

std::optional<ChromeEvent> ReadChromeEvent(JsonCursor& cursor) {
  ChromeEvent event;
  event.where = cursor.position();
  if (!cursor.Consume('{')) return std::nullopt;
  bool is_first = true;
  while (std::optional<std::string_view> key = cursor.NextKey(is_first)) {
    event.is_empty = false;
    if (!ReadMember(cursor, *key, event)) return std::nullopt;
  }
  if (cursor.failed()) return std::nullopt;
  return event;
}

std::vector<Argument> ReadChromeArguments(JsonCursor& cursor) {
  std::vector<Argument> arguments;
  bool is_first = true;
  if (!cursor.Consume('{')) return arguments;
  while (std::optional<std::string_view> key = cursor.NextKey(is_first)) {
    if (*key != "args" || !cursor.Consume('{')) {
      if (!cursor.SkipValue()) return arguments;
      continue;
    }
    bool is_first_argument = true;
    while (std::optional<std::string_view> name = cursor.NextKey(is_first_argument)) {
      arguments.push_back(ArgumentOf(*name, cursor));
      if (cursor.failed()) return arguments;
    }
  }
  return arguments;
}

}  // namespace hloscope::profiler
