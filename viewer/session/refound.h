// Refound: what of a session was found in another reading of its dump.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "profiler/event_store.h"
#include "viewer/model/anchor.h"
#include "viewer/model/experiment.h"

namespace hloscope::viewer {

/// What of a session is to be found in another reading of its dump.
struct Sought {
  std::vector<Selection> selections;  // of the reading before
  std::vector<Anchor> anchors;
  std::vector<Experiment::Stage> stages;
  bool empty() const { return selections.empty() && anchors.empty() && stages.empty(); }
};

/// What was found, each once.
struct Refound {
  std::vector<std::pair<Selection, Result<Anchor>>> named;
  std::vector<std::pair<Anchor, Result<Selection>>> found;
  std::vector<std::pair<Experiment::Stage, StageAgain>> stages;

  /// Null: it was not looked for.
  const Result<Anchor>* NameOf(const Selection& selection) const;
  const Result<Selection>* Of(const Anchor& anchor) const;
  const Result<Selection>* Of(const Selection& selection) const;
  const StageAgain* Of(const Experiment::Stage& stage) const;
};

/// Names what is sought in the reading `before` and finds it in `now`. Reads modules: not for the
/// main thread. `events`: what rows of selected events are of; null: not known.
Refound Seek(const dump::DumpModel& before, const dump::DumpModel& now, const Sought& sought,
             const profiler::EventStore* events);

}  // namespace hloscope::viewer
