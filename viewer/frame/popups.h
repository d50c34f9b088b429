// Popups: what lies over the panels for a moment: palette, search, the table of keys, the question
// for a path.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "viewer/facts/comparison.h"
#include "viewer/frame/bundle_popup.h"
#include "viewer/frame/recompile_popup.h"
#include "viewer/model/search_index.h"
#include "viewer/model/task_cache.h"
#include "viewer/widgets/view.h"

namespace hloscope::viewer {

class Popups {
 public:
  enum class Kind : uint8_t {
    kNone,
    kKeys,
    kPalette,
    kSearch,
    kOpen,
    kNote,
    kCompare,
    kCompareProfile,
    kInputs,
    kExport,
    kBundle,
    kRecompile
  };
  void Show(Kind kind);
  // Where the content of a view goes: a path that the user may change.
  void ShowExport(std::string title, std::string path);
  // Options and path of a bundle.
  void ShowBundle(std::string path);
  // The search, on these words.
  void ShowSearch(std::string words);
  void Close() { kind_ = Kind::kNone; }
  Kind kind() const { return kind_; }
  // What is typed, and of what the hits in view are.
  const std::string& text() const { return text_; }
  const std::string& searched() const { return shown_; }
  const std::vector<SearchHit>& hits() const { return hits_; }
  // Why the path that was typed is not opened; empty: it is, or none was.
  const std::string& refusal() const { return refusal_; }
  // Something is still being looked for.
  bool busy() const { return searching_; }

  struct Actions {
    std::function<void(Command)> run;
    std::function<void(const std::vector<std::string>&)> open;
    std::function<void(const std::string&)> write;  // what is exported, to that path
    const std::vector<std::string>* recent = nullptr;
  };
  void Draw(Frame& frame, const Actions& actions);

 private:
  void DrawKeys(Frame& frame);
  void DrawPalette(Frame& frame, const Actions& actions);
  void DrawSearch(Frame& frame);
  void StartSearch(Context& context);
  void DrawHits(Frame& frame);
  std::string AskForPath(Frame& frame, const char* title, const char* hint, const Actions& actions);
  std::string ChoosePath(Frame& frame, bool entered, const Actions& actions);
  std::string ChooseRecentDump(const Context& context) const;
  std::optional<Comparison> ChooseStage(const std::vector<ComparisonChoice>& choices, bool enter);
  void DrawOpen(Frame& frame, const Actions& actions);
  void DrawCompareProfile(Frame& frame, const Actions& actions);
  void DrawInputs(Frame& frame);
  void DrawNote(Frame& frame);
  void DrawCompare(Frame& frame, const Actions& actions);
  void DrawExport(Frame& frame, const Actions& actions);
  void DrawBundle(Frame& frame);
  void DrawRecompile(Frame& frame);
  bool Field(const char* hint);
  bool PathField(const char* hint);
  bool Begin(Frame& frame, const char* name, float width, float height);
  void End();
  void MoveChosen(int count);

  Kind kind_ = Kind::kNone;
  bool fresh_ = false;  // its field gets the keys
  std::string text_, title_;
  int chosen_ = 0;
  std::string listed_, refusal_;      // what `entries_` are of; why the path was refused
  std::vector<std::string> entries_;  // of the folder of the path
  BundlePopup bundle_;
  RecompilePopup recompile_;
  bool has_entered_ = false;  // before the hits of what was typed were there
  std::string searched_;      // asked for last
  std::string shown_;         // what `hits_` are of
  StageInView searched_near_;
  uint64_t searched_generation_ = 0, search_task_ = 0;
  bool searching_ = false;
  std::vector<SearchHit> hits_;
};

}  // namespace hloscope::viewer
