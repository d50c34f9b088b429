#include "core/analysis/compilation/slow_alarms.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "core/dump/readers/line_reader.h"

namespace hloscope::analysis {

using dump::TakeWord;

bool SlowAlarms::Line(std::string_view text) {
  begun_.clear();
  ended_ = {};
  if (text.find_first_not_of('*') == text.npos) return false;  // the frame of an alarm
  const bool is_repeated = std::exchange(took_, false);
  if (std::exchange(awaits_name_, false)) {
    const std::string_view word = text.substr(0, text.find(' '));
    if (!open_.empty()) open_.back().folded = word.substr(word.starts_with('%') ? 1 : 0);
    return true;
  }
  const std::string_view module = dump::Between(text, "[Compiling module ", "] Very slow");
  const bool is_folding = text.starts_with("Constant folding an instruction is taking ");
  if (!module.empty() || is_folding) {
    begun_ = module;
    awaits_name_ = is_folding && !is_repeated;
    if (!is_repeated) open_.push_back({std::string(module), {}, 0});
    return true;
  }
  if (!TakeWord(text, "The operation took ") || open_.empty()) return false;
  took_ = true;
  if (const auto us = DurationUs(text)) {
    ended_ = std::move(open_.back());
    ended_.us = *us;
  }
  open_.pop_back();
  return true;
}

// "2m12.850942799s", "19.27" (seconds), "350ms" in microseconds; absent where it is none.
std::optional<int64_t> DurationUs(std::string_view text) {
  double total = 0;
  text = dump::Trim(text);
  if (text.empty()) return std::nullopt;
  while (!text.empty()) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    double unit = 1e6;
    if (TakeWord(text, "ms")) {
      unit = 1e3;
    } else if (TakeWord(text, "us")) {
      unit = 1;
    } else if (TakeWord(text, "h")) {
      unit = 3600e6;
    } else if (TakeWord(text, "m")) {
      unit = 60e6;
    } else {
      TakeWord(text, "s");
    }
    total += value * unit;
  }
  return total < 1e15 ? std::optional(std::llround(total)) : std::nullopt;
}

}  // namespace hloscope::analysis
