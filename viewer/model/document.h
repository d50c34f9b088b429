// Document: the dump and the profiles that are open, and whether their files have changed since.
#pragma once

#include <cstdint>
#include <functional>
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

class Document {
 public:
  // `wake` is called from any thread when there is news.
  Document(const Limits& limits, std::function<void()> wake)
      : limits_(limits), watch_(std::move(wake)) {}

  // Opens a dump directory, a module or a bundle in the background; traces among the
  // paths go to profile_paths(), a verdict of `diverge` to verdict(), which opens what it is about
  // where no other path does; so does the one in a bundle. Forgets what was open.
  void Open(const std::vector<std::string>& paths, Tasks& tasks, Messages& messages);
  const std::string& path() const { return path_; }  // of the dump, empty: nothing is open
  const std::vector<std::string>& profile_paths() const { return profile_paths_; }
  // The profile in view from now on, in place of those that were opened.
  void ShowProfile(std::string path) { profile_paths_ = {std::move(path)}; }
  const Pending<dump::DumpModel>& dump() const { return dump_; }
  const Pending<debug::DivergeVerdict>& verdict() const { return verdict_; }
  const std::string& verdict_json() const { return verdict_json_; }  // as it was read
  // It names what is open, or came with it: no other path was given for what it is about.
  bool verdict_is_own() const { return verdict_is_own_; }
  // Grows with every Open: what a view kept of the last dump is void.
  uint64_t generation() const { return generation_; }
  const Limits& limits() const { return limits_; }
  // A profile to compare with the first: a trace, or a folder that holds one and perhaps the dump
  // of what ran. Empty: none beyond those that were opened.
  const std::string& second_profile() const { return second_profile_; }
  void CompareWith(std::string path) { second_profile_ = std::move(path); }

  // How the dump's folder differs from what was read; kept until Open or ForgetNews.
  const DumpNews& news() const { return news_; }
  void ForgetNews() { news_ = {}; }
  // Looks for news now; it comes with a later TakeNews.
  void LookForNews() { watch_.Look(); }
  // Takes over what the watch found; true if there was anything.
  bool TakeNews();

 private:
  void Read(Tasks& tasks);
  // True if the file is a verdict; it is read then.
  bool TakeVerdict(const std::string& path, Messages& messages);
  void KeepVerdict(debug::KeptVerdict kept, std::string_view json);

  const Limits limits_;
  std::string path_, second_profile_;
  std::string subject_;  // what the verdict is about
  std::vector<std::string> profile_paths_;
  uint64_t generation_ = 0;
  Pending<dump::DumpModel> dump_;
  Pending<debug::DivergeVerdict> verdict_;
  std::string verdict_json_;
  bool verdict_is_own_ = false;
  DumpNews news_;
  DumpWatch watch_;
};

}  // namespace hloscope::viewer
