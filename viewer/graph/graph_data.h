// The data of the graph's panes: a stage's graph laid out.
#pragma once

#include <array>
#include <compare>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/analysis/align/lineage.h"
#include "core/analysis/place/placement.h"
#include "core/graph/kernel_map.h"
#include "core/graph/lanes.h"
#include "core/graph/picture.h"
#include "core/graph/sums_below.h"
#include "viewer/model/task_cache.h"
#include "viewer/model/tasks.h"

namespace hloscope::viewer {

enum class ColorMode : uint8_t {
#define COLOR_MODE(name, id, title) name,
#include "viewer/graph/color_modes.def"
#undef COLOR_MODE
};
struct ColorModeRow {
  ColorMode mode;
  std::string_view id, title;
};
std::span<const ColorModeRow> ColorModeRows();

// The part of a computation that is drawn.
struct GraphPart {
  enum class Kind : uint8_t { kWhole, kAround, kPaths };
  Kind kind = Kind::kWhole;
  std::vector<hlo::InstructionId> from;  // kAround: all of them; kPaths: one
  hlo::InstructionId to;                 // of kPaths
  int radius = 2;
  bool operator==(const GraphPart&) const = default;
  std::strong_ordering operator<=>(const GraphPart& other) const;
};

// The kernels of a stage; none where it is not compiled.
struct StageKernels {
  std::shared_ptr<const hlo::Module> module;
  graph::KernelMap map;
  graph::KernelMembers members;
  std::array<int64_t, graph::kLaneCount> lanes = {};  // how many kernels run there
  std::array<int64_t, graph::kLaneCount> lane_bytes =
      {};  // moved to or from the host, as far as known
  StageKernels(std::shared_ptr<const hlo::Module> of, const analysis::Placement& placement);
};

// How many instructions wear each colour of a kernel.
using KernelColorCounts = std::array<uint32_t, graph::kCollectiveColor + 1>;

// Made in the background; the graph inside is then folded by the one view that asked.
struct GraphData {
  // A graph of more says nothing: rows and groups do.
  static constexpr uint32_t kMaxBoxes = 60;
  std::shared_ptr<const hlo::Module> module;
  analysis::Placement placement;
  std::shared_ptr<const StageKernels> kernels;
  mutable graph::FoldableGraph graph;
  graph::PlacesBelow places;                // refers to what is above
  std::vector<hlo::InstructionId> callers;  // by computation; invalid: not called
  std::unordered_map<uint32_t, const analysis::Transfer*> transfers;  // by instruction

  GraphData(std::shared_ptr<const hlo::Module> of, analysis::Placement placed,
            std::shared_ptr<const StageKernels> made_kernels, graph::FoldableGraph made);
  GraphData(const GraphData&) = delete;
  GraphData& operator=(const GraphData&) = delete;
  // More instructions than kMaxBoxes, inside groups too.
  bool is_large() const;
  // The node that stands for an instruction of any computation; `reveal` opens all around it first.
  graph::NodeId NodeOf(hlo::InstructionId id, bool reveal) const;
  // The nodes that stand for many, in program order; each group is inspected once.
  void AddNodesOf(std::span<const hlo::InstructionId> ids, std::unordered_set<uint32_t>& out) const;
  // Of a group, by the kernels of this stage.
  const KernelColorCounts& KernelColorsOf(graph::NodeId group) const;

 private:
  mutable graph::SumsBelow<KernelColorCounts> kernel_colors_;
};

// What is drawn of a program that needs no folding: its boxes alone, or in frames with the names of
// the user's scopes.
enum class Frames : uint8_t { kNone, kScopes };
struct GraphKey {
  using Value = GraphData;
  int32_t module = -1, stage = -1;
  GraphPart part;
  Frames frames = Frames::kNone;
  auto operator<=>(const GraphKey&) const = default;
};

// `place` finds where instructions run, on a thread of its own during the layout; `width` is
// that of the pane, in logical pixels.
Result<std::shared_ptr<const GraphData>> MakeGraphData(
    const std::shared_ptr<const hlo::Module>& module, const GraphPart& part,
    const std::function<analysis::Placement()>& place, float width = 400,
    Frames frames = Frames::kNone);

// Instructions whose name or opcode has the text, in any case; in program order.
struct GraphHits {
  std::vector<hlo::InstructionId> instructions;
};
struct GraphHitsKey {
  using Value = GraphHits;
  int32_t module = -1, stage = -1;
  std::string text;
  auto operator<=>(const GraphHitsKey&) const = default;
};
Result<std::shared_ptr<const GraphHits>> FindHits(const hlo::Module& module, std::string_view text,
                                                  const TaskControl& control);

// The stage in which an instruction of `stage` first had its name, by instruction.
struct Origins {
  std::vector<int32_t> stage_of;
};
Result<std::shared_ptr<const Origins>> FindOrigins(const analysis::Lineage& lineage, int32_t stage,
                                                   const TaskControl& control);

}  // namespace hloscope::viewer
