// Findings as lines of JSON.
#include "core/debug/reduce/hunt/finding.h"

#include <nlohmann/json.hpp>

#include "core/base/json.h"
#include "core/base/parse_json.h"

namespace hloscope::debug {

std::string FindingLine(const Finding& finding) {
  std::string line;
  JsonWriter json(line);
  json.BeginObject();
#define FINDING_FIELD(name, may_be_null)       \
  if ((may_be_null) && finding.name.empty()) { \
    json.Key(#name).Null();                    \
  } else {                                     \
    json.Field(#name, finding.name);           \
  }
#include "core/debug/reduce/hunt/finding_fields.def"
#undef FINDING_FIELD
  json.Field("instructions", finding.instructions).EndObject();
  return line + "\n";
}

Result<Finding> ParseFinding(std::string_view line) {
  const nlohmann::json json = ParseJson(line).value_or(nullptr);
  if (!json.is_object()) return InputError("expected a finding, a line of JSON");
  Finding finding;
#define FINDING_FIELD(name, may_be_null)                                                \
  if (const auto found = json.find(#name); found != json.end() && found->is_string()) { \
    finding.name = found->get<std::string>();                                           \
  }
#include "core/debug/reduce/hunt/finding_fields.def"
#undef FINDING_FIELD
  const auto count = json.find("instructions");
  if (count != json.end() && count->is_number_integer()) finding.instructions = *count;
  if (finding.fault.empty()) return InputError("expected a finding: it names no fault");
  return finding;
}

}  // namespace hloscope::debug
