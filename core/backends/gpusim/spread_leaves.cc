// SpreadLeaves: by the shardings that partitioning left on parameters and results.
#include "core/backends/gpusim/spread_leaves.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hloscope::replay {

using hlo::AttributeKey;
using hlo::Literal;
using hlo::Shape;
using hlo::Sharding;

namespace {

std::vector<Shape> LeafShapes(const hlo::Module& module, hlo::InstructionId id) {
  std::vector<Shape> shapes;
  for (const hlo::Shape* shape : module.shape(id).LeafShapes()) shapes.push_back(*shape);
  return shapes;
}

const Sharding* OfLeaf(const Sharding* sharding, size_t leaf) {
  if (sharding == nullptr || sharding->kind != hlo::ShardingKind::kTuple) return sharding;
  return leaf < sharding->elements.size() ? &sharding->elements[leaf] : nullptr;
}

}  // namespace

Result<SpreadLeaves> SpreadLeaves::Make(const hlo::Module& given, const hlo::Module& program,
                                        const Limits& limits) {
  SpreadLeaves leaves(Placement(program, limits));
  leaves.results_ = leaves.placement_.results();
  const hlo::InstructionId root = given.entry().root;
  leaves.shapes_ = LeafShapes(given, root);
  std::vector<Shape> parameters;
  for (const hlo::InstructionId id : given.Parameters(given.entry_id())) {
    if (!id.valid()) continue;
    for (Shape& shape : LeafShapes(given, id)) parameters.push_back(std::move(shape));
  }
  const auto& placed = leaves.placement_.parameters();
  const bool fits =
      parameters.size() == placed.size() && leaves.shapes_.size() == leaves.results_.size() &&
      std::ranges::equal(parameters, placed, [&](const Shape& whole, const auto& leaf) {
        return !whole.IsArray() || leaves.placement_.Accepts(leaf, whole.dimensions());
      });
  if (!fits) {
    return InputError("the kernels are of a module with other parameters or results",
                      "keep the files of one compilation together");
  }
  // Texts of a program do not say how its results are sharded.
  const auto* asked = given.Get<Sharding>(given[root], AttributeKey::kSharding);
  for (size_t i = 0; i < leaves.results_.size(); ++i) {
    const Sharding* const own = OfLeaf(asked, i);
    LeafPlacement& leaf = leaves.results_[i];
    if (leaf.tiling || own == nullptr || !leaf.shape.IsArray()) continue;
    leaf.tiling = hlo::TilingOf(*own, leaf.shape.rank(), leaves.placement_.partitions());
  }
  return leaves;
}

Result<std::vector<std::vector<Literal>>> SpreadLeaves::Inputs(
    std::span<const std::vector<Literal>> lists) const {
  if (lists.size() != 1) {
    return UnsupportedError("the module is for several replicas of several partitions each",
                            "give its partitioned stage");
  }
  const auto& placed = placement_.parameters();
  if (lists[0].size() < placed.size()) return InputError("fewer inputs than parameters");
  std::vector<std::vector<Literal>> devices(static_cast<size_t>(placement_.lists()));
  for (size_t i = 0; i < placed.size(); ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(const std::vector<Literal> parts,
                              placement_.Spread(placed[i], lists[0][i]));
    for (size_t d = 0; d < parts.size(); ++d) devices[d].push_back(parts[d]);
  }
  return devices;
}

void SpreadLeaves::Results::Take(RunEvent event) {
  auto* const result = std::get_if<LeafResult>(&event);
  if (result == nullptr) return stream_.Take(std::move(event));
  const auto leaf = static_cast<size_t>(result->leaf);
  const auto device = static_cast<size_t>(result->device);
  results_.resize(std::max(results_.size(), leaf + 1));
  results_[leaf].resize(std::max(results_[leaf].size(), device + 1),
                        InternalError("a result is missing"));
  results_[leaf][device] = std::move(result->value);
}

void SpreadLeaves::Results::Tell(const CapturePlan& plan, hlo::InstructionId root) {
  for (size_t i = 0; i < results_.size() && i < leaves_.shapes_.size(); ++i) {
    std::vector<Literal> values;
    LeafResult whole{0, static_cast<int64_t>(i), InternalError("a result is missing")};
    for (const Result<Literal>& value : results_[i]) {
      if (value.has_value()) values.push_back(*value);
      if (!value.has_value()) whole.value = value;
    }
    if (values.size() == results_[i].size()) {
      const Shape& shape = leaves_.shapes_[i];
      LeafPlacement placement = leaves_.results_[i];
      std::optional<Literal> wanted;
      if (shape.IsArray()) {
        const Shape plain = shape.WithoutLayouts();
        wanted = Literal::Dense(
            plain, std::vector<std::byte>(static_cast<size_t>(plain.ByteSize().value_or(0))));
      }
      auto gathered = leaves_.placement_.Gather(placement, values, wanted ? &*wanted : nullptr);
      if (!gathered.warning.empty()) {
        stream_.Take(RunWarning{fmt::format("out{}: {}", i, gathered.warning)});
      }
      whole.value = std::move(gathered.value);
    }
    TellResult(stream_, plan, root, std::move(whole));
  }
}

}  // namespace hloscope::replay
