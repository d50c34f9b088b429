// StateFolder: what the viewer keeps between two starts: layout, recent dumps, and a session for
// each dump.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "viewer/session.h"

namespace hloscope::viewer {

// What is kept of one dump.
struct KeptSession {
  std::string screen;
  std::vector<std::pair<std::string, std::string>> views;  // id and state
  std::string selection;                                   // MODULE[@STAGE][:INSTRUCTION]
  std::vector<Session::Bookmark> bookmarks;
};
// What is kept of all.
struct KeptSettings {
  bool dark = true;
  float zoom = 1;
  std::vector<std::string> recent;  // newest first
};

class StateFolder {
 public:
  // An empty path keeps nothing and fails nowhere.
  explicit StateFolder(std::string path) : path_(std::move(path)) {}

  bool keeps() const { return !path_.empty(); }
  // What was kept; defaults where nothing was or it cannot be read.
  KeptSettings ReadSettings() const;
  std::optional<KeptSession> ReadSession(const std::string& dump_path) const;
  std::string ReadLayout() const;
  // Fail where the folder cannot be made or written; what was there stays.
  Status WriteSettings(const KeptSettings& settings) const;
  Status WriteSession(const std::string& dump_path, const KeptSession& session) const;
  Status WriteLayout(std::string_view layout) const;

 private:
  Status Write(const std::string& name, std::string_view bytes) const;
  std::string path_;
};

// A selection as a text that holds for the next run too, and back; names instead of ids, as far as
// they are known.
std::string SelectionText(const dump::DumpModel& dump, const Selection& selection,
                          const hlo::Module* module);
// Fails where the dump has no such module, stage or instruction; `find` reads modules. MODULE is a
// name, an id, or module_NNNN.NAME; without @STAGE the final stage is meant.
Result<Selection> SelectionFromText(const dump::DumpModel& dump, std::string_view text);

}  // namespace hloscope::viewer
