// A message names its function in the line of the error or in its last line; other errors of the
// log, before and after it, are not its cause.
#include "core/dump/errors/failed_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "core/dump/errors/explain.h"
#include "core/dump/errors/log_line.h"
#include "core/dump/errors/severity.h"
#include "core/dump/tensorflow/whole_advice.h"

namespace hloscope::dump {
namespace {

constexpr std::string_view kError = "when trying to compile graph ";
constexpr std::string_view kEnd = "conversion failed while converting ";
constexpr size_t kMaxLines = 80;  // of a message, before the one that names a function and after it
constexpr size_t kMaxBytes = 256 << 10;   // of the messages of one function
constexpr size_t kMaxPlacesOfLine = 100;  // in a line

size_t LineBegin(std::string_view text, size_t at) {
  return at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
}
size_t LineEnd(std::string_view text, size_t at) {
  return std::min(text.find('\n', at), text.size());
}

bool IsTraceback(std::string_view line) {
  return line.contains("Traceback (most recent call last)");
}
bool BeginsMessage(std::string_view line) {
  return IsTraceback(line) || LevelOf(WithoutLogPrefix(line)) != 0;
}

// The message of which the line at `at` names a function, from the traceback before it on.
std::string_view MessageAround(std::string_view text, size_t at, bool is_end) {
  const auto line_at = [&](size_t begin) {
    return text.substr(begin, LineEnd(text, begin) - begin);
  };
  const size_t own = LineBegin(text, at);
  size_t begin = own, error = own;
  for (size_t n = 0; n < kMaxLines && begin > 0 && !BeginsMessage(line_at(begin)); ++n) {
    begin = LineBegin(text, begin - 1);
    if (is_end && error == own && line_at(begin).contains(kError)) error = begin;
  }
  const bool is_told = !is_end || error != own;  // the line of the error is known
  if (is_told && !IsTraceback(line_at(begin))) begin = error;
  size_t end = LineEnd(text, own);
  bool is_whole = is_end;
  for (size_t n = 0; n < kMaxLines && !is_whole && end < text.size(); ++n) {
    const std::string_view line = line_at(end + 1);
    if (BeginsMessage(line)) break;
    end += 1 + line.size();
    is_whole = line.contains(kEnd);
  }
  return text.substr(begin, end - begin);
}

// The messages on each function, one after another.
void AddMessages(std::string_view text, std::map<std::string, std::string>& messages) {
  std::set<std::pair<std::string, const char*>> added;
  for (const std::string_view before : {kError, kEnd}) {
    size_t line_end = 0, places = 0;
    for (size_t at = text.find(before); at != text.npos; at = text.find(before, at + 1)) {
      if (at >= line_end) {
        line_end = LineEnd(text, at);
        places = 0;
      }
      // Looking around each place of a line reads the line.
      if (++places > kMaxPlacesOfLine) {
        at = line_end - 1;
        continue;
      }
      const std::string_view rest = text.substr(at + before.size(), 400);
      const std::string name = TensorFlowFunctionName(rest.substr(0, rest.find_first_of("[ .\n")));
      if (name.empty()) continue;
      const std::string_view message = MessageAround(text, at, before == kEnd);
      std::string& all = messages[name];
      if (all.size() + message.size() > kMaxBytes) continue;
      if (added.emplace(name, message.data()).second) all.append(message).append("\n");
    }
  }
}

FailedFunction CauseOf(std::string_view messages) {
  // Where the program catches the exception only TensorFlow's warning of it is in the log.
  const auto errors = ExplainErrors(messages);
  const auto cause = std::ranges::find_if(errors, [](const ExplainedError& error) {
    return error.severity == Severity::kError ||
           (error.severity == Severity::kWarning &&
            SeverityOf(error.kind, '\0', error.reason) == Severity::kError);
  });
  if (cause == errors.end()) return {};
  FailedFunction failed{.what = cause->op.empty() ? cause->kind : cause->op, .fix = cause->fix};
  if (!cause->file.empty()) failed.what += fmt::format(", {}:{}", cause->file, cause->line);
  return failed;
}

}  // namespace

void FailedFunctions::Read(std::string_view log) {
  AddMessages(log, messages_);
  fell_back_ |= log.contains("Falling back to TF function call");
}

std::map<std::string, FailedFunction> FailedFunctions::Find() const {
  std::map<std::string, FailedFunction> found;
  for (const auto& [name, text] : messages_) found.emplace(name, CauseOf(text));
  return found;
}

}  // namespace hloscope::dump
