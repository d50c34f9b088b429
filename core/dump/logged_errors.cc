// The logs of a dump, one after another, explained.
#include "core/dump/logged_errors.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/counted.h"
#include "core/dump/run_record.h"

namespace hloscope::dump {

namespace {

constexpr size_t kMax = 50;  // of one file

// Records name operations and models, as many as one likes.
void AddLeftOut(const DumpModel& model, const RunRecord& record, size_t count, std::string_view one,
                std::string_view many, LoggedErrors& logged) {
  if (count <= kMax) return;
  logged.warnings.push_back(fmt::format("{}: and {}",
                                        model.files()[static_cast<size_t>(record.file)].path,
                                        Counted(count - kMax, one, many)));
}

// PyTorch/XLA logs nothing of what it runs on the host: `record` asks for its counters.
void AddFallbacks(const DumpModel& model, const RunRecord& record, LoggedErrors& logged) {
  size_t count = 0;
  for (const auto& [operation, times] : record.host_fallbacks) {
    if (++count <= kMax) logged.errors.push_back({record.file, HostFallback(operation, times)});
  }
  AddLeftOut(model, record, count, "more operation on the host", "more operations on the host",
             logged);
}

// Keras logs nothing where "auto" or an argument leaves jit_compile off; where it takes back what
// compile() asked for, the log has that as well.
void AddKerasSteps(const DumpModel& model, const RunRecord& record, bool was_logged,
                   LoggedErrors& logged) {
  size_t count = 0;
  for (const KerasStep& step : record.keras_steps) {
    if (was_logged && step.reason.starts_with("layer")) continue;
    if (++count <= kMax) logged.errors.push_back({record.file, ToError(step)});
  }
  AddLeftOut(model, record, count, "more step of a Keras model without jit_compile",
             "more steps of Keras models without jit_compile", logged);
}

}  // namespace

LoggedErrors ErrorsInLogs(const DumpModel& model) {
  LoggedErrors logged;
  if (!model.left_out().empty()) logged.warnings.push_back(model.path() + ": " + model.left_out());
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
  const bool was_logged = std::ranges::any_of(
      logged.errors, [](const LoggedError& one) { return one.error.kind == "jit_compile_off"; });
  const RunRecords records = ReadRunRecords(model);
  for (const RunRecord& record : records.list) AddFallbacks(model, record, logged);
  for (const RunRecord& record : records.list) AddKerasSteps(model, record, was_logged, logged);
  return logged;
}

}  // namespace hloscope::dump
