// A decision takes two or three lines of the thread that compiles:
//   Evaluating fusion: producer 'a' into consumer 'b'.
//   Fusing %a = … into %b = …            or: not fusing operand %a = … because REASON
//          created new fusion: %c = …    where b was none
#include "core/analysis/compilation/logged_fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/counted.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::analysis {
namespace {

using dump::TakeWord;

// "a" of "%a = …"; empty: it is not that.
std::string NameAt(std::string_view text) {
  return TakeWord(text, "%") ? std::string(text.substr(0, text.find(' '))) : std::string();
}

class FusionLogReader {
 public:
  std::vector<LoggedFusion> Read(std::string_view log) {
    dump::LineReader lines(log);
    for (std::string_view line; lines.Next(line);) {
      constexpr std::string_view kFile = " instruction_fusion.cc:";
      const size_t file = line.find(kFile);
      if (file == line.npos) continue;
      const size_t text = line.find("] ", file);
      if (text == line.npos) continue;
      const std::string_view prefix = dump::Trim(line.substr(0, file));
      Thread& thread = threads_[std::string(prefix.substr(prefix.rfind(' ') + 1))];
      Decision(dump::Trim(line.substr(text + 2)), lines.number(), thread);
    }
    return std::move(decisions_);
  }

 private:
  struct Thread {
    std::string producer, consumer;    // that it evaluates
    std::optional<size_t> last_fused;  // in `decisions_`
  };

  void Decision(std::string_view text, int64_t line, Thread& thread) {
    if (TakeWord(text, "Evaluating fusion: ")) {
      thread.producer = dump::Between(text, "producer '", "'");
      thread.consumer = dump::Between(text, "consumer '", "'");
    } else if (TakeWord(text, "not fusing operand ")) {
      constexpr std::string_view kBecause = " because ";
      const size_t because = text.rfind(kBecause);
      if (because == text.npos || NameAt(text) != thread.producer) return;
      decisions_.push_back({thread.producer, thread.consumer, "",
                            std::string(text.substr(because + kBecause.size())), line, ""});
    } else if (TakeWord(text, "Fusing ")) {
      constexpr std::string_view kInto = " into ";
      const size_t into = text.find(" into %");
      if (into == text.npos || NameAt(text).empty()) return;
      const std::string consumer = NameAt(text.substr(into + kInto.size()));
      thread.last_fused = decisions_.size();
      decisions_.push_back({NameAt(text), consumer, consumer, "", line, ""});
    } else if (TakeWord(text, "created new fusion: ") && thread.last_fused) {
      decisions_[*thread.last_fused].fusion = NameAt(text);
    }
  }

  std::map<std::string, Thread> threads_;
  std::vector<LoggedFusion> decisions_;
};

// Answers by the decisions of all logs that pass `test`; nullopt: there are no decisions at all.
template <typename Test>
std::optional<FusionAnswer> AnswerBy(const dump::DumpModel& model, Test test,
                                     std::vector<LoggedFusion>& about) {
  FusionAnswer answer;
  answer.made_by = "fusion";
  const std::vector<LoggedFusion> decisions = LoggedFusionsOf(model);
  if (decisions.empty()) return std::nullopt;
  for (const LoggedFusion& one : decisions) {
    if (!test(one)) continue;
    std::string text = fmt::format("{}:{}: ", one.log, one.line);
    if (one.fusion.empty()) {
      text += fmt::format("not fused: {} into {}: {}", one.producer, one.consumer, one.reason);
    } else {
      text += fmt::format("fused: {} into {}", one.producer, one.consumer);
      if (one.fusion != one.consumer) text += ", called " + one.fusion + " from then on";
    }
    answer.because.push_back({one.producer, one.consumer, {}, std::move(text), one.line});
    about.push_back(one);
  }
  if (model.modules().size() > 1) {
    answer.notes.emplace_back("the log does not say of which module a decision is");
  }
  return answer;
}

}  // namespace

std::vector<LoggedFusion> ReadFusionLog(std::string_view log) {
  return FusionLogReader().Read(log);
}

std::vector<LoggedFusion> LoggedFusionsOf(const dump::DumpModel& model) {
  std::vector<LoggedFusion> out;
  for (size_t k = 0; k < model.files().size(); ++k) {
    if (model.files()[k].role != dump::FileRole::kRunLog) continue;
    auto decisions = model.ReadFile(static_cast<int32_t>(k), ReadFusionLog);
    if (!decisions) continue;  // LateWarnings has it
    for (LoggedFusion& one : *decisions) {
      one.log = model.files()[k].path;
      out.push_back(std::move(one));
    }
  }
  return out;
}

std::optional<FusionAnswer> LoggedNotFused(const dump::DumpModel& model,
                                           const std::string& producer,
                                           const std::string& consumer) {
  std::vector<LoggedFusion> about;
  auto answer = AnswerBy(
      model,
      [&](const LoggedFusion& one) {
        return one.producer == producer && (one.consumer == consumer || one.fusion == consumer);
      },
      about);
  if (!answer) return answer;
  answer->status = about.empty() ? "unknown" : about.back().fusion.empty() ? "not_fused" : "fused";
  answer->reason = about.empty() ? "no decision in the log is about these two; names are those "
                                   "before the pass fusion, or of fusions after it"
                   : about.back().fusion.empty() ? about.back().reason
                                                 : "fused into " + about.back().fusion;
  answer->step = about.empty() ? 0 : about.back().line;
  return answer;
}

std::optional<FusionAnswer> LoggedDecisionsOf(const dump::DumpModel& model,
                                              const std::string& fusion) {
  std::vector<LoggedFusion> about;
  auto answer =
      AnswerBy(model, [&](const LoggedFusion& one) { return one.fusion == fusion; }, about);
  if (!answer) return answer;
  answer->status = "made";
  answer->step = about.empty() ? 0 : about.back().line;
  answer->reason = Counted(about.size(), "producer was fused", "producers were fused") + " into it";
  return answer;
}

}  // namespace hloscope::analysis
