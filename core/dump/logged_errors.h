// Errors in the logs of a dump, and what the record of its run says ran on the host.
#pragma once

#include <string>
#include <vector>

#include "core/dump/dump_model.h"
#include "core/dump/errors/explain.h"

namespace hloscope::dump {

struct LoggedError {
  int32_t file = -1;  // of DumpModel::files()
  ExplainedError error;
};
struct LoggedErrors {
  std::vector<LoggedError> errors;    // by file, in the order of the texts
  std::vector<std::string> warnings;  // files that could not be read, errors left out
};
LoggedErrors ErrorsInLogs(const DumpModel& model);

}  // namespace hloscope::dump
