// HeatPaint: the heat of a picture's nodes. What is in a kernel has the kernel's, a group or a body
// that of the hottest in it, so that colours lead to what is hot on one scale.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/graph/sums_below.h"
#include "viewer/facts/heat.h"
#include "viewer/graph/graph_colors.h"
#include "viewer/graph/graph_data.h"
#include "viewer/graph/graph_kernels.h"

namespace hloscope::viewer {

class HeatPaint {
 public:
  // `kernels` of the picture's own stage; `facts` has something to show.
  HeatPaint(std::shared_ptr<const hlo::Module> module, std::shared_ptr<const HeatFacts> facts,
            KernelPaint kernels);
  double ValueOf(hlo::InstructionId id) const;
  double ValueOf(const graph::Tree& tree, graph::NodeId id) const;
  const HeatFacts& facts() const { return *facts_; }

 private:
  double HottestIn(hlo::ComputationId computation, int depth) const;
  double ValueOf(hlo::InstructionId id, int depth) const;

  std::shared_ptr<const hlo::Module> module_;
  std::shared_ptr<const HeatFacts> facts_;
  KernelPaint kernels_;
  std::unordered_map<uint32_t, double> of_parameter_;  // of another stage, by instruction
  mutable std::unordered_map<uint32_t, double> of_computation_;
  mutable graph::SumsBelow<double> below_;
};

// Of a stage of the module that `facts` are of; null while its kernels are found.
std::shared_ptr<const HeatPaint> HeatPaintOf(Context& context, int32_t stage,
                                             const std::shared_ptr<const hlo::Module>& module,
                                             const std::shared_ptr<const HeatFacts>& facts);

// Five steps of the scale with their values, then what the colours say and do not count. `of` says
// before the measure what is coloured, where that is more than what it stands at.
std::vector<LegendEntry> HeatLegend(const Theme& theme, const HeatFacts& facts,
                                    std::string_view of = {});

// "1.25 ms, 13 % of all".
std::string HeatText(const HeatFacts& facts, double value);

}  // namespace hloscope::viewer
