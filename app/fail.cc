// Errors as text and as JSON.
#include "app/fail.h"

#include "app/error_status.h"
#include "app/output.h"
#include "core/base/json.h"

namespace hloscope::app {
std::string FailureJson(const InputKeys& keys, const Error& error) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject();
  for (const auto& [key, value] : keys) json.Field(key, value);
  WriteErrorStatus(json, error);
  json.Field("error", error.ToString()).EndObject();
  return out + "\n";
}

Error InFile(Error error, const std::string& file) {
  if (error.place.file.empty() && !error.message.starts_with(file)) error.place.file = file;
  return error;
}

int Fail(const InputKeys& keys, const Error& error, const Context& context) {
  if (context.json) WriteOut(FailureJson(keys, error));
  PrintError(error);
  return ExitStatusOf(error);
}

int Fail(const std::string& path, const Error& error, const Context& context) {
  return Fail({{"file", path}}, error, context);
}

int FailEach(std::string_view key, std::span<const std::string> inputs, const Error& error,
             const Context& context) {
  if (inputs.empty()) return Fail(InputKeys(), error, context);
  for (const std::string& input : inputs) {
    if (context.json) WriteOut(FailureJson({{key, input}}, error));
  }
  PrintError(error);
  return ExitStatusOf(error);
}

}  // namespace hloscope::app
