// One line a compilation; the fix once for each reason of a program.
#include "app/reports/recompilation_report.h"

#include <fmt/format.h>

#include <set>

#include "app/reports/dump_report.h"
#include "core/base/format_text.h"

namespace hloscope::app {
namespace {

constexpr size_t kShown = 12;  // compilations of a program

std::string CompilationLine(const debug::Recompilation& one) {
  std::string out = "    ";
  if (!one.modules.empty()) out += FormatText("{}: ", ShownName(one.modules.back()));
  out += FormatText("{}", debug::ToSentence(one.cause));
  if (!one.place.empty()) out += FormatText(" (called at {})", one.place);
  if (one.compile_ms >= 0) out += FormatText(", {}", debug::CompileTimeText(one.compile_ms));
  return out + "\n";
}

}  // namespace

std::string RecompilationsText(const debug::Recompilations& found) {
  std::string out;
  for (const debug::CompiledProgram& program : found.programs) {
    out += FormatText("  compiled again: {}\n", debug::ToSentence(program));
    size_t shown = 0, more = 0;
    std::set<std::string> fixes;
    for (const debug::Recompilation& one : found.list) {
      if (one.program != program.program || one.framework != program.framework) continue;
      fixes.insert(debug::FixOf(one));
      ++shown <= kShown ? void(out += CompilationLine(one)) : void(++more);
    }
    if (more > 0) out += FormatText("    and {} more (--json lists all)\n", more);
    for (const std::string& fix : fixes) out += FormatText("    fix: {}\n", fix);
  }
  for (const std::string& text : found.warnings) out += FormatText("  warning: {}\n", text);
  return out;
}

void WriteRecompilations(const debug::Recompilations& found, JsonWriter& json) {
  auto text = [&](std::string_view key, const std::string& value) {
    json.Key(key);
    value.empty() ? json.Null() : json.Value(value);
  };
  json.BeginArray();
  for (const debug::Recompilation& one : found.list) {
    json.BeginObject().Field("framework", one.framework).Field("program", one.program);
    json.Key("modules").BeginArray();
    for (const std::string& module : one.modules) json.Value(module);
    json.EndArray().Field("kind", KeyOf(one.cause.reason));
    json.Field("reason", debug::ToSentence(one.cause));
    text("argument", one.cause.argument);
    text("from", one.cause.from);
    text("to", one.cause.to);
    text("place", one.place);
    json.Key("compile_ms");
    one.compile_ms >= 0 ? json.Value(one.compile_ms) : json.Null();
    json.Field("fix", debug::FixOf(one)).EndObject();
  }
  json.EndArray();
}

}  // namespace hloscope::app
