#include "core/dump/errors/keras_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/base/strings.h"

namespace hloscope::dump {
namespace {

struct ReasonRow {
  std::string_view name, label, reason, fix;
};
constexpr ReasonRow kRows[] = {
#define KERAS_REASON(name, label, reason, fix) {name, label, reason, fix},
#include "core/dump/errors/keras_reasons.def"
#undef KERAS_REASON
};

// nullptr: a reason of a later version.
const ReasonRow* RowOf(const KerasStep& step) {
  const std::string_view reason = step.reason;
  const std::string_view name = reason.substr(0, reason.find(' '));
  const auto at = std::ranges::find(kRows, name, &ReasonRow::name);
  return at == std::end(kRows) ? nullptr : &*at;
}

std::string WithLayer(std::string_view text, const KerasStep& step) {
  std::string out(text);
  const size_t blank = step.reason.find(' ');
  if (const size_t at = out.find("{}"); at != out.npos && blank != step.reason.npos)
    out.replace(at, 2, "`" + step.reason.substr(blank + 1) + "`");
  return out;
}

}  // namespace

std::string ToText(const KerasStep& step) {
  const ReasonRow* row = RowOf(step);
  std::string text = row == nullptr ? step.reason : WithLayer(row->label, step);
  if (!step.place.empty()) {
    const size_t slash = step.place.find_last_of("/\\");
    text += ", " + step.place.substr(slash == std::string::npos ? 0 : slash + 1);
  }
  return fmt::format("`{}` ({})", step.model, text);
}

ExplainedError ToError(const KerasStep& step) {
  ExplainedError error;
  error.kind = "jit_compile_off";
  error.severity = Severity::kWarning;
  error.node = step.model;
  if (const size_t colon = step.place.rfind(':'); colon != std::string::npos) {
    error.file = step.place.substr(0, colon);
    // What is no line stays 0.
    std::from_chars(step.place.data() + colon + 1, step.place.data() + step.place.size(),
                    error.line);
  }
  const ReasonRow* row = RowOf(step);
  error.reason = row == nullptr ? "XLA compiles no step of the model: " + step.reason
                                : WithLayer(row->reason, step);
  if (row != nullptr) error.fix = row->fix;
  return error;
}

}  // namespace hloscope::dump
