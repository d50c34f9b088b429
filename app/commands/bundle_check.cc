// `hloscope bundle check` and `bundle open`.
#include <fmt/format.h>

#include <array>

#include "app/cancel.h"
#include "app/commands/bundle.h"
#include "app/error_status.h"
#include "app/output.h"
#include "app/reports/bundle_report.h"
#include "app/workers.h"
#include "core/base/counted.h"
#include "core/base/format_text.h"
#include "core/debug/bundle/check.h"
#include "core/debug/bundle/unpack.h"

namespace hloscope::app {
namespace {

int StatusOfCheck(debug::CheckStatus status) {
  switch (status) {
    case debug::CheckStatus::kReproduced:
      return kGood;
    case debug::CheckStatus::kNotReproduced:
      return kDiffers;
    case debug::CheckStatus::kCannot:
      return kUnsupported;
  }
  return kUnsupported;
}

Result<debug::BundleCheck> CheckFile(const std::string& path, const debug::RunSpec& own,
                                     const std::stop_token& stop) {
  HLOSCOPE_ASSIGN_OR_RETURN(const auto bundle, dump::BundleFile::Open(path, own.limits));
  return debug::CheckBundle(bundle, own, stop);
}

}  // namespace

int BundleCheck(std::span<const std::string> files, const RunOptionSet& run,
                const Context& context) {
  const CancelOnSignals cancel;
  debug::RunSpec own = run.request();
  own.execution.workers = StartWorkers({}, context.limits);
  int status = kGood;
  for (const std::string& file : files) {
    Result<debug::BundleCheck> check = CheckFile(file, own, cancel.token());
    if (!check) {
      // A refusal is an answer too: the bundle cannot be replayed, and why.
      status = Worse(status, ExitStatusOf(check.error()));
      PrintError(check.error());
      const std::string why = check.error().ToString();
      check = debug::BundleCheck();
      check->verdict = why;
    } else {
      status = Worse(status, StatusOfCheck(check->status));
      if (!context.json) PrintOut(BundleCheckText(file, *check));
    }
    if (context.json) WriteOut(BundleCheckJson(file, *check));
    FlushOut();
    if (cancel.token().stop_requested()) break;
  }
  return status;
}

int BundleOpen(const std::string& file, const std::string& into, const Context& context) {
  const auto unpack = [&]() -> Result<std::vector<std::string>> {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto bundle, dump::BundleFile::Open(file, context.limits));
    return debug::UnpackBundle(bundle, into);
  };
  const auto written = unpack();
  if (context.json) {
    std::string out;
    JsonWriter json(out);
    json.BeginObject().Field("file", file).Field("into", into);
    if (written) {
      json.Key("parts").BeginArray();
      for (const std::string& path : *written) json.Value(path);
      json.EndArray();
    } else {
      WriteErrorStatus(json, written.error());
      json.Field("error", written.error().ToString());
    }
    json.EndObject();
    WriteOut(out + "\n");
  }
  if (!written) {
    PrintError(written.error());
    return ExitStatusOf(written.error());
  }
  if (!context.json) {
    PrintOut(FormatText("{}: {}; {}/report.html says what happened\n", into,
                        Counted(written->size(), "file"), into));
  }
  return kGood;
}

}  // namespace hloscope::app
