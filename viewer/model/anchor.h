/// Anchors: what is selected, by names instead of positions. An anchor is valid in every reading of
/// a dump and in the state folder; a position (Selection) only in the one that it was found in.
#pragma once

#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/dump/dump_model.h"
#include "viewer/model/selection.h"

namespace hloscope::profiler {
class EventStore;
}

namespace hloscope::viewer {

/// What distinguishes a module from the others of its dump.
struct ModuleAnchor {
  std::string folder, name, timestamp;
  int64_t id = -1;
  auto operator<=>(const ModuleAnchor&) const = default;
};

/// A stage of a module; an empty name: the module.
struct StageAnchor {
  ModuleAnchor module;
  std::string stage;
  auto operator<=>(const StageAnchor&) const = default;
};

/// Positions in one reading; -1: not there.
struct Place {
  int32_t module = -1, stage = -1;
  bool operator==(const Place&) const = default;
};

struct Anchor {
  SelectionKind kind = SelectionKind::kNothing;
  StageAnchor place = {};  // kinds of a module
  std::string name = {};  // computation, instruction, kernel, thunk (its description), buffer (what
                          // defines it), file (its path), source file; of an event its instruction
  int64_t number = 0;     // line; id of a thunk
  std::vector<int64_t> shape_index = {};  // buffer
  std::string event = {}, lane = {};      // event; `event` of a node of a graph is the node
  int64_t start = 0;                      // event, in picoseconds of its profile
  bool operator==(const Anchor&) const = default;
};

ModuleAnchor AnchorOfModule(const dump::DumpModel& dump, int32_t module);
/// Without a stage, or where the module has no such stage, the module alone.
StageAnchor AnchorOfStage(const dump::DumpModel& dump, int32_t module, int32_t stage = -1);
/// The module of that folder, name, id and time, else the first of that folder and name.
int32_t FindModule(const dump::DumpModel& dump, const ModuleAnchor& module);
/// Those of `modules` of the reading `before` that are in `now`.
std::set<int32_t> FindModules(const dump::DumpModel& now, const dump::DumpModel& before,
                              const std::set<int32_t>& modules);
/// Both -1 where either is not there; without a name of a stage only the module is looked for.
Place FindPlace(const dump::DumpModel& dump, const StageAnchor& place);

/// Reads modules and tables: not for the main thread. Input error: no such position. Events are
/// named where `store` is what their rows are of.
Result<Anchor> AnchorOf(const dump::DumpModel& dump, const Selection& selection,
                        const profiler::EventStore* store = nullptr);
/// Likewise. Input error: it is not in this reading. Of an event its instruction is found, or
/// nothing: FindEvent needs the profile.
Result<Selection> Find(const dump::DumpModel& dump, const Anchor& anchor);

/// The row of an event of that lane, name and start; -1: there is none.
int64_t FindEvent(const profiler::EventStore& store, const Anchor& anchor);
/// Fills in `event`, `lane` and `start`.
void NameEvent(const profiler::EventStore& store, int64_t event, Anchor& anchor);

/// "instruction fusion.7 of jit_step".
std::string ToString(const Anchor& anchor);
std::string ToString(const StageAnchor& place);

}  // namespace hloscope::viewer
