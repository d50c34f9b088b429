// What an error text means, written down.
#include "app/reports/error_report.h"

#include <fmt/format.h>

#include "core/base/format_text.h"

namespace hloscope::app {

std::string ErrorText(const dump::ExplainedError& error, std::string_view from,
                      std::string_view indent) {
  std::string out = FormatText("{}{}\n", indent, dump::ErrorSentence(error, from));
  if (!error.fix.empty()) out += FormatText("{}  fix: {}\n", indent, error.fix);
  for (const std::string& buffer : error.buffers)
    out += FormatText("{}  buffer {}\n", indent, buffer);
  return out;
}

std::string ErrorJson(const dump::ExplainedError& error, std::string_view from) {
  std::string out;
  JsonWriter json(out);
  WriteError(json, error, from);
  return out;
}

std::string NothingExplainedJson(std::string_view from, std::string_view why,
                                 const dump::NearestText& nearest) {
  std::string out;
  JsonWriter json(out);
  json.BeginObject()
      .Field("file", from)
      .Field("in", from)
      .Field("status", "nothing_found")
      .Field("error", why)
      .Field("read", nearest.line)
      .Field("read_line", static_cast<int64_t>(nearest.at_line))
      .Field("nearest_kind", nearest.kind)
      .Field("nearest_text", nearest.known)
      .EndObject();
  return out + "\n";
}

void WriteError(JsonWriter& json, const dump::ExplainedError& error, std::string_view from) {
  auto text = [&](std::string_view key, std::string_view value) {
    json.Key(key);
    value.empty() ? json.Null() : json.Value(value);
  };
  json.BeginObject().Field("kind", error.kind);
  json.Field("severity", dump::NameOf(error.severity));
  text("node", error.node);
  text("op", error.op);
  text("device", error.device);
  text("file", error.file);
  json.Key("line");
  error.file.empty() ? json.Null() : json.Value(static_cast<int64_t>(error.line));
  text("reason", error.reason);
  text("fix", error.fix);
  json.Key("buffers").BeginArray();
  for (const std::string& buffer : error.buffers) json.Value(buffer);
  json.EndArray()
      .Field("in", from)
      .Field("in_line", static_cast<int64_t>(error.at_line))
      .EndObject();
}

}  // namespace hloscope::app
