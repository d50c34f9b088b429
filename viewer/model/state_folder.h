// StateFolder: what the viewer keeps between two starts: layout, recent dumps, and a session for
// each dump.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/file_calls.h"
#include "core/base/result.h"
#include "core/dump/dump_model.h"
#include "viewer/model/bookmark.h"

namespace hloscope::viewer {

// What is kept of one dump.
struct KeptSession {
  std::string screen;
  std::vector<std::pair<std::string, std::string>> views;  // id and state
  std::string selection;                                   // MODULE[@STAGE][:INSTRUCTION]
  std::string second;                 // path of the dump that it is compared with; empty: none
  std::vector<std::string> profiles;  // that were opened with it
  std::string second_profile;         // that they are compared with; empty: none
  std::vector<Bookmark> bookmarks;
};
// What is kept of all.
struct KeptSettings {
  bool dark = true;
  float zoom = 1;
  bool is_maximized = false;        // the window fills the display
  std::vector<std::string> recent;  // newest first
};

class StateFolder {
 public:
  // An empty path keeps nothing and fails nowhere.
  explicit StateFolder(std::string path, const FileCalls& calls = SystemFileCalls())
      : path_(std::move(path)), calls_(&calls) {}

  bool keeps() const { return !path_.empty(); }
  // What was kept; defaults where nothing was or it cannot be read: TakeProblems says why.
  KeptSettings ReadSettings();
  std::optional<KeptSession> ReadSession(const std::string& dump_path);
  std::string ReadLayout();
  std::vector<std::string> TakeProblems() { return std::exchange(problems_, {}); }
  // Fail where the folder cannot be made or written; what was there stays. What a later version
  // wrote is left alone.
  Status WriteSettings(const KeptSettings& settings) const;
  Status WriteSession(const std::string& dump_path, const KeptSession& session) const;
  Status WriteLayout(std::string_view layout) const;

 private:
  Status Write(const std::string& name, std::string_view bytes) const;
  std::optional<std::string> Read(const std::string& name);
  std::optional<nlohmann::json> ReadJson(const std::string& name);

  std::string path_;
  const FileCalls* calls_;
  std::vector<std::string> problems_;
  std::set<std::string> of_later_version_;  // files that stay as they are
};

// A selection as a string that is valid in the next run too, and back; names instead of ids, as far
// as they are known.
std::string SelectionText(const dump::DumpModel& dump, const Selection& selection,
                          const hlo::Module* module);
// Fails where the dump has no such module, stage or instruction; `find` reads modules. MODULE is a
// name, an id, or module_NNNN.NAME; without @STAGE the final stage is meant.
Result<Selection> SelectionFromText(const dump::DumpModel& dump, std::string_view text);

}  // namespace hloscope::viewer
