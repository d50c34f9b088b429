/// Navigation: what is selected, what was before, what stands for it elsewhere, and the module and
/// stage in view.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "viewer/model/anchor.h"
#include "viewer/model/counterparts.h"
#include "viewer/model/history.h"
#include "viewer/model/selection.h"

namespace hloscope::viewer {

class Document;
class DumpData;
class Tasks;

/// Modules of which something was selected to begin with.
struct LookedAt {
  std::set<int32_t> modules;
  void Rebase(const dump::DumpModel& before, const dump::DumpModel& now,
              std::vector<std::string>&) {
    modules = FindModules(now, before, modules);
  }
};

class Navigation {
 public:
  Navigation(const Document& document, DumpData& data, Tasks& tasks)
      : document_(document), data_(data), tasks_(tasks) {}

  const Selection& selection() const { return selections_.current(); }
  uint64_t version() const { return version_; }  // grows with each other selection
  // Nothing happens where the dump has no such module, stage or file.
  void Select(const Selection& selection);
  // The same, where it was not the user who chose.
  void Suggest(const Selection& selection);
  bool CanGoBack() const { return selections_.CanGoBack(); }
  bool CanGoForward() const { return selections_.CanGoForward(); }
  void Back();
  void Forward();
  // As when another dump is opened.
  void Reset();
  /// Everything that was selected, in the reading in view or, after Suspend, in the last.
  std::vector<Selection> All() const;
  const Selection& latest() const { return (suspended_ ? *suspended_ : selections_).current(); }
  /// As when a dump cannot be read again: nothing is selected until Rebase.
  void Suspend();
  /// Positions of the reading before as those of `now`; what `find` does not know is left out.
  using Refind = std::function<std::optional<Selection>(const Selection&)>;
  void Rebase(const dump::DumpModel& before, const dump::DumpModel& now, const Refind& find);
  // As when another profile is shown: of a selected event its instruction is left, or nothing.
  void ForgetEvents();

  // Everything that stands for the selection elsewhere: what is known already, complete once
  // counterparts_complete(). Never null fields; empty where nothing is selected.
  const Counterparts& counterparts();
  bool counterparts_complete() const { return counterparts_complete_; }
  // Finds them again: what was found may be a part.
  void ForgetCounterparts() { counterparts_version_ = 0; }
  // The module in view: that of the selection, else the last that was, at first the largest. -1:
  // none.
  int32_t module() const;
  // The stage in view: that of the selection, else the last shown of that module, else the final.
  int32_t stage() const;
  // Whether the user chose anything of a stage of the module in view so far.
  bool was_stage_chosen() const;
  // The selection's instruction as it is in `stage` of the module in view; invalid: none.
  hlo::InstructionId InstructionIn(int32_t stage);

 private:
  void Leave();
  void Resolve();
  bool Holds(const Selection& selection) const;
  int32_t LargestModule() const;

  const Document& document_;
  DumpData& data_;
  Tasks& tasks_;
  History<Selection> selections_;
  uint64_t version_ = 0;
  uint64_t suggested_ = 0;  // the version that Suggest made
  Counterparts counterparts_;
  uint64_t counterparts_version_ = 0;  // of the selection they were asked for
  uint64_t counterparts_task_ = 0;
  bool counterparts_complete_ = true;
  int32_t module_in_view_ = -1;               // where the selection names none; -1: the largest
  std::map<int32_t, int32_t> stage_in_view_;  // by module
  std::optional<History<Selection>> suspended_;
  mutable int32_t largest_ = 0;      // what LargestModule found …
  mutable uint64_t largest_of_ = 0;  // … in that generation of the document; 0: in none
};

}  // namespace hloscope::viewer
