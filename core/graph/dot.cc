// Graphviz text of a selection of instructions.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "core/base/escape.h"
#include "core/graph/labels.h"
#include "core/graph/looks.h"
#include "core/graph/svg.h"

namespace hloscope::graph {
namespace {

using hlo::InstructionId;

std::string_view ShapeOf(analysis::Place place) {
  switch (LookOf(place).outline) {
    case Outline::kHexagon:
      return "hexagon";
    case Outline::kCutCorners:
      return "octagon";
    case Outline::kCylinder:
      return "cylinder";
    case Outline::kDoubleSides:
      return "component";
    default:
      return "box";
  }
}

// A computation as a cluster; those of bodies stand inside the cluster that calls them.
class DotWriter {
 public:
  DotWriter(const hlo::Module& module, std::span<const InstructionId> shown,
            const analysis::Placement* placement)
      : module_(module), shown_(shown), placement_(placement) {}

  std::string Run() {
    out_ = "digraph " + DotString(module_.name()) +
           " {\n  node [shape=box, style=filled, fillcolor=\"#ffffff\", fontname=\"monospace\"];\n"
           "  edge [color=\"#8792a0\"];\n";
    selected_.assign(module_.instructions().size(), false);
    for (InstructionId id : shown_) selected_[id.index] = true;
    FindFusions();
    for (size_t begin = 0; begin < shown_.size();) {
      const hlo::ComputationId c = module_[shown_[begin]].computation;
      size_t end = begin;
      while (end < shown_.size() && module_[shown_[end]].computation == c) ++end;
      if (!fusion_of_.contains(c.index)) AddCluster(c, shown_.subspan(begin, end - begin), 1);
      begin = end;
    }
    AddEdges();
    return out_ + "}\n";
  }

 private:
  // Fused computations belong to one fusion each and are drawn where it stands.
  void FindFusions() {
    for (InstructionId id : shown_) {
      if (module_[id].opcode != hlo::Opcode::kFusion) continue;
      for (hlo::ComputationId c : module_.CalledComputations(module_[id])) {
        if (module_[c].instruction_count > 0 && selected_[module_[c].first_instruction])
          fusion_of_.try_emplace(c.index, id);
      }
    }
  }

  void AddCluster(hlo::ComputationId c, std::span<const InstructionId> ids, int depth) {
    const std::string indent(static_cast<size_t>(depth) * 2, ' ');
    out_ += fmt::format("{0}subgraph cluster_{1} {{\n{0}  label={2};\n", indent, c.index,
                        DotString(module_[module_[c].name]));
    for (InstructionId id : ids) {
      AddNode(id, indent);
      if (depth > 1 || module_[id].opcode != hlo::Opcode::kFusion) continue;
      for (hlo::ComputationId body : module_.CalledComputations(module_[id])) {
        auto at = fusion_of_.find(body.index);
        if (at == fusion_of_.end() || at->second != id) continue;
        std::vector<InstructionId> inside;
        for (uint32_t k = 0; k < module_[body].instruction_count; ++k) {
          const InstructionId i(module_[body].first_instruction + k);
          if (selected_[i.index]) inside.push_back(i);
        }
        AddCluster(body, inside, depth + 1);
      }
    }
    out_ += indent + "}\n";
  }

  void AddNode(InstructionId id, const std::string& indent) {
    const std::string label = fmt::format(
        "{}\n{}\n{}", module_.name(id), ToString(module_[id].opcode), ToString(module_.shape(id)));
    analysis::Place place = analysis::Place::kUndecided;
    if (placement_ != nullptr) place = placement_->instructions[id.index].place;
    const PlaceLook& look = LookOf(place);
    out_ += fmt::format("{}  i{} [label={}, shape={}, color=\"#{:06x}\", fontcolor=\"#{:06x}\"];\n",
                        indent, id.index, DotString(label), ShapeOf(place), look.color,
                        ColorOf(RoleOf(module_[id].opcode)));
  }

  void AddEdges() {
    for (InstructionId id : shown_) {
      for (InstructionId operand : module_.operands(id)) {
        if (selected_[operand.index])
          out_ += fmt::format("  i{} -> i{};\n", operand.index, id.index);
      }
    }
    // What a fused computation gives, the fusion gives.
    for (const auto& [computation, fusion] : fusion_of_) roots_.emplace_back(computation, fusion);
    std::ranges::sort(roots_);
    for (const auto& [computation, fusion] : roots_) {
      const InstructionId root = module_.computations()[computation].root;
      if (selected_[root.index])
        out_ += fmt::format("  i{} -> i{} [style=dashed];\n", root.index, fusion.index);
    }
  }

  const hlo::Module& module_;
  std::span<const InstructionId> shown_;
  const analysis::Placement* placement_;
  std::vector<bool> selected_;
  std::unordered_map<uint32_t, InstructionId> fusion_of_;
  std::vector<std::pair<uint32_t, InstructionId>> roots_;
  std::string out_;
};

}  // namespace

std::string ToDot(const hlo::Module& module, std::span<const InstructionId> shown,
                  const analysis::Placement* placement) {
  return DotWriter(module, shown, placement).Run();
}

}  // namespace hloscope::graph
