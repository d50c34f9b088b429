// Colours of a graph's nodes in one mode, and what they mean.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/graph/looks.h"
#include "core/graph/sums_below.h"
#include "viewer/facts/error_curve.h"
#include "viewer/graph/graph_data.h"
#include "viewer/graph/graph_kernels.h"
#include "viewer/widgets/theme.h"

namespace hloscope::viewer {

// One entry of a legend.
struct LegendEntry {
  uint32_t color = 0;  // 0xAABBGGRR
  std::string text;
  std::optional<graph::Outline> outline = std::nullopt;  // drawn so, instead of filled
  std::optional<Verdict> verdict = std::nullopt;         // drawn as its mark
};

// Colours of nodes in one mode.
class NodeColors {
 public:
  // `heat` counts for ColorMode::kError only, `kernels` for kKernel.
  NodeColors(const GraphData& data, ColorMode mode, const Theme& theme, const Origins* origins,
             Heat heat, KernelPaint kernels);
  uint32_t Of(graph::NodeId id) const;
  // Of a node where colours stand for verdicts, of a group the worst of those that were compared.
  std::optional<Verdict> VerdictAt(graph::NodeId id) const;
  std::vector<LegendEntry> Legend(std::span<const std::string> stage_names) const;

 private:
  struct Value {
    double number = 0;  // of a ramp
    int category = -1;
  };
  // Of the instructions in a group.
  struct Totals {
    double number = 0;
    std::array<uint64_t, 16> weights = {};  // by category
  };
  Value ValueOf(hlo::InstructionId id) const;
  void Add(hlo::InstructionId id, Totals& totals) const;
  void Join(double number, Totals& totals) const;
  static Value Most(const Totals& totals);
  static Value WorstOf(const Totals& totals);
  Value Sum(graph::NodeId id) const;
  uint32_t Ramp(double share) const;
  uint32_t CategoryColor(int category) const;
  void AddKernelColors(std::vector<LegendEntry>& out) const;
  bool IsRamp() const { return mode_ == ColorMode::kOrigin; }

  const GraphData& data_;
  ColorMode mode_;
  const Theme& theme_;
  const Origins* origins_;
  Heat heat_;
  KernelPaint kernels_;
  double most_ = 0;
  mutable graph::SumsBelow<Totals> totals_;
};

}  // namespace hloscope::viewer
