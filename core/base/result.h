// Errors as values: Error says what went wrong, where, and how to fix it; Result<T> carries one or
// a T.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace hloscope {

// Who has to act on an error.
enum class ErrorClass : uint8_t {
  kInput,        // the file or the command line is wrong
  kUnsupported,  // sound input that this build or platform cannot handle
  kEnvironment,  // disk, memory, permissions, missing library
  // Execution that did not finish, by cause (the words of absl::StatusCode where it has one):
  kCrashed,            // a process or a kernel ended by a fault
  kDeadlineExceeded,   // it took longer, or more steps, than allowed
  kCancelled,          // a stop was requested
  kResourceExhausted,  // it used more memory than allowed
  kDeadlock,           // a rendezvous that can never complete
  kInternal,           // our own mistake
};

/// True for the classes of execution that did not finish: kCrashed to kDeadlock.
bool IsExecutionFailure(ErrorClass error_class);

/// "crashed", "deadline", "cancelled", "memory" or "deadlock"; empty for other classes.
std::string_view ErrorKindOf(ErrorClass error_class);

/// ErrorKindOf for people: "deadline exceeded", "out of memory" …; empty for other classes.
std::string_view ErrorKindText(ErrorClass error_class);

// A position in a text file; line and column count from 1, 0 means unknown.
struct Place {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;

  // "file:line:column", leaving out what is unknown.
  std::string ToString() const;
};

struct Error {
  ErrorClass error_class = ErrorClass::kInput;
  std::string message;  // lower case, no final period: what, and what was expected
  Place place;
  std::string hint;  // how to fix it; may be empty

  // "file:line:column: message (hint)".
  std::string ToString() const;
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

inline std::unexpected<Error> InputError(std::string message, std::string hint = {}) {
  return std::unexpected(Error{ErrorClass::kInput, std::move(message), {}, std::move(hint)});
}
inline std::unexpected<Error> UnsupportedError(std::string message, std::string hint = {}) {
  return std::unexpected(Error{ErrorClass::kUnsupported, std::move(message), {}, std::move(hint)});
}
inline std::unexpected<Error> EnvironmentError(std::string message, std::string hint = {}) {
  return std::unexpected(Error{ErrorClass::kEnvironment, std::move(message), {}, std::move(hint)});
}
inline std::unexpected<Error> InternalError(std::string message) {
  return std::unexpected(Error{ErrorClass::kInternal, std::move(message), {}, {}});
}

}  // namespace hloscope

#define HLOSCOPE_CONCAT_INNER(a, b) a##b
#define HLOSCOPE_CONCAT(a, b) HLOSCOPE_CONCAT_INNER(a, b)

// Returns the error of `expr` (a Status or Result) from the enclosing function, if it has one.
#define HLOSCOPE_TRY(expr)                                                        \
  do {                                                                            \
    if (auto hloscope_status = (expr); !hloscope_status.has_value()) [[unlikely]] \
      return std::unexpected(std::move(hloscope_status).error());                 \
  } while (false)

// `HLOSCOPE_ASSIGN_OR_RETURN(auto x, F())`: x becomes the value of F() or its error is returned.
#define HLOSCOPE_ASSIGN_OR_RETURN(lhs, expr) \
  HLOSCOPE_ASSIGN_OR_RETURN_INNER(HLOSCOPE_CONCAT(hloscope_result_, __LINE__), lhs, expr)
#define HLOSCOPE_ASSIGN_OR_RETURN_INNER(result, lhs, expr) \
  auto result = (expr);                                    \
  if (!result.has_value()) [[unlikely]]                    \
    return std::unexpected(std::move(result).error());     \
  lhs = *std::move(result)
