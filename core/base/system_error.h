// SystemFailure: what a failed system call becomes.
#pragma once

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>

#include "core/base/result.h"

namespace hloscope {

// The environment error "cannot `action`: reason", the reason being that of errno.
inline std::unexpected<Error> SystemFailure(std::string_view action, int code = errno) {
  return EnvironmentError("cannot " + std::string(action) + ": " +
                          std::generic_category().message(code));
}

}  // namespace hloscope
