// Opening and reading again in the background.
#include "viewer/model/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/debug/explain/diverge/read_verdict.h"
#include "core/dump/bundle_file.h"
#include "core/dump/container.h"
#include "core/dump/listing/sniff.h"
#include "profiler/profile.h"
#include "viewer/model/task_cache.h"

namespace hloscope::viewer {

// What the paths are.
struct SortedPaths {
  std::vector<std::string> profiles, others;
  std::optional<debug::KeptVerdict> verdict;
  std::string verdict_json;
  std::vector<std::string> errors;
};

namespace {

// The verdict in a bundle; empty: the path is none, or has none.
std::string VerdictIn(const std::string& path, const Limits& limits) {
  if (!path.ends_with(".hlob")) return {};
  const auto bundle = dump::BundleFile::Open(path, limits);
  if (!bundle || !bundle->Has(dump::BundlePart::kVerdict)) return {};
  return bundle->Read(dump::BundlePart::kVerdict).value_or("");
}

// Only by its content is known what a .json is: a trace or a verdict.
bool IsJson(const std::string& path) {
  return path.ends_with(".json") && !profiler::IsTraceName(path);
}

void SortJson(const std::string& path, const Limits& limits, SortedPaths& sorted) {
  const Result<FileView> file = FileView::Open(path, limits);
  if (file && profiler::IsTrace(file->bytes())) return sorted.profiles.push_back(path);
  Result<debug::KeptVerdict> read =
      file ? debug::ReadVerdict(file->bytes()) : std::unexpected(file.error());
  if (!read) {
    return sorted.errors.push_back((file ? path + ": " : "") + read.error().ToString());
  }
  sorted.verdict = *std::move(read);
  sorted.verdict_json = file->bytes();
}

SortedPaths SortedOf(const std::vector<std::string>& paths, const Limits& limits) {
  SortedPaths sorted;
  for (const std::string& path : paths) {
    if (IsJson(path)) {
      SortJson(path, limits, sorted);
    } else {
      (profiler::IsTraceName(path) ? sorted.profiles : sorted.others).push_back(path);
    }
  }
  return sorted;
}

// A file of arrays or of unrecognised bytes shows nothing.
std::optional<Error> NothingToShow(const dump::DumpModel& model) {
  using dump::FileKind;
  constexpr FileKind kKinds[] = {FileKind::kEmpty, FileKind::kNpy, FileKind::kZip,
                                 FileKind::kUnknown};
  const auto& files = model.files();
  if (files.size() != 1 || !model.modules().empty() || dump::IsFolder(model.path()) ||
      std::ranges::find(kKinds, files[0].kind) == std::end(kKinds)) {
    return std::nullopt;
  }
  return Error{ErrorClass::kInput,
               fmt::format("is {}", dump::Describe(files[0].kind)),
               {.file = model.path()},
               "expected a dump directory, a module, a bundle or a profile"};
}

}  // namespace

void Document::Sort(const std::vector<std::string>& paths, Tasks& tasks,
                    std::function<void(SortedPaths&)> then) {
  if (std::ranges::none_of(paths, IsJson)) {
    SortedPaths sorted = SortedOf(paths, limits_);
    return then(sorted);
  }
  tasks.Start("opening " + paths.front(),
              [paths, limits = limits_, then = std::move(then)](TaskControl&) -> Tasks::Finish {
                auto sorted = std::make_shared<SortedPaths>(SortedOf(paths, limits));
                return [sorted, then] { then(*sorted); };
              });
}

void Document::Replace(const std::vector<std::string>& paths, Tasks& tasks, Messages& messages) {
  ++generation_;
  ++life_;
  profile_paths_.clear();
  second_profile_.clear();
  path_.clear();
  second_path_.clear();
  dump_ = {};
  watch_.Forget();
  news_ = {};
  verdict_ = {};
  verdict_json_.clear();
  verdict_is_own_ = false;
  dump_.state = PendingState::kWaiting;
  Sort(paths, tasks, [this, &tasks, &messages, life = life_](SortedPaths& sorted) {
    if (life == life_) Take(sorted, tasks, messages);
  });
}

void Document::Take(SortedPaths& sorted, Tasks& tasks, Messages& messages) {
  profile_paths_ = std::move(sorted.profiles);
  for (std::string& error : sorted.errors) messages.Post(Severity::kError, std::move(error));
  if (sorted.others.size() > 1) second_path_ = sorted.others[1];
  for (size_t i = 2; i < sorted.others.size(); ++i) {
    messages.Post(Severity::kWarning,
                  sorted.others[i] + ": not opened, only two dumps can be open at a time");
  }
  if (!sorted.others.empty()) path_ = sorted.others.front();
  if (sorted.verdict) {
    if (path_.empty()) {
      path_ = sorted.verdict->against.empty() ? sorted.verdict->module : sorted.verdict->against;
      verdict_is_own_ = true;
    }
    KeepVerdict(*std::move(sorted.verdict), sorted.verdict_json);
  }
  dump_.state = path_.empty() ? PendingState::kNone : PendingState::kWaiting;
  if (path_.empty()) return;
  dump_.task = Read(
      tasks, [this](const std::shared_ptr<DumpReading>& reading) { Adopt(std::move(*reading)); });
}

void Document::ReadAgain(const std::vector<std::string>& also, Tasks& tasks, Messages& messages,
                         Then then) {
  tasks.Cancel(reading_task_);
  news_ = {};
  Sort(also, tasks,
       [this, &tasks, &messages, life = life_, then = std::move(then)](SortedPaths& sorted) {
         if (life != life_) return;
         for (std::string& error : sorted.errors) messages.Post(Severity::kError, std::move(error));
         if (!sorted.others.empty()) second_path_ = sorted.others.front();
         for (size_t i = 1; i < sorted.others.size(); ++i) {
           messages.Post(Severity::kWarning,
                         sorted.others[i] + ": not opened, only two dumps can be open at a time");
         }
         if (!sorted.profiles.empty()) profile_paths_ = std::move(sorted.profiles);
         if (sorted.verdict) KeepVerdict(*std::move(sorted.verdict), sorted.verdict_json);
         if (!dump_.ready()) dump_.state = PendingState::kWaiting;
         reading_task_ = Read(tasks, then);
       });
}

void Document::KeepVerdict(debug::KeptVerdict kept, std::string_view json) {
  verdict_.value = std::make_shared<const debug::DivergeVerdict>(std::move(kept.verdict));
  verdict_.state = PendingState::kReady;
  verdict_json_ = json;
}

uint64_t Document::Read(Tasks& tasks, Then then) {
  return tasks.Start(
      "opening " + path_,
      [this, life = life_, path = path_, limits = limits_,
       then = std::move(then)](TaskControl& control) -> Tasks::Finish {
        auto reading = std::make_shared<DumpReading>();
        reading->path = path;
        reading->verdict_json = VerdictIn(path, limits);
        if (auto kept = debug::ReadVerdict(reading->verdict_json)) {
          reading->verdict = std::make_shared<debug::KeptVerdict>(*std::move(kept));
        }
        reading->model = Guarded<dump::DumpModel>(
            [&](TaskControl& c) -> Computed<dump::DumpModel> {
              HLOSCOPE_ASSIGN_OR_RETURN(reading->listing, ListPath(path, limits, c.stop()));
              dump::OpenOptions open;
              dump::Listing read = *reading->listing;  // the watch compares with its own
              open.listing = &read;
              open.jobs = 2;
              open.stop = c.stop();
              open.progress = [&c](int64_t done, int64_t total) { c.Progress(done, total); };
              return dump::DumpModel::Open(path, limits, open);
            },
            control);
        reading->stopped = control.stopped();
        return [this, life, reading, then] {
          if (life == life_) then(reading);
        };
      });
}

void Document::Adopt(DumpReading reading) {
  ++generation_;
  if (reading.model) {
    if (auto error = NothingToShow(**reading.model))
      reading.model = std::unexpected(*std::move(error));
  }
  if (reading.verdict != nullptr && !verdict_.ready()) {
    KeepVerdict(std::move(*reading.verdict), reading.verdict_json);
    verdict_is_own_ = true;
  }
  if (reading.listing) watch_.Follow(reading.path, *std::move(reading.listing), limits_);
  news_ = {};
  dump_ = {.state = reading.model ? PendingState::kReady : PendingState::kFailed,
           .value = reading.model ? *reading.model : nullptr,
           .error = reading.model ? Error{} : reading.model.error(),
           .task = 0};
}

void Document::AddProfiles(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (std::ranges::find(profile_paths_, path) == profile_paths_.end())
      profile_paths_.push_back(path);
  }
}

bool Document::TakeNews() {
  std::optional<DumpNews> found = watch_.Take();
  if (found) news_ = *std::move(found);
  return found.has_value();
}

}  // namespace hloscope::viewer
