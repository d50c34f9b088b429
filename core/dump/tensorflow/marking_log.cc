// Lines of TensorFlow's log, told apart by the file that wrote them and by their first words.
#include "core/dump/tensorflow/marking_log.h"

#include <fmt/format.h>

#include "core/dump/readers/line_reader.h"
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

OutsideReason ReasonOf(std::string_view text) {
  for (const LogRow& row : kRows) {
    for (std::string_view words = row.words; !words.empty();) {
      const size_t end = std::min(words.find('|'), words.size());
      if (text.find(words.substr(0, end)) != std::string_view::npos) return row.reason;
      words.remove_prefix(std::min(end + 1, words.size()));
    }
  }
  return OutsideReason::kUnknown;
}

constexpr size_t kMostText = 600;  // bytes kept of a line

// The message of a line that one of `files` wrote; empty: another did.
std::string_view MessageOf(std::string_view line, std::string_view file) {
  size_t at = line.find(file);
  if (at == std::string_view::npos) return {};
  size_t end = line.find("] ", at);
  return end == std::string_view::npos ? std::string_view() : line.substr(end + 2);
}

class LogReader {
 public:
  MarkingLog Read(std::string_view text) {
    LineReader lines(text);
    std::string_view line;
    while (lines.Next(line)) {
      for (std::string_view file :
           {"mark_for_compilation_pass.cc:", "compilability_check_util.cc:"}) {
        std::string_view message = MessageOf(line, file);
        if (message.empty()) continue;
        bool known = Message(message);
        if (!known)
          log_.warnings.push_back(
              fmt::format("line {}: cut off: {}", lines.number(), message.substr(0, 80)));
      }
      if (std::string_view message = MessageOf(line, "dump_graph.cc:"); !message.empty())
        Dumped(message);
    }
    return std::move(log_);
  }

 private:
  MarkingRun& run() {
    if (log_.runs.empty()) log_.runs.emplace_back();
    return log_.runs.back();
  }

  // False: a message of a known kind that does not end as it should.
  bool Message(std::string_view message) {
    if (message.starts_with("Starting fuel") ||
        (message.starts_with("sorted_nodes.size()") && !begun_)) {
      log_.runs.emplace_back();
    }
    begun_ = message.starts_with("Starting fuel");
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
    return true;
  }

  static MarkingRun::Word WordOf(std::string_view text, std::string_view op) {
    return {ReasonOf(text), std::string(op), std::string(text.substr(0, kMostText))};
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
    run().nodes.try_emplace(std::string(message.substr(0, at)), WordOf(text, rest.substr(0, end)));
    return true;
  }

  // "NAME: REASON"
  bool Node(std::string_view message) {
    size_t at = message.find(": ");
    if (at == std::string_view::npos) return false;
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
    run().assigned.emplace(message.substr(0, at), message.substr(at + 12));
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
  void Dumped(std::string_view message) {
    constexpr std::string_view kBefore = "before_mark_for_compilation";
    size_t at = message.rfind(kBefore);
    if (at == std::string_view::npos) return;
    std::string_view name = message.substr(at + std::string_view("before_").size());
    run().graph = name.substr(0, name.rfind('.'));
  }

  MarkingLog log_;
  bool begun_ = false;
};

}  // namespace

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
