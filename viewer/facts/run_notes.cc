// Read once for a dump, in the background.
#include "viewer/facts/run_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <set>

#include "core/base/counted.h"
#include "core/debug/bundle/bounded_text.h"
#include "core/debug/bundle/manifest.h"
#include "core/dump/bundle_file.h"
#include "viewer/model/document.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

using debug::BoundedText;

std::vector<std::string> SentencesOf(const debug::BundleManifest& manifest) {
  std::string of = BoundedText(manifest.framework);
  if (!manifest.framework_version.empty()) of += " " + BoundedText(manifest.framework_version);
  std::vector<std::string> sentences = {
      fmt::format("a bug bundle: module {}{}", BoundedText(manifest.module),
                  of.empty() ? "" : " of " + of),
      BoundedText(manifest.sentence)};
  if (!manifest.replay.empty())
    sentences.push_back("replayed in a clean process: " + BoundedText(manifest.replay));
  sentences.push_back("run with: " + BoundedText(debug::RunOptionsText(manifest.request)));
  return sentences;
}

Status ReadBundle(const dump::DumpModel& dump, int32_t file_index, RunNotes& notes) {
  HLOSCOPE_ASSIGN_OR_RETURN(const FileView file, dump.OpenFile(file_index));
  HLOSCOPE_ASSIGN_OR_RETURN(const dump::BundleFile bundle,
                            dump::BundleFile::Open(file, dump.limits()));
  HLOSCOPE_ASSIGN_OR_RETURN(const debug::BundleManifest manifest, debug::ManifestOf(bundle));
  notes.fault = BoundedText(manifest.sentence);
  for (std::string& sentence : SentencesOf(manifest)) notes.bundle.push_back(std::move(sentence));
  return {};
}

// A damaged bundle hides no errors of logs.
Computed<RunNotes> Read(const dump::DumpModel& dump) {
  auto notes = std::make_shared<RunNotes>();
  notes->logged = dump::ErrorsInLogs(dump);
  for (size_t k = 0; k < dump.files().size(); ++k) {
    if (dump.files()[k].kind != dump::FileKind::kBundle) continue;
    const Status status = ReadBundle(dump, static_cast<int32_t>(k), *notes);
    if (!status) notes->logged.warnings.push_back(status.error().ToString());
  }
  return notes;
}

}  // namespace

const Pending<RunNotes>& RunNotesOf(Context& context) {
  return context.cache.Get(
      PartKey<RunNotes>{}, "reading logs",
      [dump = context.document.dump().value](TaskControl&) { return Read(*dump); });
}

std::string LoggedErrorText(const dump::DumpModel& dump, const dump::LoggedError& error) {
  const std::string& log = dump.files()[static_cast<size_t>(error.file)].path;
  return dump::ErrorSentence(error.error, log) +
         (error.error.fix.empty() ? "" : "; fix: " + error.error.fix);
}

std::string FailureText(const dump::DumpModel& dump, const RunNotes& notes) {
  size_t count = 0;
  const dump::LoggedError* first = nullptr;
  for (const dump::LoggedError& error : notes.logged.errors) {
    if (error.error.severity != dump::Severity::kError) continue;
    if (++count == 1) first = &error;
  }
  if (first == nullptr) return {};
  return fmt::format("{} in the log of the run{} {}", Counted(count, "error"),
                     count == 1 ? ":" : "; the first:", LoggedErrorText(dump, *first));
}

std::string HostFallbackText(const RunNotes& notes) {
  std::set<std::string> all;  // records of several processes count the same ones
  for (const dump::LoggedError& error : notes.logged.errors) {
    if (error.error.kind == "host_fallback" && !error.error.op.empty())
      all.insert("aten::" + error.error.op);
  }
  const std::vector<std::string> names(all.begin(), all.end());
  constexpr size_t kShown = 3;
  if (names.empty()) return {};
  if (names.size() <= kShown)
    return fmt::format("PyTorch/XLA ran {} there", fmt::join(names, ", "));
  return fmt::format("PyTorch/XLA ran {} and {} there",
                     fmt::join(names.begin(), names.begin() + kShown, ", "),
                     Counted(names.size() - kShown, "more operation"));
}

}  // namespace hloscope::viewer
