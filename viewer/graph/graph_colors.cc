// Colours of nodes: by category or on a ramp of one hue.
#include "viewer/graph/graph_colors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/graph/count_text.h"
#include "core/graph/lanes.h"
#include "core/graph/looks.h"
#include "viewer/graph/graph_legend.h"

namespace hloscope::viewer {
namespace {

using graph::NodeId;
using graph::NodeKind;

// Element types that are distinguished, and their colours.
struct TypeRow {
  std::string_view text;
  Color color;
};
constexpr TypeRow kTypes[] = {
    {"f32", Color::kElementwise},         {"f16, bf16", Color::kReduction},
    {"f8, f4", Color::kCollective},       {"f64, complex", Color::kBroadcast},
    {"integers", Color::kMovement},       {"pred", Color::kControl},
    {"tuples and others", Color::kFusion}};

int TypeCategory(const hlo::Shape& shape) {
  if (!shape.IsArray()) return 6;
  const std::string text = ToString(hlo::Shape::Scalar(shape.element_type()), false);
  if (text.starts_with("f32")) return 0;
  if (text.starts_with("f16") || text.starts_with("bf16")) return 1;
  if (text.starts_with("f8") || text.starts_with("f4")) return 2;
  if (text.starts_with("f64") || text.starts_with("c")) return 3;
  if (text.starts_with("pred")) return 5;
  return text.starts_with("s") || text.starts_with("u") ? 4 : 6;
}

Color ColorOfPlace(analysis::Place place) {
  switch (graph::LaneOf(place)) {
    case graph::Lane::kKernels:
    case graph::Lane::kLibraries:
    case graph::Lane::kCopies:
      return Color::kDeviceGpu;
    case graph::Lane::kCollectives:
      return Color::kDeviceOther;
    case graph::Lane::kHostMemory:
      return Color::kDeviceHost;
    case graph::Lane::kHost:
      return Color::kDeviceFallback;
    case graph::Lane::kRuntime:
      break;
  }
  return Color::kDeviceNone;
}

// The host is seen wherever any of a group is.
uint64_t WeightOfKernel(int color) { return color == graph::kHostColor ? 1'000'000 : 4; }

uint32_t Mixed(uint32_t a, uint32_t b, double share) {
  uint32_t out = 0xff000000u;
  for (int shift : {0, 8, 16}) {
    const double x = (a >> shift) & 0xffu, y = (b >> shift) & 0xffu;
    out |= static_cast<uint32_t>(std::lround(x + (y - x) * share)) << shift;
  }
  return out;
}

}  // namespace

NodeColors::NodeColors(const GraphData& data, ColorMode mode, const Theme& theme,
                       const Origins* origins, Heat heat, KernelPaint kernels)
    : data_(data),
      mode_(mode),
      theme_(theme),
      origins_(origins),
      heat_(std::move(heat)),
      kernels_(std::move(kernels)) {
  if (!IsRamp()) return;
  const graph::Tree& tree = data.graph.tree();
  for (uint32_t k = 0; k < tree.size(); ++k) {
    const graph::Node& node = tree[NodeId(k)];
    if (node.kind == NodeKind::kInstruction && node.parent.valid())
      most_ = std::max(most_, ValueOf(node.instruction).number);
  }
}

NodeColors::Value NodeColors::ValueOf(hlo::InstructionId id) const {
  const hlo::Module& module = *data_.module;
  switch (mode_) {
    case ColorMode::kOpcode:
      return {0, static_cast<int>(graph::RoleOf(module[id].opcode))};
    case ColorMode::kPlace:
      return {0, static_cast<int>(data_.placement.instructions[id.index].place)};
    case ColorMode::kType:
      return {0, TypeCategory(module.shape(id))};
    case ColorMode::kOrigin:
      return {origins_ == nullptr ? 0.0 : origins_->stage_of[id.index], -1};
    case ColorMode::kError: {
      const auto found = heat_.find(id.index);
      if (found != heat_.end()) return {0, static_cast<int>(found->second)};
      break;
    }
    case ColorMode::kKernel: {
      const uint32_t kernel = kernels_.Of(id);
      if (kernel != graph::kNoKernel) return {0, kernels_.kernels->map.kernels[kernel].color};
      break;
    }
  }
  return {};
}

// Of a group: the latest origin, the most frequent category that matters.
NodeColors::Value NodeColors::Sum(NodeId id) const {
  if (mode_ == ColorMode::kKernel &&
      (kernels_.kernels == nullptr || kernels_.kernels->map.kernels.empty()))
    return {};
  if (mode_ == ColorMode::kKernel && kernels_.source == nullptr &&
      kernels_.kernels == data_.kernels) {
    Totals totals;
    const KernelColorCounts& counts = data_.KernelColorsOf(id);
    for (size_t k = 0; k < counts.size(); ++k)
      totals.weights[k] = counts[k] * WeightOfKernel(static_cast<int>(k));
    return Most(totals);
  }
  const Totals& totals = totals_.Of(
      data_.graph.tree(), id, [this](hlo::InstructionId each, Totals& sum) { Add(each, sum); },
      [this](const Totals& inside, Totals& sum) {
        Join(inside.number, sum);
        for (size_t k = 0; k < sum.weights.size(); ++k) sum.weights[k] += inside.weights[k];
      });
  return mode_ == ColorMode::kError ? WorstOf(totals) : Most(totals);
}

// The worst verdict stands for a group; that something did not run only where nothing was compared.
NodeColors::Value NodeColors::WorstOf(const Totals& totals) {
  constexpr auto kFailed = static_cast<size_t>(Verdict::kFailed);
  int worst = totals.weights[kFailed] > 0 ? static_cast<int>(kFailed) : -1;
  for (size_t k = 0; k < kFailed; ++k) {
    if (totals.weights[k] > 0) worst = static_cast<int>(k);
  }
  return {0, worst};
}

std::optional<Verdict> NodeColors::VerdictAt(NodeId id) const {
  if (mode_ != ColorMode::kError) return std::nullopt;
  const graph::Node& node = data_.graph.tree()[id];
  const Value value = node.kind == NodeKind::kInstruction ? ValueOf(node.instruction) : Sum(id);
  if (value.category < 0) return std::nullopt;
  return static_cast<Verdict>(value.category);
}

NodeColors::Value NodeColors::Most(const Totals& totals) {
  Value value{totals.number, -1};
  const auto best = std::ranges::max_element(totals.weights);
  if (*best > 0) value.category = static_cast<int>(best - totals.weights.begin());
  return value;
}

void NodeColors::Join(double number, Totals& totals) const {
  totals.number = std::max(totals.number, number);
}

void NodeColors::Add(hlo::InstructionId id, Totals& totals) const {
  const Value one = ValueOf(id);
  Join(one.number, totals);
  if (one.category < 0) return;
  uint64_t weight = 4;
  if (mode_ == ColorMode::kOpcode) {
    const auto role = static_cast<graph::Role>(one.category);
    if (role == graph::Role::kContraction || role == graph::Role::kCollective) weight = 400;
    if (role == graph::Role::kParameter || role == graph::Role::kFusion) weight = 1;
  }
  if (mode_ == ColorMode::kKernel) weight = WeightOfKernel(one.category);
  totals.weights[static_cast<size_t>(one.category) % totals.weights.size()] += weight;
}

uint32_t NodeColors::Of(NodeId id) const {
  const graph::Node& node = data_.graph.tree()[id];
  if (mode_ == ColorMode::kPlace && node.kind != NodeKind::kInstruction) {
    const graph::PlaceCounts counts = data_.places.Of(id);
    return CategoryColor(static_cast<int>(graph::PlaceOf(counts)));
  }
  const Value value = node.kind == NodeKind::kInstruction ? ValueOf(node.instruction) : Sum(id);
  if (!IsRamp()) return CategoryColor(value.category);
  return Ramp(most_ <= 0 ? 0 : value.number / most_);
}

uint32_t NodeColors::Ramp(double share) const {
  return Mixed(theme_[Color::kDeviceHost], theme_[Color::kBroadcast], std::clamp(share, 0.0, 1.0));
}

uint32_t NodeColors::CategoryColor(int category) const {
  if (category < 0) return theme_[Color::kDeviceNone];
  switch (mode_) {
    case ColorMode::kOpcode: {
      // Roles have the same order in both tables of colours.
      constexpr std::array<Color, graph::kRoleCount> kColors = {
          Color::kContraction, Color::kReduction,   Color::kMovement,
          Color::kBroadcast,   Color::kCollective,  Color::kParameter,
          Color::kControl,     Color::kElementwise, Color::kFusion};
      return theme_[kColors[static_cast<size_t>(category)]];
    }
    case ColorMode::kPlace:
      return theme_[ColorOfPlace(static_cast<analysis::Place>(category))];
    case ColorMode::kType:
      return theme_[kTypes[static_cast<size_t>(category)].color];
    case ColorMode::kError:
      return theme_[ColorOf(static_cast<Verdict>(category))];
    case ColorMode::kKernel:
      return ColorOfKernel(theme_, static_cast<uint8_t>(category));
    default:
      return theme_[Color::kDeviceNone];
  }
}

// Those that some kernel has.
void NodeColors::AddKernelColors(std::vector<LegendEntry>& out) const {
  std::array<int64_t, graph::kKernelColors> kernels = {};
  for (const graph::KernelMap::Kernel& kernel : kernels_.kernels->map.kernels) {
    if (kernel.color < kernels.size()) ++kernels[kernel.color];
  }
  const size_t before = out.size();
  for (int color = 0; color < graph::kKernelColors; ++color) {
    if (kernels[static_cast<size_t>(color)] > 0) out.push_back({CategoryColor(color), ""});
  }
  if (out.size() == before) return;
  const bool is_reused = std::ranges::any_of(kernels, [](int64_t count) { return count > 1; });
  out.back().text = "one colour per kernel";
  if (is_reused)
    out.back().text +=
        fmt::format(" ({}, reused)", graph::CountedText(out.size() - before, "colour"));
}

std::vector<LegendEntry> NodeColors::Legend(std::span<const std::string> stage_names) const {
  std::vector<LegendEntry> out;
  switch (mode_) {
    case ColorMode::kOpcode:
      for (int k = 0; k < graph::kRoleCount; ++k)
        out.push_back({CategoryColor(k), std::string(Describe(static_cast<graph::Role>(k)))});
      break;
    case ColorMode::kPlace:
      out = {{theme_[Color::kDeviceGpu], "device"},
             {theme_[Color::kDeviceOther], "between devices"},
             {theme_[Color::kDeviceHost], "host memory"},
             {theme_[Color::kDeviceFallback], "host"},
             {theme_[Color::kDeviceNone], "no kernel"}};
      break;
    case ColorMode::kType:
      for (const TypeRow& row : kTypes) out.push_back({theme_[row.color], std::string(row.text)});
      break;
    case ColorMode::kOrigin: {
      const size_t count = std::min(stage_names.size(), static_cast<size_t>(most_) + 1);
      const size_t step = count / 5 + 1;
      for (size_t k = 0; k < count; k += step)
        out.push_back({Ramp(most_ > 0 ? static_cast<double>(k) / most_ : 0), stage_names[k]});
      break;
    }
    case ColorMode::kError:
      if (heat_.empty()) {
        out = {{theme_[Color::kDeviceNone],
                "no values of this stage compared: run it on the screen Divergence"}};
        break;
      }
      out = VerdictLegend(theme_, CountsOf(heat_));
      out.push_back({theme_[Color::kDeviceNone], "unknown"});
      break;
    case ColorMode::kKernel:
      if (kernels_.kernels == nullptr || kernels_.kernels->map.kernels.empty()) {
        out = {{theme_[Color::kDeviceNone], "no kernels: this stage precedes fusion"}};
        break;
      }
      AddKernelColors(out);
      for (const auto& [color, text] : {std::pair(graph::kCollectiveColor, "between devices"),
                                        std::pair(graph::kHostColor, "host")}) {
        if (std::ranges::find(kernels_.kernels->map.kernels, color,
                              &graph::KernelMap::Kernel::color) !=
            kernels_.kernels->map.kernels.end())
          out.push_back({CategoryColor(color), text});
      }
      break;
  }
  return out;
}

}  // namespace hloscope::viewer
