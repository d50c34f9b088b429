// Opening in the background.
#include "viewer/model/document.h"

#include <memory>
#include <optional>
#include <utility>

#include "core/debug/explain/diverge/read_verdict.h"
#include "core/dump/bundle_file.h"
#include "profiler/profile.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {
namespace {

// The verdict in a bundle; empty: the path is none, or has none.
std::string VerdictIn(const std::string& path, const Limits& limits) {
  if (!path.ends_with(".hlob")) return {};
  const auto bundle = dump::BundleFile::Open(path, limits);
  if (!bundle || !bundle->Has(dump::BundlePart::kVerdict)) return {};
  return bundle->Read(dump::BundlePart::kVerdict).value_or("");
}

// A trace by its name; one of the many things that are called .json by what is in it.
bool IsTraceFile(const std::string& path, const Limits& limits) {
  if (profiler::IsTraceName(path)) return true;
  if (!path.ends_with(".json")) return false;
  const Result<FileView> file = FileView::Open(path, limits);
  return file && profiler::IsTrace(file->bytes());
}

}  // namespace

void Document::Open(const std::vector<std::string>& paths, Tasks& tasks, Messages& messages) {
  ++generation_;
  profile_paths_.clear();
  second_profile_.clear();
  path_.clear();
  dump_ = {};
  watch_.Forget();
  news_ = {};
  verdict_ = {};
  verdict_json_.clear();
  verdict_is_own_ = false;
  for (const std::string& path : paths) {
    if (IsTraceFile(path, limits_)) {
      profile_paths_.push_back(path);
    } else if (TakeVerdict(path, messages)) {
      continue;
    } else if (path_.empty()) {
      path_ = path;
    } else {
      messages.Post(Severity::kWarning, path + ": not opened, only one dump can be open at a time");
    }
  }
  if (path_.empty()) {
    path_ = std::exchange(subject_, {});
    verdict_is_own_ = verdict_.ready();
  }
  if (!path_.empty()) Read(tasks);
}

bool Document::TakeVerdict(const std::string& path, Messages& messages) {
  if (!path.ends_with(".json")) return false;
  const Result<FileView> file = FileView::Open(path, limits_);
  Result<debug::KeptVerdict> read =
      file ? debug::ReadVerdict(file->bytes()) : std::unexpected(file.error());
  if (!read) {
    messages.Post(Severity::kError, (file ? path + ": " : "") + read.error().ToString());
    return true;
  }
  subject_ = read->against.empty() ? read->module : read->against;
  KeepVerdict(*std::move(read), file->bytes());
  return true;
}

void Document::KeepVerdict(debug::KeptVerdict kept, std::string_view json) {
  verdict_.value = std::make_shared<const debug::DivergeVerdict>(std::move(kept.verdict));
  verdict_.state = PendingState::kReady;
  verdict_json_ = json;
}

void Document::Read(Tasks& tasks) {
  dump_.state = PendingState::kWaiting;
  dump_.task = tasks.Start(
      "opening " + path_,
      [this, generation = generation_, path = path_,
       limits = limits_](TaskControl& control) -> Tasks::Finish {
        using Model = Computed<dump::DumpModel>;
        auto listing = std::make_shared<std::optional<dump::Listing>>();
        auto json = std::make_shared<std::string>(VerdictIn(path, limits));
        auto model = std::make_shared<Model>(Guarded<dump::DumpModel>(
            [&](TaskControl& c) -> Model {
              HLOSCOPE_ASSIGN_OR_RETURN(*listing, ListPath(path, limits, c.stop()));
              dump::OpenOptions open;
              dump::Listing read = **listing;  // the watch compares with its own
              open.listing = &read;
              open.jobs = 2;
              open.stop = c.stop();
              open.progress = [&c](int64_t done, int64_t total) { c.Progress(done, total); };
              return dump::DumpModel::Open(path, limits, open);
            },
            control));
        return [this, generation, model, listing, json, path, limits] {
          if (generation != generation_) return;
          if (auto kept = debug::ReadVerdict(*json); kept && !verdict_.ready()) {
            KeepVerdict(*std::move(kept), *json);
            verdict_is_own_ = true;
          }
          if (*listing) watch_.Follow(path, *std::move(*listing), limits);
          dump_.state = *model ? PendingState::kReady : PendingState::kFailed;
          if (*model) {
            dump_.value = **model;
          } else {
            dump_.error = model->error();
          }
        };
      });
}

bool Document::TakeNews() {
  std::optional<DumpNews> found = watch_.Take();
  if (found) news_ = *std::move(found);
  return found.has_value();
}

}  // namespace hloscope::viewer
