// The logs of a dump, one after another, explained.
#include "core/dump/logged_errors.h"

#include <fmt/format.h>

#include "core/base/counted.h"

namespace hloscope::dump {

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
  return logged;
}

}  // namespace hloscope::dump
