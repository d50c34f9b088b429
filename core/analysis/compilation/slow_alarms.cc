#include "core/analysis/compilation/slow_alarms.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

#include "core/base/counted.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::analysis {

using dump::TakeWord;

constexpr size_t kMaxOpen = 64;  // alarms whose end is awaited: of more, the oldest is forgotten
constexpr size_t kMaxNamed = 5;

bool SlowAlarms::Line(std::string_view text) {
  begun_.clear();
  ended_ = {};
  if (text.find_first_not_of('*') == text.npos) return false;  // the frame of an alarm
  const bool is_time = TakeWord(text, "The operation took ");
  const std::string_view module = dump::Between(text, "[Compiling module ", "] Very slow");
  const bool is_folding = text.starts_with("Constant folding an instruction is taking ");
  if (std::exchange(awaits_name_, false)) {
    if (!is_time && module.empty() && !is_folding) {
      const std::string_view word = text.substr(0, text.find(' '));
      Name({{}, std::string(word.substr(word.starts_with('%') ? 1 : 0))});
      return true;
    }
    if (!took_) Open({});  // whose name is lost
  }
  if (!module.empty()) {
    begun_ = module;
    Name({begun_, {}});
    return true;
  }
  awaits_name_ = is_folding;
  if (is_folding) return true;
  if (std::exchange(took_, false) && us_) EndInnermost();
  if (!is_time) return false;
  took_ = true;
  us_ = DurationUs(text);
  if (open_.size() == 1) EndInnermost();
  return true;
}

void SlowAlarms::Open(SlowOperation operation) {
  if (open_.size() == kMaxOpen) open_.erase(open_.begin());
  open_.push_back(std::move(operation));
}

void SlowAlarms::Name(SlowOperation operation) {
  if (!std::exchange(took_, false)) return Open(std::move(operation));
  if (const auto at = std::ranges::find(open_, operation); at != open_.end()) open_.erase(at);
  End(std::move(operation));
}

void SlowAlarms::EndInnermost() {
  if (open_.empty()) return;
  End(std::move(open_.back()));
  open_.pop_back();
}

void SlowAlarms::End(SlowOperation operation) {
  const auto us = std::exchange(us_, std::nullopt);
  if (!us) return;
  ended_ = std::move(operation);
  ended_.us = *us;
}

FoldingSum SumFoldings(std::vector<SlowFolding> foldings, std::optional<int64_t> whole_us) {
  const auto seconds = [](double us) { return fmt::format("{:.1f} s", us / 1e6); };
  std::ranges::stable_sort(foldings, std::greater(), &SlowFolding::us);
  FoldingSum out;
  size_t more = 0, beyond = 0;
  double more_us = 0, beyond_us = 0;
  for (SlowFolding& folding : foldings) {
    if (folding.us > whole_us.value_or(int64_t{1} << 60) - out.us) {
      ++beyond;
      beyond_us += static_cast<double>(folding.us);
      continue;
    }
    out.us += folding.us;
    if (out.longest.size() < kMaxNamed) {
      out.longest.push_back(std::move(folding));
    } else {
      ++more;
      more_us += static_cast<double>(folding.us);
    }
  }
  if (more != 0)
    out.notes.push_back(
        fmt::format("constant_folding computed {} more {} for {}, as XLA's alarm says", more,
                    VerbFor(more, "instruction", "instructions"), seconds(more_us)));
  if (beyond != 0)
    out.notes.push_back(fmt::format(
        "{} of {} that XLA's alarm timed {} left out: with {} constant_folding would take longer "
        "than the whole compilation, and the log does not say of which compilation {}",
        Counted(beyond, "folding"), seconds(beyond_us), VerbFor(beyond, "is", "are"),
        VerbFor(beyond, "it", "them"), VerbFor(beyond, "it is", "they are")));
  return out;
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
