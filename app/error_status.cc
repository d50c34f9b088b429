// The status of an error in JSON: how it is written.
#include "app/error_status.h"

#include "core/debug/run/run_module.h"

namespace hloscope::app {

void WriteErrorStatus(JsonWriter& json, const Error& error) {
  json.Field("status", ToString(debug::StatusOf(error)));
  WriteErrorKind(json, ErrorKindOf(error.error_class));
}

void WriteErrorKind(JsonWriter& json, std::string_view kind) {
  if (!kind.empty()) json.Field("error_kind", kind);
}

}  // namespace hloscope::app
