// The logs of a dump, one after another, explained.
#include "core/dump/logged_errors.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/counted.h"
#include "core/dump/run_record.h"

namespace hloscope::dump {

namespace {

// PyTorch/XLA logs nothing of what it runs on the host: `record` asks for its counters.
void AddFallbacks(const DumpModel& model, LoggedErrors& logged) {
  for (const RunRecord& record : ReadRunRecords(model).list) {
    for (const auto& [operation, count] : record.host_fallbacks)
      logged.errors.push_back({record.file, HostFallback(operation, count)});
  }
}

// Keras logs nothing where "auto" or an argument leaves jit_compile off; where it takes back what
// compile() asked for, the log has that as well.
void AddKerasSteps(const DumpModel& model, LoggedErrors& logged) {
  const bool was_logged = std::ranges::any_of(
      logged.errors, [](const LoggedError& one) { return one.error.kind == "jit_compile_off"; });
  for (const RunRecord& record : ReadRunRecords(model).list) {
    for (const KerasStep& step : record.keras_steps) {
      if (was_logged && step.reason.starts_with("layer")) continue;
      logged.errors.push_back({record.file, ToError(step)});
    }
  }
}

}  // namespace

LoggedErrors ErrorsInLogs(const DumpModel& model) {
  LoggedErrors logged;
  if (!model.left_out().empty()) logged.warnings.push_back(model.path() + ": " + model.left_out());
  constexpr size_t kMax = 50;  // of one file
  for (size_t k = 0; k < model.files().size(); ++k) {
    const FileEntry& file = model.files()[k];
    if (file.role != FileRole::kRunLog) continue;
    int64_t left_out = 0;
    auto errors = model.ReadFile(static_cast<int32_t>(k), [&](std::string_view text) {
      return ExplainErrors(text, kMax, &left_out);
    });
    if (!errors) {
      logged.warnings.push_back(errors.error().ToString());
      continue;
    }
    for (ExplainedError& error : *errors)
      logged.errors.push_back({static_cast<int32_t>(k), std::move(error)});
    if (left_out > 0)
      logged.warnings.push_back(fmt::format("{}: {}, see `hloscope explain`", file.path,
                                            Counted(left_out, "more error")));
  }
  AddFallbacks(model, logged);
  AddKerasSteps(model, logged);
  return logged;
}

}  // namespace hloscope::dump
