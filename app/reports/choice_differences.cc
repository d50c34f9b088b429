// A line for each instruction whose configuration differs.
#include "app/reports/choice_differences.h"

#include <fmt/format.h>

#include "core/base/counted.h"
#include "core/base/format_text.h"

namespace hloscope::app {

using analysis::ChoiceDifference;

std::string ChoiceDifferencesText(const std::vector<ChoiceDifference>& differences) {
  if (differences.empty()) return {};
  std::string out =
      FormatText("  {} of the autotuner {}:\n", Counted(differences.size(), "configuration"),
                 VerbFor(differences.size(), "differs", "differ"));
  for (const ChoiceDifference& d : differences) {
    out += FormatText(
        "    {} {}: {}\n      changes bits: {}, {}\n", d.module,
        d.instruction.empty() ? d.instruction_b : d.instruction,
        d.a && d.b ? ToString(*d.a) + " → " + ToString(*d.b) : ToString(d.a ? *d.a : *d.b),
        analysis::ToString(d.changes), d.why);
  }
  return out;
}

void WriteChoiceDifferences(const std::vector<ChoiceDifference>& differences, JsonWriter& json) {
  json.BeginArray();
  for (const ChoiceDifference& d : differences) {
    json.BeginObject().Field("module", d.module);
    for (const auto& [key, name] :
         {std::pair("instruction", &d.instruction), std::pair("instruction_b", &d.instruction_b)}) {
      json.Key(key);
      name->empty() ? json.Null() : json.Value(*name);
    }
    for (const auto& [key, config] : {std::pair("config", &d.a), std::pair("config_b", &d.b)}) {
      json.Key(key);
      *config ? json.Value(ToString(**config)) : json.Null();
    }
    json.Field("changes_bits", analysis::ToString(d.changes)).Field("why", d.why).EndObject();
  }
  json.EndArray();
}

}  // namespace hloscope::app
