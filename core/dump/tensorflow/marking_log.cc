// Lines of TensorFlow's log, told apart by the file that wrote them and by their first words.
#include "core/dump/tensorflow/marking_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "core/base/counted.h"
#include "core/base/text.h"
#include "core/dump/readers/line_reader.h"
#include "core/dump/tensorflow/log_damage.h"
#include "core/dump/tensorflow/marking.h"

namespace hloscope::dump {
namespace {

struct LogRow {
  std::string_view words;
  OutsideReason reason;
};
constexpr LogRow kRows[] = {
#define TENSORFLOW_REASON(reason, name, log, sentence, fix) {log, OutsideReason::reason},
#include "core/dump/tensorflow/tensorflow_reasons.def"
#undef TENSORFLOW_REASON
};

constexpr size_t kMaxText = 600;  // bytes kept of a line

// The message of a line that names its file at `file`; empty where it is cut off.
std::string_view MessageOf(std::string_view line, size_t file) {
  const size_t end = line.find("] ", file);
  return end == std::string_view::npos ? std::string_view() : line.substr(end + 2);
}

class LogReader {
 public:
  MarkingLog Read(std::string_view text) {
    std::string_view line;
    for (LineReader lines(text); day_.empty() && lines.Next(line);) day_ = DayOf(line);
    LineReader lines(text);
    while (lines.Next(line)) {
      line_ = lines.number();
      Line(line);
    }
    if (begun_ && sorted_) Say("the log ends before the pass does");
    if (!text.ends_with('\n') && (marked_ || EndsInFileName(line) || BreaksOffInFrame(line)))
      Say("the log ends inside a line");
    marked_ |= EndsInFileName(line);
    // Of a log without a line about clustering nothing is expected.
    if (marked_) {
      constexpr size_t kMaxReported = 20;
      for (const auto& [number, suspect] : suspects_ | std::views::take(kMaxReported)) {
        line_ = number;
        Warn(suspect);
      }
      if (suspects_.size() > kMaxReported) {
        log_.warnings.push_back(
            fmt::format("{} cut off, the last is line {}",
                        Counted(suspects_.size() - kMaxReported, "more line cannot be read, or is",
                                "more lines cannot be read, or are"),
                        suspects_.back().first));
      }
    }
    return std::move(log_);
  }

 private:
  void Warn(std::string_view line) {
    log_.warnings.push_back(
        fmt::format("line {}: cannot be read, or cut off: {}", line_,
                    EscapeForTerminal(std::string(line.substr(0, 120)), LineBreaks::kEscape)));
  }

  static std::string Printable(std::string_view text) {
    return EscapeForTerminal(std::string(text.substr(0, 120)), LineBreaks::kEscape);
  }
  void Say(std::string_view what) {
    log_.warnings.push_back(fmt::format("line {}: {}", line_, what));
  }

  void Line(std::string_view line) {
    bool mine = false;
    for (std::string_view file : kMarkingFiles) {
      const size_t at = line.find(file);
      if (at == std::string_view::npos || mine) continue;
      mine = true;
      const bool graph = file.starts_with("dump");
      marked_ |= !graph;
      const std::string_view message = MessageOf(line, at);
      const bool known = graph ? Dumped(message) : Message(message);
      const bool whole =
          SourcesOf(line) == 1 && MarkingFilesIn(line) == 1 && EndsAsFrame(line.substr(0, at));
      if (!known || !whole) suspects_.emplace_back(line_, line);
    }
    // Half of the name of a file is enough to know the log.
    marked_ |= NamesHalfOfFile(line);
    if (!mine && (IsDamagedLine(line) || BeginsAsDamagedFrame(line, day_)))
      suspects_.emplace_back(line_, line);
  }

  MarkingRun& run() {
    if (log_.runs.empty()) log_.runs.emplace_back();
    return log_.runs.back();
  }

  // False: a message of a known kind that does not end as it should.
  bool Message(std::string_view message) {
    if (TakeWord(message, "Starting fuel")) {
      Begin();
      return message == ": infinity" || IsCount(message, ": ");
    }
    if (TakeWord(message, "sorted_nodes.size()")) {
      if (!begun_ || sorted_) Begin();
      sorted_ = true;
      return IsCount(message, " = ");
    }
    if (TakeWord(message, "Found uncompilable node ")) return Uncompilable(message);
    if (TakeWord(message, "Assigning node ")) return Assigned(message);
    if (TakeWord(message, "Could not contract ")) return Edge(message);
    if (TakeWord(message, "Not clustering ") || TakeWord(message, "Isolating "))
      return Node(message);
    if (message.starts_with("Rejecting TF operation ")) {
      message.remove_prefix(std::string_view("Rejecting TF operation ").size());
      return Listed(message);
    }
    if (TakeWord(message, "Rejecting ")) {
      if (message.find(": ") != std::string_view::npos) return Node(message);
      return Listed(message);
    }
    if (TakeWord(message, " Built ")) return Built(message);
    if (TakeWord(message, " Unclustered nodes: ")) return IsShare(message);
    if (message == "No compilable candidates") {
      begun_ = false;
      return true;
    }
    return !HasMarkingWords(message) && !NearlyBegins(message) && !message.starts_with("Found") &&
           LoggedReason(message) == OutsideReason::kUnknown;
  }

  static bool IsCount(std::string_view text, std::string_view before) {
    return TakeWord(text, before) && !text.empty() && std::ranges::all_of(text, IsDecimal);
  }

  // Whoever logs the nodes of a run logs what it built, too.
  void Begin() {
    if (begun_ && sorted_) Say("the run of the pass before this has no end in the log");
    log_.runs.emplace_back();
    begun_ = true;
    sorted_ = false;
  }

  // "1 clusters, size 4 / 10 (40.00%)": as many nodes were assigned before.
  bool Built(std::string_view message) {
    const size_t at = message.find("size ");
    if (at == std::string_view::npos || !IsShare(message.substr(at + 5))) return false;
    std::string_view number = message.substr(at + 5);
    const auto size = TakeNumber(number);
    if (!size) return false;
    begun_ = false;
    const auto told = std::ssize(run().assigned);
    if (told != *size)
      Say(fmt::format("the pass put {} into clusters, the lines before name {}",
                      Counted(*size, "node"), told));
    return true;
  }

  MarkingRun::Word WordOf(std::string_view text, std::string_view op) {
    const OutsideReason why = LoggedReason(text);
    if (why == OutsideReason::kUnknown && !text.empty())
      Say(fmt::format("a reason that is not known: {}", Printable(text)));
    return {why, std::string(op), std::string(text.substr(0, kMaxText))};
  }

  // "NAME (op OP): REASON", the reason perhaps left out.
  bool Uncompilable(std::string_view message) {
    size_t at = message.find(" (op ");
    if (at == std::string_view::npos) return false;
    std::string_view rest = message.substr(at + 5);
    size_t end = rest.find(')');
    if (end == std::string_view::npos) return false;
    std::string_view text = rest.substr(end + 1);
    if (!TakeWord(text, ": ") && !text.empty()) return false;
    const std::string_view node = message.substr(0, at), op = rest.substr(0, end);
    if (HoldsAnother(text) || !IsOfNode(text, node) || !IsWholeReason(text, op) ||
        !IsTensorFlowName(node) || !IsTensorFlowName(op))
      return false;
    run().nodes.try_emplace(std::string(message.substr(0, at)), WordOf(text, rest.substr(0, end)));
    return true;
  }

  // The reason may name the node again, "{{node NAME}}", without the functions around it; a node of
  // lowered control flow stands for the operation that it was: "f/cond/output/_14" for "cond".
  static bool IsOfNode(std::string_view text, std::string_view node) {
    constexpr std::string_view kMark = "{{node ";
    const size_t at = text.rfind(kMark);
    if (at == std::string_view::npos) return true;
    std::string_view name = text.substr(at + kMark.size());
    name = name.substr(0, name.find("}}"));
    return node.ends_with(name) || fmt::format("/{}", node).contains(fmt::format("/{}/", name));
  }

  // "NAME: REASON"
  bool Node(std::string_view message) {
    size_t at = message.find(": ");
    if (at == std::string_view::npos || HoldsAnother(message.substr(at + 2)) ||
        !IsTensorFlowName(message.substr(0, at)))
      return false;
    run().nodes.try_emplace(std::string(message.substr(0, at)), WordOf(message.substr(at + 2), ""));
    return true;
  }

  // "NAME as it is not listed in --tf_xla_ops_to_cluster."
  bool Listed(std::string_view message) {
    size_t at = message.find(" as it is ");
    if (at == std::string_view::npos) return false;
    run().nodes.try_emplace(std::string(message.substr(0, at)), WordOf(message.substr(at + 7), ""));
    return true;
  }

  // "NAME to cluster CLUSTER"
  bool Assigned(std::string_view message) {
    size_t at = message.find(" to cluster ");
    if (at == std::string_view::npos) return false;
    const std::string_view cluster = message.substr(at + 12);
    if (!cluster.contains("cluster_") || !IsDecimal(cluster.back()) ||
        !IsTensorFlowName(message.substr(0, at)))
      return false;
    run().assigned.emplace(message.substr(0, at), cluster);
    return true;
  }

  // "<NAME + 3 others #7> -> <NAME #9> because REASON"
  bool Edge(std::string_view message) {
    size_t arrow = message.find("> -> <"), because = message.find("> because ");
    if (!message.starts_with('<') || arrow == std::string_view::npos ||
        because == std::string_view::npos || because < arrow)
      return false;
    const std::string_view text = message.substr(because + 10);
    const std::string from = Leader(message.substr(1, arrow - 1));
    const std::string to = Leader(message.substr(arrow + 6, because - arrow - 6));
    // Names have no such brackets.
    if (HoldsAnother(text) || from.contains('<') || to.contains('<') || !IsWholeEdgeReason(text))
      return false;
    MarkingRun::Word word = WordOf(text, "");
    word.text = fmt::format("{} -> {}: {}", from, to, word.text);
    run().edges.emplace(from, word);
    if (to != from) run().edges.emplace(to, std::move(word));
    return true;
  }

  // "NAME" of "NAME + 3 others #7" and "NAME #7".
  static std::string Leader(std::string_view text) {
    text = text.substr(0, text.rfind(" #"));
    if (text.ends_with(" others")) text = text.substr(0, text.rfind(" + "));
    return std::string(text);
  }

  // "Dumped Graph to DIR/before_mark_for_compilation_2.pbtxt"
  bool Dumped(std::string_view message) {
    if (!message.starts_with("Dumped ") || message.rfind('.') == std::string_view::npos)
      return false;
    constexpr std::string_view kBefore = "before_mark_for_compilation";
    size_t at = message.rfind(kBefore);
    const std::string_view file = message.substr(message.rfind('/') + 1);
    if (!IsFileName(file)) return false;
    if (file.starts_with("before_increase_dynamism") && !log_.runs.empty() && run().later.empty())
      run().later = file.substr(0, file.rfind('.'));
    if (at == std::string_view::npos) return !file.contains("before_") || !file.contains("mark");
    std::string_view name = message.substr(at + std::string_view("before_").size());
    run().graph = name.substr(0, name.rfind('.'));
    return true;
  }

  MarkingLog log_;
  bool begun_ = false, sorted_ = false;  // a run; its nodes were counted
  bool marked_ = false;                  // a line about clustering was there
  int64_t line_ = 0;
  std::string_view day_;                                        // with which its lines begin
  std::vector<std::pair<int64_t, std::string_view>> suspects_;  // lines that may be damaged
};

}  // namespace

OutsideReason LoggedReason(std::string_view text) {
  for (const LogRow& row : kRows) {
    for (std::string_view words = row.words; !words.empty();) {
      const size_t end = std::min(words.find('|'), words.size());
      if (text.find(words.substr(0, end)) != std::string_view::npos) return row.reason;
      words.remove_prefix(std::min(end + 1, words.size()));
    }
  }
  return OutsideReason::kUnknown;
}

MarkingLog ReadMarkingLog(std::string_view text) { return LogReader().Read(text); }

bool ApplyLog(const MarkingRun& run, TensorFlowNode& node) {
  const MarkingRun::Word* word = nullptr;
  auto at = run.nodes.find(node.name);
  if (at == run.nodes.end()) at = run.nodes.find(node.op);  // of operations that flags exclude
  if (at != run.nodes.end()) {
    word = &at->second;
  } else {
    auto [begin, end] = run.edges.equal_range(node.name);
    for (auto edge = begin; edge != end; ++edge) {
      if (word == nullptr || edge->second.why == node.why) word = &edge->second;
    }
  }
  if (word == nullptr) return false;
  // It is no fault there, and what the log says of its function auto-clustering alone asks.
  if (node.why == OutsideReason::kMustCompile) {
    node.evidence += fmt::format("{}the log: {}", node.evidence.empty() ? "" : "; ", word->text);
    node.by_log = true;
    return true;
  }
  OutsideReason why = word->why;
  // The log gives one text to all that has no kernel, and to arguments and results.
  if (word->text.starts_with("No registered")) why = NoKernelReason(node);
  if (word->text.starts_with("top level") && node.op == "_Retval") why = OutsideReason::kResult;
  const bool more = why == node.why && !node.evidence.empty();
  std::string evidence = word->text.empty() ? "TensorFlow's log gives no words" : word->text;
  if (why == OutsideReason::kUnknown) return false;
  if (more) evidence = fmt::format("{}; the log: {}", node.evidence, evidence);
  SetVerdict(node, {why, std::move(evidence)});
  node.by_log = true;
  return true;
}

}  // namespace hloscope::dump
