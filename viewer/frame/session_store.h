// SessionStore: what is kept between two starts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "viewer/frame/appearance.h"
#include "viewer/frame/dock.h"
#include "viewer/frame/view_history.h"
#include "viewer/model/state_folder.h"
#include "viewer/session/session.h"
#include "viewer/window/surface.h"

namespace hloscope::viewer {

/// What is kept between two starts: layout, recent dumps, and for each dump the screen, the
/// selection and the bookmarks, by name. What is asked for before a dump is read waits here.
class SessionStore {
 public:
  struct Parts {
    Session& session;
    Dock& dock;
    const Appearance& appearance;
    const ViewHistory& history;
    const Surface& surface;
  };
  SessionStore(StateFolder state, const Parts& parts);

  /// What was kept of all dumps; layout and recent paths are in force from now on.
  KeptSettings Start();
  /// Selects MODULE[:INSTRUCTION] once the dump is read; a sentence says so where there is none
  /// such.
  void SelectWhenOpen(std::string text) { wanted_selection_ = std::move(text); }
  /// Brings that panel to the front then.
  void ShowWhenOpen(std::string view) { wanted_view_ = std::move(view); }
  /// Once a frame: does what waits for the dump that is open now.
  void Update();
  bool is_waiting() const { return !wanted_selection_.empty(); }
  /// Another dump is opened.
  void Forget() { selecting_.clear(); }

  /// Writes all of it; a sentence says why where that fails.
  void Save();
  /// There is something that Save would keep.
  bool unsaved() const;
  /// Why nothing was kept the last time; empty: all was.
  const std::string& not_kept() const { return not_kept_; }

 private:
  struct Saved {
    ViewState views;
    uint64_t selection_version = 0;
    std::vector<Bookmark> bookmarks;
    std::string second;
    std::vector<std::string> profiles;
    std::string second_profile;
  };
  void Opened();
  void ShowVerdict();
  void Restore();
  void RestoreSecond(const std::string& path);
  void RestoreProfiles(const KeptSession& kept);
  bool IsThere(const std::string& path, std::string_view what, std::string_view otherwise);
  void TrySelect();
  void RefuseSelection();
  Status SaveSettings() const;
  Status SaveSession();
  void SayProblems();
  void SayNotKept(const Status& status);

  StateFolder state_;
  Session& session_;
  Dock& dock_;
  const Appearance& appearance_;
  const ViewHistory& history_;
  const Surface& surface_;
  Saved saved_;           // last, whether or not that could be written
  std::string not_kept_;  // why it could not
  std::string wanted_selection_, wanted_view_;
  std::string selecting_;          // what is being looked for
  std::string remembered_second_;  // in the list of recent paths
  uint64_t restored_life_ = 0;
  const debug::DivergeVerdict* shown_verdict_ = nullptr;
};

}  // namespace hloscope::viewer
