// A log is read whole: what it says of compilations, and the lines that could not be read.
#include "app/commands/info_recompilations.h"

#include <fmt/format.h>

#include "app/output.h"
#include "app/reports/error_report.h"
#include "app/reports/recompilation_report.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/debug/recompile/compile_log.h"

namespace hloscope::app {

std::optional<int> ShowCompileLog(const FileView& file, const Context& context) {
  const debug::CompileLog log = debug::ReadCompileLog(file.bytes(), file.path());
  const std::vector<dump::ExplainedError> errors = dump::ExplainErrors(file.bytes());
  if (!log.found() && errors.empty()) return std::nullopt;
  const debug::Recompilations found = debug::RecompilationsOf(log);
  if (!context.json) {
    PrintOut(FormatText("{}: a log of {}, {} of a program compiled before\n", file.path(),
                        Counted(log.compilations.size(), "compilation"), found.list.size()) +
             RecompilationsText(found));
    for (const dump::ExplainedError& error : errors)
      PrintOut(ErrorText(error, file.path(), "  error "));
    return kGood;
  }
  std::string out;
  JsonWriter json(out);
  json.BeginObject().Field("file", file.path()).Field("kind", log.found() ? "compile-log" : "log");
  json.Field("compilations", log.compilations.size());
  WriteRecompilations(found, json.Key("recompilations"));
  json.Key("errors").BeginArray();
  for (const dump::ExplainedError& error : errors) WriteError(json, error, file.path());
  json.EndArray().Key("warnings").BeginArray();
  for (const std::string& text : found.warnings) json.Value(text);
  json.EndArray().EndObject();
  WriteOut(out + "\n");
  return kGood;
}

}  // namespace hloscope::app
