// A RunReport as JSON and as text.
#pragma once

#include <optional>
#include <string>

#include "app/reports/leaf_report.h"
#include "core/base/json.h"
#include "core/debug/run/run_module.h"

namespace hloscope::app {

// One compact object and a line break; `file` as given on the command line. With values: those of
// `inputs` and `outputs`.
std::string RunReportJson(const std::string& file, const debug::RunReport& report,
                          bool with_values = false);
// For a person: a line for each result and the verdict; the error comes apart.
std::string RunReportText(const std::string& file, const debug::RunReport& report);
// Its error, which names at least `file`.
std::optional<Error> RunReportError(const std::string& file, const debug::RunReport& report);
// What checks of a simulated GPU found: the key "checks".
void WriteChecks(JsonWriter& json, const std::vector<replay::RunFinding>& findings);
int ExitStatusOf(debug::RunStatus status);
// That of its status, or kDiffers where all is well but checks found something.
int ExitStatusOf(const debug::RunReport& report);

}  // namespace hloscope::app
