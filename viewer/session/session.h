/// Session: everything of the viewer except drawing, as long as the window is open. Views and the
/// model see it as a Context. Used from the main thread only.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/file.h"
#include "core/base/limits.h"
#include "viewer/model/bookmark.h"
#include "viewer/model/context.h"
#include "viewer/model/document.h"
#include "viewer/model/dump_data.h"
#include "viewer/model/experiment.h"
#include "viewer/model/heat_choice.h"
#include "viewer/model/marks.h"
#include "viewer/model/messages.h"
#include "viewer/model/navigation.h"
#include "viewer/model/requests.h"
#include "viewer/model/second_dump.h"
#include "viewer/model/task_cache.h"
#include "viewer/model/tasks.h"
#include "viewer/session/refound.h"

namespace hloscope::viewer {

struct ProfileModel;

struct SessionOptions {
  Limits limits;
  int threads = 2;
  std::function<void()> wake;                 // from any thread: there is something to draw
  std::string worker_program = kThisProgram;  // runs what the divergence lab asks for
  std::string state_folder;                   // where profiles of its runs go; empty: none is kept
};

class Session : public Context {
 public:
  explicit Session(const SessionOptions& options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Opens what the paths name in the background; everything of what was open is forgotten.
  void Replace(const std::vector<std::string>& paths);
  /// Reads what is open again, in the background; what is open stays in view until all that is
  /// selected, kept or running was found in the new reading by name. What was not is named in a
  /// message, and kept for the next reading. Traces and verdicts among `also` replace the open
  /// ones.
  void Refresh(const std::vector<std::string>& also = {});
  /// Traces that join what is open.
  void AddProfiles(const std::vector<std::string>& paths);
  /// Those that were opened, and the one they are compared with; traces in the dump stay.
  void CloseProfiles();
  bool is_refreshing() const { return refreshing_.has_value(); }
  /// Bookmarks of a state file, which are found in the background.
  void RestoreBookmarks(std::vector<Bookmark> kept);
  /// Names those that are not named yet, before they are saved; waits for that.
  void NameBookmarksNow();
  /// Some are positions of an older hloscope whose names are not known yet: not to be saved.
  bool has_positions() const { return has_positions_; }
  // Takes over what the background found; true if there was anything. Once a frame.
  bool Update();
  // Nothing is loading, resolving or computing.
  bool idle() const { return tasks_.idle() && !experiment_.running(); }
  // Stops what is being read and computed. What was not finished stays so until Resume.
  void CancelWork();
  bool was_cancelled() const { return tasks_.was_cancelled(); }
  // Reads and computes again, on asking, what was cancelled; between frames: references to it end.
  void Resume();

 private:
  Document document_;
  Marks marks_;
  Requests requests_;
  Messages messages_;
  HeatChoice heat_;
  std::vector<std::string> source_folders_;
  std::vector<Bookmark> bookmarks_;
  std::vector<std::string> recent_;
  struct Refreshing {
    std::shared_ptr<const dump::DumpModel> before;
    std::shared_ptr<DumpReading> reading;  // null: is being read
    Refound refound;
  };
  void TakeReading(std::shared_ptr<DumpReading> reading);
  Sought Missing() const;
  void SeekMissing();
  void Adopt();
  void AdoptSelection(const dump::DumpModel& before, const dump::DumpModel& now,
                      const Refound& refound);
  void RefreshProfiles();
  void NameBookmarks();
  void FindEvents();
  std::optional<Refreshing> refreshing_;
  std::shared_ptr<const dump::DumpModel> before_;  // that could not be read again
  std::optional<Anchor> lost_selection_;           // is selected again where a reading has it
  std::optional<Anchor> wanted_event_;             // is selected once its profile is read
  std::shared_ptr<const ProfileModel> sought_in_;  // events were looked for there
  bool is_naming_ = false, has_positions_ = false;
  // Threads end before what they use: tasks_ is the first to go.
  Experiment experiment_;
  TaskCache cache_;
  DumpData data_;
  Navigation navigation_;
  SecondDump second_;
  Tasks tasks_;
};

}  // namespace hloscope::viewer
