// Each line of a text against the table of error texts; the first row that fits counts.
#include "core/dump/errors/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "core/dump/errors/error_pattern.h"
#include "core/dump/errors/traceback.h"
#include "core/dump/readers/line_reader.h"
#include "core/dump/tensorflow/marking.h"

namespace hloscope::dump {
namespace {

struct ErrorRow {
  std::string_view kind;
  ErrorPattern pattern;
  std::string_view reason, fix;
};

const std::vector<ErrorRow>& Rows() {
  static const std::vector<ErrorRow> rows = {
#define ERROR_TEXT(kind, pattern, reason, fix) {kind, ErrorPattern(pattern), reason, fix},
#include "core/dump/errors/error_texts.def"
#undef ERROR_TEXT
  };
  return rows;
}

// Kinds that are worth a word where a log only informs of them: what runs somewhere else than one
// may think, and what looks like a fault and is none.
constexpr std::string_view kNotes[] = {"xla_devices",   "no_driver",          "no_gpu",
                                       "no_gpu_build",  "missing_library",    "factory_twice",
                                       "ptxas_spill",   "slow_folding",       "slow_compile",
                                       "host_fallback", "auto_clustering_cpu"};
// Kinds after which the program goes on, even where the line says nothing of its level.
constexpr std::string_view kWarnings[] = {
    "no_driver",       "no_gpu",         "no_gpu_build",  "missing_library",  "auto_clustering_cpu",
    "jit_compile_off", "assert_dropped", "host_fallback", "cache_unreadable", "deprecated_api",
    "slow_folding",    "slow_compile",   "ptxas_spill"};

template <size_t kCount>
bool IsOneOf(std::string_view kind, const std::string_view (&kinds)[kCount]) {
  return std::ranges::find(kinds, kind) != std::end(kinds);
}

// The level of a line of a log: 'I', 'W', 'E' or 'F'; 0 where it is not of one. "I0000 00:00:17…",
// "2024-02-11 15:48:49.130458: I external/…", "INFO:jax._src…".
char LevelOf(std::string_view line) {
  line = TrimStart(line);
  constexpr std::string_view kLevels = "IWEF";
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (line.size() > 5 && kLevels.contains(line[0]) && line[5] == ' ' &&
      std::ranges::all_of(line.substr(1, 4), is_digit))
    return line[0];
  if (line.size() > 30 && is_digit(line[0]) && line[4] == '-') {
    const size_t at = line.find(": ");
    if (at != std::string_view::npos && at < 40 && at + 3 < line.size() && line[at + 3] == ' ' &&
        kLevels.contains(line[at + 2]))
      return line[at + 2];
  }
  if (line.starts_with("INFO:") || line.starts_with("DEBUG:")) return 'I';
  if (line.starts_with("WARNING:")) return 'W';
  return 0;
}

Severity SeverityOf(std::string_view kind, char level, std::string_view reason) {
  if (reason.starts_with("harmless") || level == 'I') return Severity::kNote;
  return level == 'W' || IsOneOf(kind, kWarnings) ? Severity::kWarning : Severity::kError;
}

// What the author of a program calls operations that they did not write themselves.
struct AuthorRow {
  std::string_view operation, call;
};
constexpr AuthorRow kAuthorCalls[] = {
#define AUTHOR_CALL(operation, call) {operation, call},
#include "core/dump/errors/author_calls.def"
#undef AUTHOR_CALL
};
std::string_view AuthorCall(std::string_view operation) {
  for (const AuthorRow& row : kAuthorCalls) {
    if (row.operation == operation) return row.call;
  }
  return {};
}

constexpr int64_t kMaxMatches = 20'000;  // lines looked at closely
constexpr size_t kMaxBuffers = 20, kMaxBufferLines = 400;

// "while/Reshape_3" may well be of the operation Reshape: TensorFlow names nodes so unless told
// otherwise.
std::string OperationOfName(std::string_view node) {
  node.remove_prefix(node.rfind('/') == std::string_view::npos ? 0 : node.rfind('/') + 1);
  const size_t end = node.find_last_not_of("0123456789");
  if (end != std::string_view::npos && end + 1 < node.size() && node[end] == '_')
    node = node.substr(0, end);
  TensorFlowNode probe;
  probe.op = node;
  std::string evidence;
  return FindXlaKernel(probe, evidence) == KernelState::kThere ? probe.op : "";
}

// Why XLA does not compile the operation, by the tables of the marking pass. `next` is the line
// behind, which tells the attributes where a kernel is there for others.
void ExplainOperation(ExplainedError& error, std::string_view next) {
  TensorFlowNode node;
  node.op = error.op;
  std::string evidence;
  const bool types =
      next.find("(OpKernel was found, but attributes didn't match)") != std::string_view::npos;
  OutsideReason why = NoKernelReason(node);
  const bool there = FindXlaKernel(node, evidence) != KernelState::kNone;
  if (types || there) why = OutsideReason::kElementType;
  if (types && next.find("DT_STRING") != std::string_view::npos) why = OutsideReason::kString;
  error.reason = SentenceOf(why);
  error.fix = FixOf(why);
  if (why == OutsideReason::kNoKernel || why == OutsideReason::kDynamicShape ||
      why == OutsideReason::kUniqueSize)
    error.reason = fmt::format("XLA has no kernel for {}", error.op);
  if (why != OutsideReason::kElementType && why != OutsideReason::kPython)
    error.fix = fmt::format("keep {} outside the function with jit_compile=True{}", error.op,
                            why == OutsideReason::kNoKernel ? ", or replace it" : "");
  if (const std::string_view call = AuthorCall(error.op); !call.empty()) {
    error.reason = fmt::format("{} ({}): {}", call, error.op, error.reason);
    if (why != OutsideReason::kPython)
      error.fix = fmt::format("keep {} outside the function with jit_compile=True", call);
  }
  const bool argument = error.op == "_Arg", result = error.op == "_Retval";
  if (why == OutsideReason::kString && (argument || result))
    error.fix = fmt::format(
        "{} no strings {} the function with jit_compile=True: convert them to numbers outside it",
        argument ? "pass" : "return", argument ? "to" : "from");
  const std::string_view attributes = Between(next, "Requested Attributes: ", "){{");
  if (types && !attributes.empty()) error.reason += fmt::format(" ({})", attributes.substr(0, 200));
}

// Keras compiles its own step: there is no function with jit_compile=True to keep things out of.
void FitToKeras(std::string& fix) {
  constexpr std::string_view kFunction = "the function with jit_compile=True";
  const size_t at = fix.find(kFunction);
  if (at == std::string::npos) return;
  fix.replace(at, kFunction.size(), "the layers of the model");
  fix = "model.compile(jit_compile=False) runs the model without XLA; else " + fix;
}

class Explainer {
 public:
  Explainer(std::string_view text, size_t most) : text_(text), most_(most) {
    LineReader reader(text);
    std::string_view line;
    while (reader.Next(line)) lines_.push_back(line);
  }

  std::vector<ExplainedError> Run(int64_t* left_out) {
    for (size_t k = 0; k < lines_.size(); ++k) Line(k);
    DropVague();
    if (left_out != nullptr) *left_out = left_out_;
    return std::move(errors_);
  }

 private:
  void Line(size_t k) {
    for (const ErrorRow& row : Rows()) {
      const size_t at = lines_[k].find(row.pattern.first());
      if (at == std::string_view::npos) continue;
      const size_t begin = static_cast<size_t>(lines_[k].data() - text_.data()) + at;
      auto captures = row.pattern.Match(text_.substr(begin));
      if (!captures) continue;
      if (LevelOf(lines_[k]) == 'I' && !IsOneOf(row.kind, kNotes)) return;
      const std::string node = Add(row, *captures, k);
      if (row.kind == "unsupported_op") AddOthers(row, k, node);
      return;
    }
  }

  // TensorFlow lists all that it cannot compile in one message.
  void AddOthers(const ErrorRow& row, size_t k, std::string_view first) {
    static const ErrorPattern other(
        "No registered '{op}' OpKernel for {device} devices compatible with node {{node {node}}}");
    std::string_view line = lines_[k];
    for (size_t at = line.find(other.first()); at != std::string_view::npos;
         at = line.find(other.first(), at + 1)) {
      auto captures = other.Match(line.substr(at));
      if (captures && captures->find("node")->second != first) Add(row, *captures, k);
    }
  }

  // The node that the error is about, "" if it names none.
  std::string Add(const ErrorRow& row, const Captures& captures, size_t k) {
    if (++matches_ > kMaxMatches) {
      ++left_out_;
      return {};
    }
    ExplainedError error;
    error.kind = row.kind;
    auto take = [&](std::string_view name, std::string& into) {
      if (auto at = captures.find(name); at != captures.end()) into = at->second;
    };
    take("node", error.node);
    take("op", error.op);
    take("device", error.device);
    if (error.node.empty()) error.node = NodeBehind(k);
    if (error.op.empty() && !error.node.empty()) error.op = OperationOfName(error.node);
    if (error.op.empty()) error.op = Between(lines_[k], "[Op:", "]");
    if (error.op.starts_with("__inference_") || error.op.starts_with("__forward_"))
      error.op.clear();
    SourceLine source = FindSourceLine(lines_, k);
    error.file = std::move(source.file);
    error.line = source.line;
    const bool is_definition = source.is_definition;
    error.at_line = static_cast<int32_t>(k + 1);
    if (row.reason.empty()) {
      ExplainOperation(error, k + 1 < lines_.size() ? lines_[k + 1] : std::string_view());
    } else {
      error.reason = FillIn(row.reason, captures);
      error.fix = FillIn(row.fix, captures);
    }
    error.severity = SeverityOf(error.kind, LevelOf(lines_[k]), error.reason);
    if (NamesKeras(k)) FitToKeras(error.fix);
    if (error.kind == "out_of_memory") ReadBuffers(k, error);
    std::string node = error.node;
    if (IsKnown(error, is_definition)) return node;
    if (errors_.size() < most_) {
      if (is_definition) defined_.insert(errors_.size());
      errors_.push_back(std::move(error));
    } else {
      ++left_out_;
    }
    return node;
  }

  // Logs and tracebacks say the same several times, some of them without the source line.
  // `is_definition`: the line is that of a variable, which another may replace.
  bool IsKnown(const ExplainedError& error, bool is_definition) {
    const std::string what =
        fmt::format("{}\n{}\n{}\n{}", error.kind, error.node, error.op, error.reason);
    auto [at, is_new] = seen_.try_emplace(what, errors_.size());
    if (is_new) return false;
    if (at->second >= errors_.size()) return true;  // one of those left out
    ExplainedError& known = errors_[at->second];
    if (known.file.empty() || (defined_.contains(at->second) && !error.file.empty())) {
      if (!is_definition) defined_.erase(at->second);
      known.file = error.file;
      known.line = error.line;
      if (known.buffers.empty()) known.buffers = error.buffers;
      return true;
    }
    if (error.file.empty() || is_definition ||
        (error.file == known.file && error.line == known.line))
      return true;
    at->second = errors_.size();
    return false;
  }

  // Whether the traceback around the line goes through Keras' own step.
  bool NamesKeras(size_t k) const {
    constexpr size_t kMaxLines = 60;
    const size_t end = std::min(lines_.size(), k + kMaxLines);
    for (size_t n = k < kMaxLines ? 0 : k - kMaxLines; n < end; ++n) {
      if (lines_[n].contains("/keras/src/") || lines_[n].contains("__inference_one_step_on_data"))
        return true;
    }
    return false;
  }

  // What is told again with a node or a source line needs no line without.
  void DropVague() {
    std::set<std::string> placed;
    for (const ExplainedError& error : errors_) {
      if (!error.file.empty() || !error.node.empty()) placed.insert(error.kind);
    }
    std::erase_if(errors_, [&](const ExplainedError& error) {
      return error.file.empty() && error.node.empty() && error.op.empty() &&
             error.buffers.empty() && placed.contains(error.kind);
    });
  }

  // `[[{{node NAME}}]]` on one of the next lines.
  std::string NodeBehind(size_t k) const {
    constexpr size_t kMaxLines = 12;
    for (size_t n = k; n < lines_.size() && n < k + kMaxLines; ++n) {
      if (n > k && lines_[n].find("Traceback (most") != std::string_view::npos) break;
      const std::string_view name = Between(lines_[n], "{{node ", "}}");
      if (!name.empty()) return std::string(name);
    }
    return {};
  }

  // The list that XLA puts behind an error: "Buffer 1:", "Size: 4.00GiB", "Operator: …", "XLA
  // Label: fusion", "Shape: f32[…]".
  void ReadBuffers(size_t k, ExplainedError& error) const {
    std::string size, operation, label, shape;
    auto flush = [&] {
      if (size.empty() || error.buffers.size() >= kMaxBuffers) return;
      std::string text = size;
      for (const std::string& part : {shape, label}) text += part.empty() ? "" : " " + part;
      if (!operation.empty()) text += " (" + operation + ")";
      error.buffers.push_back(std::move(text));
      size.clear(), operation.clear(), label.clear(), shape.clear();
    };
    for (size_t n = k + 1; n < lines_.size() && n < k + kMaxBufferLines; ++n) {
      std::string_view line = Trim(lines_[n]);
      if (line.starts_with("Traceback (most")) break;
      if (line.starts_with("Buffer ") && line.ends_with(':')) flush();
      if (TakeWord(line, "Size: "))
        size = line;
      else if (TakeWord(line, "Operator: "))
        operation = line;
      else if (TakeWord(line, "XLA Label: "))
        label = line;
      else if (TakeWord(line, "Shape: "))
        shape = line;
    }
    flush();
  }

  std::string_view text_;
  size_t most_;
  std::vector<std::string_view> lines_;
  std::vector<ExplainedError> errors_;
  std::set<size_t> defined_;            // errors whose line is that of a variable
  std::map<std::string, size_t> seen_;  // what was told, and the position of its error
  int64_t left_out_ = 0, matches_ = 0;
};

}  // namespace

std::string ErrorSentence(const ExplainedError& error, std::string_view from) {
  const std::string place = error.file.empty() ? fmt::format("{}:{}", from, error.at_line)
                                               : fmt::format("{}:{}", error.file, error.line);
  std::string what;
  if (!error.node.empty()) what += " node " + error.node;
  if (!error.op.empty() && error.op != error.node) what += " (" + error.op + ")";
  if (!error.device.empty()) what += " on " + error.device;
  return fmt::format("{}: {}{}{} {}", place, error.kind, what.empty() ? ":" : ",",
                     what.empty() ? "" : what + ":", error.reason);
}

std::string_view NameOf(Severity severity) {
  if (severity == Severity::kNote) return "note";
  return severity == Severity::kWarning ? "warning" : "error";
}

std::vector<ExplainedError> ExplainErrors(std::string_view text, size_t most, int64_t* left_out) {
  return Explainer(text, most).Run(left_out);
}

}  // namespace hloscope::dump
