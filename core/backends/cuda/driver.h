// Driver: the CUDA driver's library, loaded when first asked for, and what its errors mean.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "core/backends/cuda/driver_api.h"
#include "core/base/result.h"

namespace hloscope::replay::cuda {

// A row of driver_errors.def.
struct ErrorRow {
  Answer number;
  const char* name;
  ErrorClass error_class;
  bool loses_device;  // nothing works any more in this process
  const char* reason;
  const char* fix;
};
// Null: the table has none.
const ErrorRow* FindError(Answer number);

class Driver {
 public:
  // Loads libcuda.so.1 and starts it, once for the process. Errors, whose messages begin with the
  // reason: there is none, or no device (environment), it is too old (environment).
  static Result<std::shared_ptr<const Driver>> Open();

  const Functions* operator->() const { return &functions_; }
  int version() const { return version_; }
  // Whether a graph may hold loops.
  bool has_conditional_nodes() const { return has_newer_ && version_ >= kConditionalNodesVersion; }
  // How many it shows now; at least one.
  int devices() const;

  // Good where the driver's answer is; else what was being done, its answer and the fix.
  template <typename... Args>
  Status Check(Answer result, fmt::format_string<Args...> doing, Args&&... args) const {
    if (result == kSuccess) [[likely]]
      return {};
    return std::unexpected(ErrorOf(result, fmt::format(doing, std::forward<Args>(args)...)));
  }
  Error ErrorOf(Answer result, const std::string& doing) const;

 private:
  Status Load();
  Status Start();

  Functions functions_;
  int version_ = 0;
  bool has_newer_ = false;
};

// "12.4" of 12040.
std::string VersionText(int version);

}  // namespace hloscope::replay::cuda
