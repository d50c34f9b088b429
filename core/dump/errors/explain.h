// Error texts, tracebacks and logs of frameworks: which node, operation and source line, why, and
// what to change. The texts are a table, error_texts.def.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hloscope::dump {

// How much it matters: a note changed nothing, after a warning the program went on.
enum class Severity : uint8_t { kNote, kWarning, kError };
std::string_view NameOf(Severity severity);  // "note", "warning", "error"

struct ExplainedError {
  std::string kind;  // of the table: "unsupported_op", "out_of_memory", …
  Severity severity = Severity::kError;
  std::string node, op, device;  // empty: the text does not say
  std::string file;              // the user's innermost source line; empty: none is named
  int32_t line = 0;
  std::string reason, fix;
  std::vector<std::string> buffers;  // of an out-of-memory report: "4.00GiB f32[…] fusion.1 (…)"
  int32_t at_line = 0;               // of the text, from 1
};

// "train.py:4: unsupported_op, node x (Unique): XLA has no …"; `from` is the file of the text, for
// errors that name no source line.
std::string ErrorSentence(const ExplainedError& error, std::string_view from);

// What the text tells, each error once, in its order. At most `most`; more are counted in
// `*left_out`.
std::vector<ExplainedError> ExplainErrors(std::string_view text, size_t most = 200,
                                          int64_t* left_out = nullptr);

// Of an operation that PyTorch/XLA ran on the host `count` times, as its counters say.
ExplainedError HostFallback(std::string_view operation, int64_t count);

}  // namespace hloscope::dump
