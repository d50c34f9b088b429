// Programs that fail in another way each time, as lines of JSON.
#include "core/debug/reduce/hunt/unstable.h"

#include <nlohmann/json.hpp>

#include "core/base/parse_json.h"

namespace hloscope::debug {

void WriteUnstable(JsonWriter& json, const UnstableProgram& program) {
  json.BeginObject().Field("origin", program.origin).Field("module", program.module);
  if (program.inputs.empty()) {
    json.Key("inputs").Null();
  } else {
    json.Field("inputs", program.inputs);
  }
  json.Key("runs").BeginArray();
  for (const std::string& run : program.runs) json.Value(run);
  json.EndArray().EndObject();
}

std::string UnstableLine(const UnstableProgram& program) {
  std::string line;
  JsonWriter json(line);
  WriteUnstable(json, program);
  return line + "\n";
}

Result<UnstableProgram> ParseUnstable(std::string_view line) {
  const nlohmann::json json = ParseJson(line).value_or(nullptr);
  if (!json.is_object()) return InputError("expected a program, a line of JSON");
  UnstableProgram program;
  try {
    program.origin = json.at("origin").get<std::string>();
    program.module = json.at("module").get<std::string>();
    if (json.at("inputs").is_string()) program.inputs = json.at("inputs").get<std::string>();
    program.runs = json.at("runs").get<std::vector<std::string>>();
  } catch (const nlohmann::json::exception&) {
    return InputError("expected a program that fails differently each time");
  }
  return program;
}

}  // namespace hloscope::debug
