// The status of an error in JSON.
#pragma once

#include <string_view>

#include "core/base/json.h"
#include "core/base/result.h"

namespace hloscope::app {

/// Writes `status` ("unsupported", "died" or "error") and, of "died", `error_kind`.
void WriteErrorStatus(JsonWriter& json, const Error& error);

/// Writes `error_kind`, where `kind` is not empty.
void WriteErrorKind(JsonWriter& json, std::string_view kind);

}  // namespace hloscope::app
