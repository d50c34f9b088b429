/// Marks: what one view marks for others to show; forgotten with the dump.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "profiler/event_store.h"
#include "viewer/model/anchor.h"
#include "viewer/model/pending.h"
#include "viewer/model/selection.h"

namespace hloscope::debug {
struct DivergeVerdict;
}

namespace hloscope::viewer {

struct BundleMaking;
struct Reduction;

// What the stage in view is compared with.
struct Comparison {
  int32_t module = -1, stage = -1;
  bool is_set() const { return module >= 0 && stage >= 0; }
};

// The stage whose changes are on the screen: that of the selection, unless the selection was chosen
// among what another stage removed.
struct ShownChange {
  int32_t stage = -1;
  uint64_t version = 0;  // of the selection it holds for
};

// The stretch of time that is marked in the timeline.
struct TimelineRange {
  profiler::TimeRange range;
  bool is_set = false;
  bool is_dragged = false;  // it will be another one in a moment
};

// The point of the program that is marked on the screen Memory.
struct MemoryPoint {
  int32_t module = -1;
  int32_t point = -1;  // -1: the peak
};

// What a verdict on a module is to say: which pass of its dump changed the numbers, or where two
// platforms diverge.
struct VerdictQuestion {
  uint64_t seed = 0;
  std::string platform = {}, reference = {};  // empty: of the passes
  int32_t stage = 0;                          // that the platforms run
  std::string inputs = {};                    // their file; empty: generated from the seed
  std::optional<double> absolute = {}, relative = {};
  auto operator<=>(const VerdictQuestion&) const = default;
  bool is_of_platforms() const { return !platform.empty(); }
};
struct AskedVerdict {
  StageAnchor place;    // of its question
  int32_t module = -1;  // in this reading of the dump; -1: not there
  VerdictQuestion question;
  std::chrono::steady_clock::time_point since;
  std::shared_ptr<Pending<debug::DivergeVerdict>> verdict;
};

// The instruction under the pointer, in a graph, a list or a curve.
struct Hovered {
  Selection selection;
  int frame = -1000;  // of ImGui, when it was seen there last
};

// A thread of a kernel that the panel Thread is to show, at a line of its PTX; 0: from its start.
struct WantedThread {
  int32_t module = -1;
  std::string kernel;
  std::array<uint32_t, 3> block{}, thread{};
  uint32_t line = 0;
};

struct Marks {
  Hovered hovered;
  std::string chosen_inputs;  // the file that was last chosen for the lab; empty: none
  Comparison comparison;
  ShownChange shown_change;
  TimelineRange timeline;
  MemoryPoint memory;
  bool critical_path = false;     // the timeline highlights it
  TimelineRange path_range;       // that it was last found of
  bool profiles_swapped = false;  // the second profile is the one before
  bool passes_by_change = false;  // most changed first
  // What only advises a backend does not count as a change.
  bool ignore_metadata = false;
  bool was_cancelled = false;                // work was stopped: what failed by that can be resumed
  std::vector<AskedVerdict> asked_verdicts;  // the last of each module
  std::vector<std::shared_ptr<Reduction>> reductions;                 // likewise
  std::shared_ptr<BundleMaking> bundle;                               // the last; null: none
  std::set<std::pair<ModuleAnchor, std::string>> asked_machine_code;  // of kernels by name
  std::optional<WantedThread> wanted_thread;                          // until the panel takes it
  std::set<int32_t> looked_at;     // modules of which something was selected to begin with
  std::set<int32_t> asked_passes;  // modules whose stages are all to be compared, however many
};

}  // namespace hloscope::viewer
