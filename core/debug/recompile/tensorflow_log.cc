// device_executable_persistor.h: "Loading cached entry for: NAME[…" before the next;
// device_compilation_profiler.cc: "Compiled NAME N times, compile time: T us, …"; tf.function: "5
// out of the last 5 calls to <function NAME at 0x…> triggered tf.function retracing."
#include "core/debug/recompile/tensorflow_log.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/debug/recompile/log_line.h"

namespace hloscope::debug {

void TensorFlowLog::Warn(int64_t line, std::string_view what) {
  log_.warnings.push_back(fmt::format("{}:{}: {}", name_, line, what));
}

bool TensorFlowLog::Take(std::string_view line, int64_t number) {
  if (const auto cached = Behind(line, "Loading cached entry for: ")) {
    cached_.insert(std::string(Before(*cached, "[")));
    return true;
  }
  if (line.find("device_executable_persistor.h:") != std::string_view::npos) return true;
  const auto compiled = Behind(line, "Compiled ");
  if (compiled && compiled->find(" times, compile time: ") != std::string_view::npos)
    return TakeCompiled(*compiled, number);
  for (std::string_view mark :
       {" times, compile time: ", " us, cumulative: ", "device_compilation_profiler"}) {
    if (line.find(mark) == std::string_view::npos) continue;
    Warn(number, "an unreadable line about a compilation");
    return true;
  }
  if (line.find("triggered tf.function retracing") == std::string_view::npos) return false;
  TakeRetracing(line, number);
  return true;
}

bool TensorFlowLog::TakeCompiled(std::string_view rest, int64_t number) {
  const std::string_view name = Before(rest, " ");
  const auto times = LeadingNumber(Behind(rest, " ").value_or(""));
  const auto time = LeadingNumber(*Behind(rest, " times, compile time: "));
  if (name.empty() || !times || !time) {
    Warn(number, "a compilation whose count or time cannot be read");
    return true;
  }
  const auto total = Behind(rest, " us, cumulative: ");
  const bool whole = total && Trimmed(*total).ends_with(')') &&
                     total->find('(') == total->rfind('(') && total->find(':') == std::string::npos;
  if (!whole)
    Warn(number,
         "the line goes on after a compilation as none of TensorFlow's does: "
         "another may be lost in it");
  LoggedCompilation one;
  one.framework = "TensorFlow";
  one.program = ProgramName(one.framework, name);
  one.key = one.series = ProgramKey(one.framework, name);
  one.line = number;
  one.compile_ms = *time / 1e3;
  one.from_cache = cached_.erase(std::string(name)) > 0;
  const int64_t before = compiled_[std::string(name)]++;
  one.note = before > 0 ? "the same trace, so a shape that the trace leaves open or the value of a "
                          "compile-time constant"
                        : "retraced, so a shape, an element type or a Python value";
  if (static_cast<int64_t>(*times) > before + 1)
    Warn(number, fmt::format("compilation {} of `{}`: earlier compilations are missing in the log",
                             *times, name));
  log_.compilations.push_back(std::move(one));
  return true;
}

void TensorFlowLog::TakeRetracing(std::string_view line, int64_t number) {
  const auto function = Behind(line, "calls to <");
  std::string name;
  if (function) {
    // <function step at 0x7f…>, <function Model.make.<locals>.step at 0x7f…>, or an object
    name = Before(Behind(*function, "function ").value_or(*function), " at 0x");
  }
  const size_t out = line.find(" out of the last ");
  size_t first = out;
  while (out != std::string_view::npos && first > 0 && line[first - 1] >= '0' &&
         line[first - 1] <= '9')
    --first;
  const auto count =
      out == std::string_view::npos ? std::nullopt : LeadingNumber(line.substr(first));
  if (name.empty() || !count) {
    Warn(number, "a warning of retracing whose function or count cannot be read");
    return;
  }
  Retracing& seen = retracing_[name];
  seen.calls = std::max(seen.calls, static_cast<int64_t>(std::min(*count, 1e6)));
  seen.line = number;
}

void TensorFlowLog::Finish() {
  for (const auto& [function, seen] : retracing_) {
    LoggedCompilation one;
    one.framework = "TensorFlow";
    one.program = function;
    one.key = one.series = ProgramKey(one.framework, function);
    one.line = seen.line;
    one.is_compilation = false;
    one.note = fmt::format(
        "tf.function retraced {} of its last calls: a shape, a Python value, or "
        "the function made again in a loop",
        seen.calls);
    const bool compiled = std::ranges::any_of(
        log_.compilations, [&](const auto& other) { return other.key == one.key; });
    if (compiled) continue;
    // Two stand for the series: how many were compiled the warning does not say.
    log_.compilations.push_back(one);
    log_.compilations.push_back(std::move(one));
  }
}

}  // namespace hloscope::debug
