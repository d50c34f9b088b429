#include "core/base/result.h"

#include <algorithm>
#include <iterator>

namespace hloscope {
namespace {

struct ErrorKindRow {
  ErrorClass error_class;
  std::string_view kind, text;
};

constexpr ErrorKindRow kErrorKinds[] = {
    {ErrorClass::kCrashed, "crashed", "crashed"},
    {ErrorClass::kDeadlineExceeded, "deadline", "deadline exceeded"},
    {ErrorClass::kCancelled, "cancelled", "cancelled"},
    {ErrorClass::kResourceExhausted, "memory", "out of memory"},
    {ErrorClass::kDeadlock, "deadlock", "deadlock"},
};

const ErrorKindRow* RowOf(ErrorClass error_class) {
  const auto* const row = std::ranges::find(kErrorKinds, error_class, &ErrorKindRow::error_class);
  return row == std::end(kErrorKinds) ? nullptr : row;
}

}  // namespace

bool IsExecutionFailure(ErrorClass error_class) { return RowOf(error_class) != nullptr; }

std::string_view ErrorKindOf(ErrorClass error_class) {
  const ErrorKindRow* row = RowOf(error_class);
  return row == nullptr ? std::string_view() : row->kind;
}

std::string_view ErrorKindText(ErrorClass error_class) {
  const ErrorKindRow* row = RowOf(error_class);
  return row == nullptr ? std::string_view() : row->text;
}

std::string Place::ToString() const {
  std::string text = file;
  if (line == 0) return text;
  if (!text.empty()) text += ':';
  text += std::to_string(line);
  if (column != 0) text += ':' + std::to_string(column);
  return text;
}

std::string Error::ToString() const {
  std::string text = place.ToString();
  if (!text.empty()) text += ": ";
  text += message;
  if (!hint.empty()) text += " (" + hint + ")";
  return text;
}

}  // namespace hloscope
