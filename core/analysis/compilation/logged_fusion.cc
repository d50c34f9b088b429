// A decision takes two or three lines of the thread that compiles:
//   Evaluating fusion: producer 'a' into consumer 'b'.
//   Fusing %a = … into %b = …            or: not fusing operand %a = … because REASON
//          created new fusion: %c = …    where b was none
// JAX writes a line of its own when a compilation is through.
#include "core/analysis/compilation/logged_fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
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

// "jit_f" of "jit(f)" and of a module's name; JAX writes no `_` at the end of some of them.
std::string ProgramName(std::string_view name) {
  std::string out(name);
  const auto is_word = [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '-'; };
  std::ranges::replace_if(
      out, [&](char c) { return !is_word(static_cast<unsigned char>(c)); }, '_');
  while (out.ends_with('_')) out.pop_back();
  return out;
}

class FusionLogReader {
 public:
  FusionLog Read(std::string_view log) {
    dump::LineReader lines(log);
    for (std::string_view line; lines.Next(line);) {
      constexpr std::string_view kFinished = "Finished XLA compilation of ";
      if (const size_t at = line.find(kFinished); at != line.npos) {
        const std::string_view rest = line.substr(at + kFinished.size());
        EndCompilation(rest.substr(0, rest.rfind(" in ")));
        continue;
      }
      constexpr std::string_view kFile = " instruction_fusion.cc:";
      const size_t file = line.find(kFile);
      if (file == line.npos) continue;
      const size_t text = line.find("] ", file);
      if (text == line.npos) continue;
      const std::string_view prefix = dump::Trim(line.substr(0, file));
      const std::string id(prefix.substr(prefix.rfind(' ') + 1));
      running_.insert(id);
      Decision(dump::Trim(line.substr(text + 2)), lines.number(), threads_[id]);
    }
    out_.has_unknown |= !running_.empty();
    return std::move(out_);
  }

 private:
  struct Thread {
    std::string producer, consumer;    // that it evaluates
    std::optional<size_t> last_fused;  // in `out_.decisions`
  };

  // What the pass did since the end of the compilation before, on one thread, was for this one.
  void EndCompilation(std::string_view program) {
    if (running_.size() == 1) {
      for (size_t k = first_of_next_; k < out_.decisions.size(); ++k)
        out_.decisions[k].compilation = static_cast<int32_t>(out_.programs.size());
      out_.programs.push_back(ProgramName(program));
    }
    out_.has_unknown |= running_.size() > 1;
    first_of_next_ = out_.decisions.size();
    running_.clear();
    threads_.clear();
  }

  void Decision(std::string_view text, int64_t line, Thread& thread) {
    if (TakeWord(text, "Evaluating fusion: ")) {
      thread.producer = dump::Between(text, "producer '", "'");
      thread.consumer = dump::Between(text, "consumer '", "'");
    } else if (TakeWord(text, "not fusing operand ")) {
      constexpr std::string_view kBecause = " because ";
      const size_t because = text.rfind(kBecause);
      if (because == text.npos || NameAt(text) != thread.producer) return;
      out_.decisions.push_back({thread.producer, thread.consumer, "",
                                std::string(text.substr(because + kBecause.size())), line, ""});
    } else if (TakeWord(text, "Fusing ")) {
      constexpr std::string_view kInto = " into ";
      const size_t into = text.find(" into %");
      if (into == text.npos || NameAt(text).empty()) return;
      const std::string consumer = NameAt(text.substr(into + kInto.size()));
      thread.last_fused = out_.decisions.size();
      out_.decisions.push_back({NameAt(text), consumer, consumer, "", line, "", -1});
    } else if (TakeWord(text, "created new fusion: ") && thread.last_fused) {
      out_.decisions[*thread.last_fused].fusion = NameAt(text);
    }
  }

  std::map<std::string, Thread> threads_;
  std::set<std::string> running_;  // threads of the pass since the last compilation ended
  size_t first_of_next_ = 0;       // in `out_.decisions`
  FusionLog out_;
};

constexpr std::string_view kOfAllModules = "the log does not say of which module a decision is";

// Answers by the decisions about the module that pass `test`; nullopt: there are no decisions at
// all.
template <typename Test>
std::optional<FusionAnswer> AnswerBy(const dump::DumpModel& model, int32_t module, Test test,
                                     std::vector<LoggedFusion>& about) {
  FusionAnswer answer;
  answer.made_by = "fusion";
  const LoggedFusions logged = LoggedFusionsOf(model, module);
  if (!logged.has_any) return std::nullopt;
  for (const LoggedFusion& one : logged.decisions) {
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
  if (!about.empty()) {
    answer.step = about.back().line;
    answer.place = fmt::format("{}:{}", about.back().log, about.back().line);
  }
  answer.is_certain = logged.is_of_module;
  if (!logged.is_of_module) answer.notes.emplace_back(kOfAllModules);
  return answer;
}

// Where among the modules of its name it is, and how many there are.
std::pair<size_t, size_t> PlaceByName(const dump::DumpModel& model, int32_t module) {
  const std::string name = ProgramName(model.modules()[static_cast<size_t>(module)].name);
  std::pair<size_t, size_t> place = {0, 0};
  for (size_t m = 0; m < model.modules().size(); ++m) {
    if (ProgramName(model.modules()[m].name) != name) continue;
    if (static_cast<int32_t>(m) < module) ++place.first;
    ++place.second;
  }
  return place;
}

}  // namespace

FusionLog ReadFusionLog(std::string_view log) { return FusionLogReader().Read(log); }

LoggedFusions LoggedFusionsOf(const dump::DumpModel& model, int32_t module) {
  LoggedFusions out;
  const std::string name = ProgramName(model.modules()[static_cast<size_t>(module)].name);
  const auto [place, count] = PlaceByName(model, module);
  std::vector<LoggedFusion> of_module;
  size_t compilations = 0;  // of that name
  bool has_unknown = false, has_known = false;
  for (size_t k = 0; k < model.files().size(); ++k) {
    if (model.files()[k].role != dump::FileRole::kRunLog) continue;
    auto log = model.ReadFile(static_cast<int32_t>(k), ReadFusionLog);
    if (!log) continue;  // LateWarnings has it
    has_unknown |= log->has_unknown;
    has_known |= !log->programs.empty();
    int32_t wanted = -1;  // in this log
    for (size_t c = 0; c < log->programs.size(); ++c) {
      if (log->programs[c] == name && compilations++ == place) wanted = static_cast<int32_t>(c);
    }
    for (LoggedFusion& one : log->decisions) {
      one.log = model.files()[k].path;
      if (wanted >= 0 && one.compilation == wanted) of_module.push_back(one);
      out.decisions.push_back(std::move(one));
    }
  }
  out.has_any = !out.decisions.empty();
  if (compilations == count && !has_unknown) {
    out.decisions = std::move(of_module);
  } else {
    // One module and no word of compilations: it is of this one.
    out.is_of_module = model.modules().size() == 1 && !has_known;
  }
  return out;
}

std::optional<FusionAnswer> LoggedNotFused(const dump::DumpModel& model, int32_t module,
                                           const std::string& producer,
                                           const std::string& consumer) {
  std::vector<LoggedFusion> about;
  auto answer = AnswerBy(
      model, module,
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
  return answer;
}

std::optional<FusionAnswer> LoggedDecisionsOf(const dump::DumpModel& model, int32_t module,
                                              const std::string& fusion) {
  std::vector<LoggedFusion> about;
  auto answer =
      AnswerBy(model, module, [&](const LoggedFusion& one) { return one.fusion == fusion; }, about);
  if (!answer) return answer;
  answer->status = "made";
  answer->reason =
      Counted(about.size(), "producer was fused", "producers were fused") +
      (answer->is_certain ? " into it" : " into fusions of this name, in all that the log has");
  return answer;
}

}  // namespace hloscope::analysis
