// Exceptions at the end of tracebacks, and the advice in their messages.
#include "core/dump/errors/raised.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/strings.h"
#include "core/dump/errors/log_line.h"
#include "core/dump/errors/stated_rule.h"
#include "core/dump/errors/traceback.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

constexpr size_t kMaxFrames = 400, kMaxMessageLines = 40;
constexpr size_t kMaxMessage = 600, kMaxAdvice = 400;  // bytes
constexpr size_t kMaxRead = 4096;                      // of a message

struct Exception {
  std::string_view type, message;  // "jax.errors.ShardingTypeError", the rest of its line
};

bool IsIdentifier(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  });
}

std::string_view LastName(std::string_view type) { return type.substr(type.rfind('.') + 1); }

bool IsExceptionType(std::string_view type) {
  if (!IsIdentifier(type)) return false;
  const std::string_view name = LastName(type);
  return !name.empty() && name[0] >= 'A' && name[0] <= 'Z' &&
         (name.ends_with("Error") || name.ends_with("Exception"));
}

// "ValueError: …", with pytest's "E   ", Julia's "ERROR: LoadError: ", Elixir's "** (X) " or the
// mark of a worker before it.
std::optional<Exception> ExceptionOf(std::string_view line) {
  if (LevelOf(line) == 'I' || line.starts_with("  ")) return std::nullopt;
  if (TakeWord(line, "E ")) line = TrimStart(line);
  if (TakeWord(line, "** (")) {
    const size_t end = line.find(") ");
    if (end == line.npos || !IsExceptionType(line.substr(0, end))) return std::nullopt;
    return Exception{line.substr(0, end), line.substr(end + 2)};
  }
  if (TakeWord(line, "ERROR: ")) TakeWord(line, "LoadError: ");
  if (line.starts_with('(') || line.starts_with('[')) {  // "(worker pid=7) ValueError: …"
    const size_t end = line.find_first_of(")]");
    if (end != line.npos) line = TrimStart(line.substr(end + 1));
  }
  const size_t colon = line.find(": ");
  if (colon == line.npos || !IsExceptionType(line.substr(0, colon))) return std::nullopt;
  return Exception{line.substr(0, colon), line.substr(colon + 2)};
}

// What no message of Python goes on with.
bool EndsMessage(std::string_view line) {
  const std::string_view plain = Trim(line);
  for (std::string_view mark : {"Traceback (most", "During handling of the above",
                                "The above exception was", "The preceding stack trace",
                                "Stacktrace:", "------", "======", "#####", "Call arguments"}) {
    if (plain.starts_with(mark)) return true;
  }
  return LevelOf(line) != 0 || plain.starts_with("File \"") || ExceptionOf(line).has_value();
}

// The message with its next lines, blanks in place of line ends.
std::string WholeMessage(const std::vector<std::string_view>& lines, size_t at,
                         std::string_view first) {
  std::string message(Trim(first).substr(0, kMaxRead));
  const size_t end = std::min(lines.size(), at + kMaxMessageLines);
  for (size_t k = at + 1; k < end && message.size() < kMaxRead && !EndsMessage(lines[k]); ++k) {
    const std::string_view line = Trim(lines[k]).substr(0, kMaxRead);
    if (line.empty()) continue;
    message += message.ends_with(':') || message.ends_with('.') ? " " : "\n";
    message += line;
  }
  return message;
}

// The package of a frame: "flax" of ".../site-packages/flax/nnx/variables.py".
std::string PackageOf(std::string_view file) {
  for (std::string_view folder : {"site-packages/", "dist-packages/", "site-packages\\"}) {
    const size_t at = file.rfind(folder);
    if (at == file.npos) continue;
    const std::string_view rest = file.substr(at + folder.size());
    const size_t end = rest.find_first_of("/\\");
    if (end != rest.npos) return std::string(rest.substr(0, end));
  }
  for (const auto& [part, package] : {std::pair{"/jax/_src/", "jax"},
                                      {"/tensorflow/python/", "tensorflow"},
                                      {"/torch_xla/", "torch_xla"}}) {
    if (file.contains(part)) return package;
  }
  return {};
}

// "jax" of "jax.errors.X" and of "jaxlib._jax.X"; empty for Python's own types.
std::string PackageOfType(std::string_view type) {
  const size_t dot = type.find('.');
  if (dot == type.npos || type.starts_with("__") || type.starts_with("builtins")) return {};
  const std::string_view package = type.substr(0, dot);
  constexpr std::string_view kJax = "jax";  // whose types are in a library of its name and "lib"
  const bool is_its_library =
      package.size() == kJax.size() + 3 && package.starts_with(kJax) && package.ends_with("lib");
  return std::string(is_its_library ? kJax : package);
}

// The module that raised: of Python the innermost frame's, which stands last before the exception;
// of Julia and Elixir that of the first frame behind it. `has_trace`: there are frames.
std::string RaisedIn(const std::vector<std::string_view>& lines, size_t at, bool& has_trace) {
  has_trace = false;
  for (size_t k = at; k-- > 0 && at - k < kMaxFrames;) {
    if (lines[k].contains("Traceback (most recent call last)")) break;
    if (const auto frame = FrameAt(lines, k)) {
      has_trace = true;
      return PackageOf(frame->file);
    }
  }
  for (size_t k = at + 1; k < lines.size() && k < at + kMaxMessageLines; ++k) {
    std::string_view line = Trim(lines[k]);
    if (TakeWord(line, "@ ") && line.contains(".jl:")) {
      has_trace = true;
      const std::string_view module = line.substr(0, line.find_first_of(" ."));
      const bool is_own = module == "Base" || module == "Main" || module == "Core";
      return is_own ? "" : std::string(module);
    }
    if (line.starts_with('(') && (line.contains(".ex:") || line.contains(".erl:"))) {
      has_trace = true;
      return std::string(line.substr(1, line.find(' ') - 1));
    }
  }
  return {};
}

// The next sentence of `text`, taken off; they end at ". ", at a line's end and at the end.
std::string_view TakeSentence(std::string_view& text) {
  size_t end = text.find('\n');
  for (std::string_view mark : {". ", "! ", "? "}) {
    const size_t found = text.find(mark);
    if (found != text.npos && (end == text.npos || found + 1 < end)) end = found + 1;
  }
  const std::string_view sentence = Trim(text.substr(0, end));
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return sentence;
}

// Whether a sentence that begins with a verb goes on as an order does: "Check the …", "Set
// `XLA_FLAGS`", "run nvidia-smi"; "Check failed: …" and "Update slice is larger …" report.
bool IsOrder(std::string_view rest) {
  constexpr std::string_view kObjects[] = {"the", "a",    "an",   "your",  "that", "whether",
                                           "if",  "it",   "this", "these", "both", "only",
                                           "all", "them", "or",   "one",   "for",  "to"};
  const std::string_view next = rest.substr(0, rest.find(' '));
  return std::ranges::find(kObjects, next) != std::end(kObjects) ||
         next.find_first_of("_=(-`'\"") != next.npos;
}

bool IsAdvice(std::string_view sentence) {
  std::string lower;
  for (const char c : sentence) lower += AsciiToLower(c);
  const auto holds = [&](std::string_view word) { return lower.contains(word); };
  const auto begins = [&](std::string_view word) { return lower.starts_with(word); };
  constexpr std::string_view kReports[] = {"file an issue",  "file a bug",    "open an issue",
                                           "report this",    "report a bug",  "feature request",
                                           "file a feature", "open a github", "open a feature",
                                           "please file",    "submit a bug"};
  // Python adds names that it knows: "Did you mean: 'item'?"
  if (std::ranges::any_of(kReports, holds) || holds("did you mean: '")) return false;
  constexpr std::string_view kBegins[] = {"try ",
                                          "please ",
                                          "consider ",
                                          "use ",
                                          "make sure",
                                          "did you ",
                                          "either ",
                                          "revise ",
                                          "instead",
                                          "perhaps ",
                                          "you can ",
                                          "you may ",
                                          "you should ",
                                          "you need ",
                                          "you must ",
                                          "to fix",
                                          "to avoid",
                                          "to resolve",
                                          "to solve",
                                          "as a workaround",
                                          "if you ",
                                          "ensure ",
                                          "you probably ",
                                          "you might ",
                                          "to use ",
                                          "to enable ",
                                          "maybe ",
                                          "for scalar values",
                                          "hint:",
                                          "workaround:",
                                          "solution:",
                                          "this can be fixed",
                                          "it may be possible"};
  constexpr std::string_view kVerbs[] = {"set ", "pass ", "check ",   "update ", "remove ",
                                         "add ", "run ",  "install ", "upgrade "};
  const auto orders = [&](std::string_view verb) {
    return lower.starts_with(verb) && IsOrder(std::string_view(lower).substr(verb.size()));
  };
  if (std::ranges::any_of(kVerbs, orders)) return true;
  constexpr std::string_view kHolds[] = {
      "did you mean",    "please use ",      "please set ",
      "please pass ",    "please make sure", "please call ",
      "please specify ", "consider using ",  "consider setting ",
      "you can use ",    "you should ",      "you may want to ",
      "you need to ",    "workaround is ",   "for more guidance, see",
      "try using ",      "try setting ",     "use instead",
      "instead use"};
  return std::ranges::any_of(kBegins, begins) || std::ranges::any_of(kHolds, holds);
}

std::string OneLine(std::string_view text, size_t most) {
  std::string line(text.substr(0, most));
  std::ranges::replace(line, '\n', ' ');
  if (text.size() > most) line += " …";
  return line;
}

}  // namespace

std::string AdviceOf(std::string_view message) {
  std::string advice;
  message = message.substr(0, kMaxRead);
  while (!message.empty()) {
    const std::string_view sentence = TakeSentence(message);
    if (!IsAdvice(sentence) || advice.size() + sentence.size() > kMaxAdvice) continue;
    if (!advice.empty()) advice += ' ';
    advice += sentence;
  }
  return advice;
}

std::optional<ExplainedError> FindRaised(const std::vector<std::string_view>& lines) {
  for (size_t k = lines.size(); k-- > 0;) {
    const auto exception = ExceptionOf(lines[k]);
    if (!exception) continue;
    bool has_trace = false;
    const std::string of_type = PackageOfType(exception->type);
    std::string library = RaisedIn(lines, k, has_trace);
    if (library.empty()) library = of_type;
    const std::string message = WholeMessage(lines, k, exception->message);
    const std::string advice = AdviceOf(message), rule = FixOfRule(message);
    if (Trim(message).empty() || (library.empty() && advice.empty() && rule.empty())) continue;
    // A line in the midst of a log may quote an exception that was caught.
    const auto is_blank = [](std::string_view line) { return Trim(line).empty(); };
    const bool is_first =
        std::all_of(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(k), is_blank);
    if (!has_trace && !is_first && of_type.empty()) continue;
    ExplainedError error;
    error.kind = "raised";
    SourceLine source = FindSourceLine(lines, k);
    error.file = std::move(source.file);
    error.line = source.line;
    error.at_line = static_cast<int32_t>(k + 1);
    const std::string_view type = LastName(exception->type);
    error.reason = library.empty() ? fmt::format("{}: {}", type, OneLine(message, kMaxMessage))
                                   : fmt::format("{} raised {}: {}", library, type,
                                                 OneLine(message, kMaxMessage));
    error.fix = fmt::format(
        "the message is {}'s own, and hloscope knows no more of it: see what the line gives to {}",
        library, library);
    if (!rule.empty()) error.fix = rule;
    if (!advice.empty()) error.fix = fmt::format("as the message says: {}", advice);
    return error;
  }
  return std::nullopt;
}

}  // namespace hloscope::dump
