// Each line of a text against the tables of error texts, with the evidence of the lines around.
#include "core/dump/errors/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "core/base/strings.h"
#include "core/dump/errors/error_table.h"
#include "core/dump/errors/evidence.h"
#include "core/dump/errors/line_facts.h"
#include "core/dump/errors/log_line.h"
#include "core/dump/errors/raised.h"
#include "core/dump/errors/severity.h"
#include "core/dump/errors/stated_rule.h"
#include "core/dump/readers/line_reader.h"
#include "core/dump/tensorflow/marking.h"

namespace hloscope::dump {
namespace {

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

// "while/Reshape_3" may well be of the operation Reshape: TensorFlow names nodes so unless told
// otherwise.
std::string OperationOfName(std::string_view node) {
  node.remove_prefix(node.rfind('/') == std::string_view::npos ? 0 : node.rfind('/') + 1);
  TensorFlowNode probe;
  probe.op = WithoutNumberSuffix(node);
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
  if (there && !types) {  // in the versions that the tables are of
    error.reason =
        fmt::format("XLA of this TensorFlow has no kernel of {} for these types", error.op);
    error.fix =
        "cast to a type that the kernel takes, or update TensorFlow: newer ones have a kernel";
  }
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

constexpr std::string_view kFunction = "the function with jit_compile=True";

// Keras compiles its own step: there is no function with jit_compile=True to keep things out of.
void FitToKeras(std::string& fix, std::string_view operation) {
  if (const size_t at = fix.find(kFunction); at != fix.npos)
    fix.replace(at, kFunction.size(), "the layers of the model");
  if (operation.starts_with("CudnnRNN"))
    fix = "use_cudnn=False of the layer does without cuDNN's kernel";
  fix = "model.compile(jit_compile=False) runs the model without XLA; else " + fix;
}

class Explainer {
 public:
  Explainer(std::string_view text, size_t most) : text_(text), most_(most) {
    LineReader reader(text);
    std::string_view line;
    while (reader.Next(line)) lines_.push_back(WithoutLogPrefix(line));
  }

  std::vector<ExplainedError> Run(int64_t* left_out) {
    for (size_t k = 0; k < lines_.size(); ++k) Line(k);
    DropVague();
    const auto is_error = [](const ExplainedError& e) { return e.severity == Severity::kError; };
    if (errors_.size() < most_ && std::ranges::none_of(errors_, is_error)) {
      if (auto raised = FindRaised(lines_)) errors_.push_back(*std::move(raised));
    }
    if (left_out != nullptr) *left_out = left_out_;
    return std::move(errors_);
  }

 private:
  void Line(size_t k) {
    auto found = FindError(text_, lines_[k]);
    if (!found || (LevelOf(lines_[k]) == 'I' && !IsNote(found->row->kind))) return;
    const bool is_trial = found->row->is_general || found->row->kind == "library_failed" ||
                          lines_[k].contains("Profiling failure on ");
    if (IsHead(*found->row, k) || IsToldBelow(*found, k) || (k < trials_end_ && is_trial)) return;
    constexpr size_t kTrialLines = 60;  // of the errors of each algorithm, below that of all
    if (found->row->kind == "no_algorithm") trials_end_ = k + kTrialLines;
    LineFacts facts(lines_, k);
    const std::string node = Add(*found->row, found->captures, k, facts);
    if (found->row->kind == "unsupported_op") AddOthers(*found->row, k, node, facts);
  }

  // "INVALID_ARGUMENT: E0102: RuntimeProgramInputMismatch:", "Resource exhausted: From /job:…:":
  // the message stands on the next line and is known better.
  bool IsHead(const ErrorRow& row, size_t k) const {
    if (!lines_[k].ends_with(':') || k + 1 >= lines_.size()) return false;
    if (!row.is_general && ErrorCodeText(lines_[k]).empty()) return false;
    const bool is_count = lines_[k + 1].ends_with(" root error(s) found.") && k + 2 < lines_.size();
    const auto next = FindError(text_, lines_[k + (is_count ? 2 : 1)]);
    return next && !next->row->is_general;
  }

  // "Exception encountered when calling Cut.call().", and below it a message that another row
  // knows.
  bool IsToldBelow(const FoundError& found, size_t k) const {
    constexpr size_t kMaxLines = 4;
    const auto message = found.captures.find("message");
    if (found.row->kind != "must_compile" || message == found.captures.end()) return false;
    for (size_t n = k + 1; n < lines_.size() && n < k + kMaxLines; ++n) {
      if (message->second.empty() || !lines_[n].contains(message->second)) continue;
      const auto below = FindError(text_, lines_[n]);
      return below && !below->row->is_general;
    }
    return false;
  }

  // TensorFlow lists all that it cannot compile in one message.
  void AddOthers(const ErrorRow& row, size_t k, std::string_view first, LineFacts& facts) {
    static const ErrorPattern other(
        "No registered '{op}' OpKernel for {device} devices compatible with node {{node {node}}}");
    std::string_view line = lines_[k];
    for (size_t at = line.find(other.first()); at != std::string_view::npos;
         at = line.find(other.first(), at + 1)) {
      auto captures = other.Match(line.substr(at));
      if (captures && captures->find("node")->second != first) Add(row, *captures, k, facts);
    }
  }

  // The node that the error is about, "" if it names none.
  std::string Add(const ErrorRow& row, Captures& captures, size_t k, LineFacts& facts) {
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
    error.file = facts.source().file;
    error.line = facts.source().line;
    const bool is_definition = facts.source().is_definition;
    error.at_line = static_cast<int32_t>(k + 1);
    std::optional<Evidence> evidence;  // of one that is only counted nothing more is read
    if (errors_.size() < most_)
      evidence = ReadEvidence(row.kind, {lines_, k, captures, told_}, error);
    if (row.reason.empty() && !evidence && errors_.size() < most_) {
      ExplainOperation(error, k + 1 < lines_.size() ? lines_[k + 1] : std::string_view());
    } else {
      if (!row.reason.empty()) error.reason = FillIn(row.reason, captures);
      const bool quotes = row.kind == "checkify";  // a message of the program's own
      const std::string advice = row.is_general ? AdviceOf(captures["what"])
                                 : quotes       ? AdviceOf(captures["message"])
                                                : "";
      if (!row.fix.empty()) error.fix = FillIn(row.fix, captures);
      if (!advice.empty()) error.fix = "as the message says: " + advice;
      // What a status demands; an internal error demands nothing of the program.
      const bool is_refusal = row.kind == "invalid_argument" || row.kind == "unimplemented";
      const std::string rule = is_refusal ? FixOfRule(captures["what"]) : "";
      if (row.is_general && advice.empty() && !rule.empty()) error.fix = rule + "; " + error.fix;
    }
    if (evidence) error.reason += evidence->more;
    if (error.node.empty()) error.node = Between(lines_[k], "current tracing scope: ", ";");
    error.reason += facts.code();
    error.severity = SeverityOf(error.kind, LevelOf(lines_[k]), error.reason);
    const bool is_compiled = error.fix.contains(kFunction) || error.kind == "unsupported_op";
    if (is_compiled && facts.front_end() == FrontEnd::kKeras) FitToKeras(error.fix, error.op);
    std::string node = error.node;
    if (IsKnown(error, evidence, is_definition, facts.is_cause())) return node;
    if (errors_.size() < most_) {
      if (is_definition) defined_.insert(errors_.size());
      if (row.is_general) general_.emplace(errors_.size(), captures["what"]);
      errors_.push_back(std::move(error));
    } else {
      ++left_out_;
    }
    return node;
  }

  // Logs and tracebacks say the same several times, some of them without the source line.
  // `is_definition`: the line is that of a variable, which another may replace. `is_cause`: it is
  // of the stack of the operation.
  bool IsKnown(const ExplainedError& error, const std::optional<Evidence>& evidence,
               bool is_definition, bool is_cause) {
    std::string what =
        fmt::format("{}\n{}\n{}\n{}", error.kind, error.node, error.op, error.reason);
    if (evidence) {
      what =
          fmt::format("{}\n{}", error.kind, evidence->key.empty() ? error.reason : evidence->key);
      told_.insert(evidence->key);
    }
    // JAX raises an error once where the operation stands, and once from the call behind it.
    const bool is_again = !is_cause && caused_ == what;
    if (is_cause || is_again) caused_ = is_cause ? what : "";
    auto [at, is_new] = seen_.try_emplace(what, errors_.size());
    if (is_new) return false;
    if (at->second >= errors_.size()) return true;  // one of those left out
    ExplainedError& known = errors_[at->second];
    if (evidence) {
      TakeBetter(known, error, evidence->is_repeat);
      return true;
    }
    // TensorFlow warns of what fails in an operation before it is raised.
    const auto is_same = [&] {
      known.severity = std::max(known.severity, error.severity);
      return true;
    };
    if (known.file.empty() || (defined_.contains(at->second) && !error.file.empty())) {
      if (!is_definition) defined_.erase(at->second);
      known.file = error.file;
      known.line = error.line;
      if (known.buffers.empty()) known.buffers = error.buffers;
      return is_same();
    }
    if (error.file.empty() || is_definition || is_again ||
        (error.file == known.file && error.line == known.line))
      return is_same();
    at->second = errors_.size();
    return false;
  }

  // Of two texts of one error what the first lacks; one that was raised counts more than a warning
  // before it.
  static void TakeBetter(ExplainedError& known, const ExplainedError& again, bool is_repeat) {
    const bool is_raised = again.severity > known.severity;
    known.severity = std::max(known.severity, again.severity);
    if (!is_repeat && (is_raised || (known.buffers.empty() && !again.buffers.empty()))) {
      known.reason = again.reason;
      known.fix = again.fix;
    }
    if (known.buffers.empty()) known.buffers = again.buffers;
    for (auto field : {&ExplainedError::node, &ExplainedError::op, &ExplainedError::device}) {
      if ((known.*field).empty()) known.*field = again.*field;
    }
    if (known.file.empty()) {
      known.file = again.file;
      known.line = again.line;
    }
  }

  // What is told again with a node or a source line needs no line without, unless that is of
  // another device, and what a row explains needs no line that repeats the message behind a status.
  void DropVague() {
    std::map<std::string, std::set<std::string>> placed;  // by kind: the devices, "" where none
    for (const ExplainedError& error : errors_) {
      if (!error.file.empty() || !error.node.empty() || !error.op.empty())
        placed[error.kind].insert(error.device);
    }
    const auto is_placed = [&](const ExplainedError& error) {
      const auto found = placed.find(error.kind);
      if (found == placed.end()) return false;
      const std::set<std::string>& devices = found->second;
      return error.device.empty() || devices.contains("") || devices.contains(error.device);
    };
    std::vector<ExplainedError> kept;
    for (size_t k = 0; k < errors_.size(); ++k) {
      ExplainedError& error = errors_[k];
      const bool vague = error.file.empty() && error.node.empty() && error.op.empty() &&
                         error.buffers.empty() && is_placed(error);
      // How a process ended says nothing beside the error that ended it.
      const auto ended = [&](const ExplainedError& before) {
        return MayHaveEnded(before, lines_[static_cast<size_t>(before.at_line) - 1], error);
      };
      const bool is_end =
          error.kind == "crash" && error.file.empty() && std::ranges::any_of(kept, ended);
      if (!vague && !is_end && !IsToldBetter(k)) kept.push_back(error);
    }
    errors_ = std::move(kept);
  }
  bool IsToldBetter(size_t k) const {
    const auto general = general_.find(k);
    if (general == general_.end() || general->second.empty()) return false;
    for (size_t n = 0; n < errors_.size(); ++n) {
      if (!general_.contains(n) && errors_[n].reason.contains(general->second)) return true;
    }
    return false;
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

  std::string_view text_;
  size_t most_;
  std::vector<std::string_view> lines_;
  std::vector<ExplainedError> errors_;
  std::set<size_t> defined_;               // errors whose line is that of a variable
  std::map<size_t, std::string> general_;  // errors of which a status is known, and the message
  std::map<std::string, size_t> seen_;     // what was told, and the position of its error
  std::set<std::string> told_;             // keys of evidence
  std::string caused_;     // what was told last of a JaxStackTraceBeforeTransformation
  size_t trials_end_ = 0;  // lines before it are of algorithms that were tried
  int64_t left_out_ = 0, matches_ = 0;
};

}  // namespace

std::string ErrorSentence(const ExplainedError& error, std::string_view from) {
  std::string place = error.file.empty() ? std::string(from) : error.file;
  const int32_t line = error.file.empty() ? error.at_line : error.line;
  if (line > 0) place += fmt::format(":{}", line);
  std::string what;
  if (!error.node.empty()) what += " node " + error.node;
  if (!error.op.empty() && error.op != error.node) what += " (" + error.op + ")";
  if (!error.device.empty()) what += " on " + error.device;
  const bool is_list =
      !what.empty() && !what.starts_with(" (");  // "kind (op)", "kind, node n (op)"
  return fmt::format("{}: {}{}{}: {}", place, error.kind, is_list ? "," : "", what, error.reason);
}

std::string_view NameOf(Severity severity) {
  if (severity == Severity::kNote) return "note";
  return severity == Severity::kWarning ? "warning" : "error";
}

std::vector<ExplainedError> ExplainErrors(std::string_view text, size_t most, int64_t* left_out) {
  return Explainer(text, most).Run(left_out);
}

ExplainedError HostFallback(std::string_view operation, int64_t count) {
  // As PyTorch/XLA's report of its counters writes it, so that one row of the table tells both.
  const auto errors = ExplainErrors(fmt::format("Counter: {}\n  Value: {}\n", operation, count), 1);
  ExplainedError error = errors.empty() ? ExplainedError() : errors.front();
  error.at_line = 0;
  if (errors.empty()) error.kind = "host_fallback";
  if (errors.empty()) error.reason = fmt::format("{} ran on the host", operation);
  return error;
}

}  // namespace hloscope::dump
