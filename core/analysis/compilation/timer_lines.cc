// Timer lines of XLA's log (TF_CPP_VMODULE=hlo_pass_pipeline=1,cpu_compiler=1,…): one for each
// scope that ended, "TEXT time: HUMAN (N us) (cumulative: …)". The cumulative time is that of the
// line of XLA's source over the whole process, so only N counts.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>

#include "core/analysis/compilation/compile_time.h"
#include "core/analysis/compilation/slow_alarms.h"
#include "core/base/text.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::analysis {
namespace {

using dump::TakeWord;

struct Timer {
  std::optional<int64_t> LoggedTimes::* field;
  std::string_view before, after;
  bool names_module;
};
constexpr Timer kTimers[] = {
#define LOG_TIMER(field, before, after, names_module) \
  {&LoggedTimes::field, before, after, names_module},
#include "core/analysis/compilation/log_timers.def"
#undef LOG_TIMER
};

constexpr size_t kMaxOpen = 64;  // pipelines and passes that one thread is in

// "I1129 05:31:49.108354   20495 file.cc:176] TEXT" or "2025-03-19 07:30:02.045318: I …]": the
// thread where it is given, and the text.
std::string_view TakePrefix(std::string_view& line) {
  const size_t bracket = line.find("] ");
  if (bracket == line.npos) return {};
  const std::string_view prefix = line.substr(0, bracket);
  if (prefix.rfind(".cc:") == prefix.npos) return {};
  line.remove_prefix(bracket + 2);
  const size_t last = prefix.rfind(' ');
  if (last == prefix.npos) return {};
  const std::string_view rest = dump::Trim(prefix.substr(0, last));
  const std::string_view thread = rest.substr(rest.rfind(' ') + 1);
  const bool is_number =
      !thread.empty() && std::ranges::all_of(thread, [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? thread : std::string_view();
}

// The N of "… time: HUMAN (N us) (cumulative: …)": what is before " time: " is left in `text`.
std::optional<int64_t> TakeTime(std::string_view& text) {
  const size_t time = text.find(" time: ");
  if (time == text.npos || !text.ends_with(')')) return std::nullopt;  // cut off
  if (!text.substr(time).contains(" us) (cumulative: ")) return std::nullopt;
  std::string_view rest = dump::Between(text.substr(time), "(", " us)");
  const std::optional<int64_t> us = dump::TakeNumber(rest);
  if (!us || !rest.empty() || *us < 0 || *us > int64_t{1} << 50) return std::nullopt;
  text = text.substr(0, time);
  return us;
}

// "I1129 05:31:49.1" or the first bytes of it, or "2025-03-19 07:30:02" before TensorFlow 2.19.
bool BeginsAsLogged(std::string_view line) {
  constexpr std::string_view kLevels = "IWEF";
  const bool has_level = !line.empty() && kLevels.contains(line.front());
  if (has_level) line.remove_prefix(1);
  return (has_level || line.size() >= 4) &&
         std::ranges::all_of(line.substr(0, 4), [](char c) { return c >= '0' && c <= '9'; });
}

// Bytes that no log has: control characters other than those of tabs, colours and progress bars, or
// more than a few that are no UTF-8 (a program may print in another encoding).
bool HasNoise(std::string_view line) {
  constexpr std::string_view kUsual = "\t\r\b\a\x1b";
  constexpr int kMaxForeign = 4;
  int foreign = 0;
  while (!line.empty()) {
    const auto c = static_cast<unsigned char>(line.front());
    if ((c < ' ' && !kUsual.contains(line.front())) || c == 0x7f) return true;
    const size_t length = DecodeUtf8(line).length;
    if (length == 0 && ++foreign > kMaxForeign) return true;
    line.remove_prefix(std::max<size_t>(length, 1));
  }
  return false;
}

// Whether a line that is no whole timer line was one, or may have been.
bool IsDamaged(std::string_view line) {
  if (HasNoise(line)) return true;
  std::string_view text = line;
  if (TakePrefix(text); TakeTime(text)) return false;  // a timer of something else
  for (const std::string_view part : {"(cumulative: ", "#called: ", "HLO pass: "})
    if (line.contains(part)) return true;
  return false;
}

// What one thread is doing.
struct Thread {
  std::string module;
  // Pipelines that were started and passes that are running in them, in order.
  struct Open {
    std::string name, module;
    bool is_pass;
    size_t compilation;  // of the reader's times
    int64_t inner_us = 0;
  };
  std::vector<Open> open;
};

class Reader {
 public:
  TimerLog Read(std::string_view log) {
    TimerLog out;
    dump::LineReader lines(log);
    for (std::string_view line; lines.Next(line);) {
      const std::string_view whole = line;
      const std::string_view thread = TakePrefix(line);
      const bool is_whole = Line(threads_[std::string(thread)], dump::Trim(line));
      const bool is_cut = lines.rest().empty() && !log.ends_with('\n') && BeginsAsLogged(whole);
      const bool is_lost = is_whole ? HasNoise(whole) : is_cut || IsDamaged(whole);
      if (is_lost && out.lost_lines++ == 0) out.first_lost_line = lines.number();
    }
    for (auto& [name, thread] : threads_) Leave(thread, thread.open.begin());
    if (times_.size() == 1) std::ranges::move(foldings_, std::back_inserter(times_[0].foldings));
    out.compilations = std::move(times_);
    return out;
  }

 private:
  // False where it is no timer line, or a damaged one.
  bool Line(Thread& thread, std::string_view text) {
    if (TakeWord(text, "Running HLO pass pipeline on module ")) {
      const size_t colon = text.find(": ");
      if (colon == text.npos) return false;
      const std::string_view pipeline = text.substr(colon + 2);
      // Within a pass of another module, as the autotuner compiles what it tries.
      thread.module = text.substr(0, colon);
      if (IsStartedAgain(thread, pipeline)) Abandon(thread);
      // A pipeline that is no pass of another ends without a line.
      while (!thread.open.empty() && !thread.open.back().is_pass) thread.open.pop_back();
      const size_t compilation = Of(thread.module);
      if (begun_[compilation].first_pipeline.empty()) begun_[compilation].first_pipeline = pipeline;
      thread.open.push_back({std::string(pipeline), thread.module, false, compilation});
    } else if (TakeWord(text, "HLO pass: ")) {
      const auto us = TakeTime(text);
      if (us) EndPass(thread, text, *us);
      return us.has_value();
    } else if (TakeWord(text, "HLO pass ")) {
      // As deep as no compiler nests: lines of passes that ended may be lost.
      if (thread.open.size() == kMaxOpen) {
        Leave(thread.open.front());
        thread.open.erase(thread.open.begin());
      }
      const size_t compilation = Last(thread.module);
      ++begun_[compilation].open_passes;
      thread.open.push_back({std::string(dump::Trim(text)), thread.module, true, compilation});
    } else {
      return Other(text);
    }
    return true;
  }

  // What is open ends without a line; of a pipeline that is usual.
  void Leave(Thread::Open& open) {
    if (!open.is_pass) return;
    times_[open.compilation].untimed.push_back(std::move(open.name));
    --begun_[open.compilation].open_passes;
  }
  void Leave(Thread& thread, std::vector<Thread::Open>::iterator from) {
    for (auto at = from; at != thread.open.end(); ++at) Leave(*at);
    thread.open.erase(from, thread.open.end());
  }

  // A compilation that stopped, in a pass or after its passes, and was started again: the pipeline
  // is its first, and no part of a pass of that name.
  bool IsStartedAgain(const Thread& thread, std::string_view pipeline) const {
    const auto at = latest_.find(CompilationKey(thread.module));
    if (at == latest_.end()) return false;
    const Begun& begun = begun_[at->second];
    if (begun.first_pipeline != pipeline) return false;
    const bool is_part = std::ranges::any_of(thread.open, [&](const Thread::Open& open) {
      return open.is_pass && open.compilation == at->second && open.name == pipeline;
    });
    return !is_part && (begun.open_passes > 0 || times_[at->second].passes_us);
  }
  void Abandon(Thread& thread) {
    const auto at = latest_.find(CompilationKey(thread.module));
    Leave(thread, std::ranges::find(thread.open, at->second, &Thread::Open::compilation));
    latest_.erase(at);
  }

  void EndPass(Thread& thread, std::string_view name, int64_t us) {
    auto at = std::find_if(thread.open.rbegin(), thread.open.rend(), [&](const Thread::Open& open) {
      return open.is_pass && open.name == name;
    });
    int64_t inner = 0;
    if (at != thread.open.rend()) {
      inner = at->inner_us;
      thread.module = at->module;
      Leave(thread, at.base());
      --begun_[thread.open.back().compilation].open_passes;
      thread.open.pop_back();
    }
    PassRun run{.pass = std::string(name), .pipeline = {}};
    for (const Thread::Open& open : thread.open) {
      if (!open.is_pass) run.pipeline = open.name;
    }
    const auto outer = std::find_if(thread.open.rbegin(), thread.open.rend(),
                                    [](const Thread::Open& open) { return open.is_pass; });
    if (outer != thread.open.rend()) outer->inner_us += us;
    run.end_us = us;
    // Times are rounded line by line, so what ran inside may seem longer.
    run.self_us = std::max<int64_t>(us - inner, 0);
    times_[Of(thread.module)].runs.push_back(std::move(run));
  }

  bool Other(std::string_view text) {
    if (Whole(text)) return true;
    for (const Timer& timer : kTimers) {
      std::string_view rest = text;
      if (!TakeWord(rest, timer.before)) continue;
      const auto us = TakeTime(rest);
      if (!us) continue;
      std::string module = current_;
      if (timer.names_module) {
        if (!rest.ends_with(timer.after)) continue;
        module = rest.substr(0, rest.size() - timer.after.size());
        current_ = module;
      }
      LoggedTimes& times = times_[timer.names_module ? Of(module) : Last(module)];
      std::optional<int64_t>& field = times.*timer.field;
      field = field.value_or(0) + *us;
      if (timer.field == &LoggedTimes::passes_us) times.runs_before_backend = times.runs.size();
      if (timer.field == &LoggedTimes::backend_us)
        latest_.erase(CompilationKey(module));  // it is done
      return true;
    }
    return false;
  }

  void EndWhole(size_t compilation, int64_t us) {
    times_[compilation].whole_us = us;
    std::ranges::move(foldings_, std::back_inserter(times_[compilation].foldings));
    foldings_.clear();
  }

  // How long a compilation took as a whole: JAX's line after it, and XLA's alarm.
  bool Whole(std::string_view text) {
    const bool is_alarm = alarms_.Line(text);
    if (!alarms_.begun().empty()) Last(alarms_.begun());
    const SlowOperation& ended = alarms_.ended();
    if (!ended.folded.empty()) foldings_.push_back({ended.folded, ended.us});
    if (!ended.module.empty()) EndWhole(Last(ended.module), ended.us);
    if (is_alarm) return true;
    const size_t finished = text.find("Finished XLA compilation of ");
    if (finished == text.npos) return false;
    text.remove_prefix(finished);
    const std::string name = ModuleOf(dump::Between(text, " of ", " in "));
    const auto us = DurationUs(dump::Between(text, " in ", " sec"));
    if (!us) return true;
    size_t at = Last(name);
    if (finished_.contains(at)) at = Of(name);
    finished_.insert(at);
    EndWhole(at, *us);
    latest_.erase(CompilationKey(name));  // it is done
    return true;
  }

  // "jit(f)" is the module jit_f.
  static std::string ModuleOf(std::string_view function) {
    std::string name(function);
    if (name.ends_with(')')) name.pop_back();
    const auto is_word = [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '-'; };
    std::ranges::replace_if(
        name, [&](char c) { return !is_word(static_cast<unsigned char>(c)); }, '_');
    return name;
  }

  // Of that module the compilation that began last, whether it is done or not, in `times_`.
  size_t Last(const std::string& module) {
    const auto at = last_.find(CompilationKey(module));
    return at == last_.end() ? Of(module) : at->second;
  }

  // The compilation of that module that is under way.
  size_t Of(const std::string& module) {
    const auto [at, is_new] = latest_.try_emplace(CompilationKey(module), times_.size());
    if (is_new) {
      last_[at->first] = times_.size();
      times_.push_back({.module = module});
      begun_.emplace_back();
    }
    return at->second;
  }

  struct Begun {
    std::string first_pipeline;
    int64_t open_passes = 0;  // in all threads
  };

  std::vector<LoggedTimes> times_;
  std::vector<Begun> begun_;              // by compilation, as times_
  std::map<std::string, size_t> latest_;  // by module, of compilations under way
  std::map<std::string, size_t> last_;    // by module
  std::set<size_t> finished_;             // of `times_`: those that the framework said are done
  std::map<std::string, Thread> threads_;
  SlowAlarms alarms_;
  std::vector<SlowFolding> foldings_;  // of the compilation that ends next
  std::string current_;                // the module that a timer line named last
};

}  // namespace

std::string CompilationKey(std::string_view module) {
  return std::string(module.substr(0, module.find_last_not_of('_') + 1));
}

TimerLog ReadTimerLines(std::string_view log) { return Reader().Read(log); }

std::string LossOf(const TimerLog& log, std::string_view name) {
  if (log.lost_lines == 0) return {};
  return fmt::format("{}:{}: a damaged line{}: times that it may have held are not counted", name,
                     log.first_lost_line,
                     log.lost_lines == 1 ? "" : fmt::format(", the first of {}", log.lost_lines));
}

std::map<std::string, std::vector<LoggedCompilation>> CompilationsInLogs(
    const dump::DumpModel& model, std::vector<std::string>& warnings) {
  std::map<std::string, std::vector<LoggedCompilation>> out;
  for (size_t k = 0; k < model.files().size(); ++k) {
    if (model.files()[k].role != dump::FileRole::kRunLog) continue;
    auto log = model.ReadFile(static_cast<int32_t>(k), ReadTimerLines);
    if (!log) continue;  // LateWarnings has it
    // What is damaged in a log without times is none of this.
    if (std::string loss = LossOf(*log, model.files()[k].path);
        !loss.empty() && !log->compilations.empty())
      warnings.push_back(std::move(loss));
    for (LoggedTimes& one : log->compilations)
      out[CompilationKey(one.module)].push_back({std::move(one), model.files()[k].path});
  }
  return out;
}

}  // namespace hloscope::analysis
