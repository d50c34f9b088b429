// Document: the dump and the profiles that are open.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/dump/dump_model.h"
#include "viewer/model/dump_watch.h"
#include "viewer/model/messages.h"
#include "viewer/model/pending.h"
#include "viewer/model/tasks.h"

namespace hloscope::debug {
struct DivergeVerdict;
struct KeptVerdict;
}  // namespace hloscope::debug

namespace hloscope::viewer {

struct SortedPaths;

/// What one reading of a dump found.
struct DumpReading {
  std::string path;
  Result<std::shared_ptr<const dump::DumpModel>> model = std::unexpected(Error{});
  std::optional<dump::Listing> listing;         // what the watch compares with
  std::string verdict_json;                     // of a bundle; empty: none
  std::shared_ptr<debug::KeptVerdict> verdict;  // the same, read
  bool stopped = false;
};

/// The dump and the profiles that are open, and whether their files have changed since. Files are
/// opened and read in the background.
class Document {
 public:
  /// `wake` is called from any thread when there is news.
  Document(const Limits& limits, std::function<void()> wake)
      : limits_(limits), watch_(std::move(wake)) {}

  /// Opens a dump directory, a module or a bundle in place of what was open; traces among the paths
  /// go to profile_paths(), a verdict of `diverge` to verdict(), which opens what it is about where
  /// no other path does; so does the one in a bundle. A second dump among the paths is for
  /// TakeSecondPath.
  void Replace(const std::vector<std::string>& paths, Tasks& tasks, Messages& messages);
  /// Reads the dump again, for `then`, which may Adopt it; what is open stays meanwhile. Traces and
  /// verdicts among `also` take the place of the open ones; other paths are left out.
  void ReadAgain(const std::vector<std::string>& also, Tasks& tasks, Messages& messages,
                 std::function<void(std::shared_ptr<DumpReading>)> then);
  /// Shows the new reading; of one that failed its error.
  void Adopt(DumpReading reading);
  /// A trace that is open already stays where it is.
  void AddProfiles(const std::vector<std::string>& paths);
  /// The profile in view from now on, in place of those that were opened: one that a run here
  /// recorded, which is not opened with the dump another time.
  void ShowProfile(std::string path) {
    recorded_ = path;
    profile_paths_ = {std::move(path)};
  }

  /// Forgets the profiles that were opened, and the one they are compared with.
  void CloseProfiles() {
    profile_paths_.clear();
    second_profile_.clear();
  }

  const std::string& path() const { return path_; }  // of the dump, empty: nothing is open
  const std::vector<std::string>& profile_paths() const { return profile_paths_; }
  /// Of those, without what was recorded here.
  std::vector<std::string> opened_profiles() const {
    std::vector<std::string> paths = profile_paths_;
    std::erase(paths, recorded_);
    return paths;
  }
  const Pending<dump::DumpModel>& dump() const { return dump_; }
  const Pending<debug::DivergeVerdict>& verdict() const { return verdict_; }
  /// The dump that was named after the one that is open, once; empty: none.
  std::string TakeSecondPath() { return std::exchange(second_path_, {}); }
  const std::string& verdict_json() const { return verdict_json_; }  // as it was read
  /// It names what is open, or came with it: no other path was given for what it is about.
  bool verdict_is_own() const { return verdict_is_own_; }
  /// Grows with each Replace and Adopt: positions in the reading before are void.
  uint64_t generation() const { return generation_; }
  /// Grows with each Replace: nothing of what was open before is of interest any more.
  uint64_t life() const { return life_; }
  const Limits& limits() const { return limits_; }
  /// A profile to compare with the first: a trace, or a folder that holds one and perhaps the dump
  /// of what ran. Empty: none beyond those that were opened.
  const std::string& second_profile() const { return second_profile_; }
  void CompareWith(std::string path) { second_profile_ = std::move(path); }

  /// How the dump's folder differs from what was read; kept until it is read again or ForgetNews.
  const DumpNews& news() const { return news_; }
  void ForgetNews() { news_ = {}; }
  /// Looks for news now; it comes with a later TakeNews.
  void LookForNews() { watch_.Look(); }
  /// Takes over what the watch found; true if there was anything.
  bool TakeNews();

 private:
  using Then = std::function<void(std::shared_ptr<DumpReading>)>;
  void Sort(const std::vector<std::string>& paths, Tasks& tasks,
            std::function<void(SortedPaths&)> then);
  void Take(SortedPaths& sorted, Tasks& tasks, Messages& messages);
  uint64_t Read(Tasks& tasks, Then then);
  void KeepVerdict(debug::KeptVerdict kept, std::string_view json);

  const Limits limits_;
  std::string path_, second_path_, second_profile_;
  std::vector<std::string> profile_paths_;
  std::string recorded_;  // the last that ShowProfile was given
  uint64_t generation_ = 0, life_ = 0;
  uint64_t reading_task_ = 0;  // that reads the dump again; 0: none did
  Pending<dump::DumpModel> dump_;
  Pending<debug::DivergeVerdict> verdict_;
  std::string verdict_json_;
  bool verdict_is_own_ = false;
  DumpNews news_;
  DumpWatch watch_;
};

}  // namespace hloscope::viewer
