// The rules of live_call.h: live sizes of results from those of operands.
#include <algorithm>
#include <numeric>

#include "core/eval/machine/live_call.h"
#include "core/hlo/dimension_numbers.h"
#include "core/hlo/shape/shape_inference.h"
#include "core/hlo/window.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Shape;

using Sizes = std::span<const LiveSizes>;

bool Contains(std::span<const int64_t> list, int64_t value) {
  return std::ranges::find(list, value) != list.end();
}

std::unexpected<Error> DoesNotFit(std::string why) { return InputError(std::move(why)); }

std::span<const int64_t> Ints(const KernelCall& call, AttributeKey key) {
  return call.module().GetInts(call.instruction(), key);
}

// True if the size of dimension d of operand i is the operand's own, not just its bound.
bool IsShorter(const KernelCall& call, Sizes sizes, size_t i, size_t d) {
  return sizes[i][d] != call.operand_shape(i).dimension(d);
}

// The declared result with `sizes`.
Shape ResultOf(const KernelCall& call, LiveSizes sizes) {
  return Shape::Array(call.shape().element_type(), std::move(sizes));
}

void TakeSmaller(int64_t& a, int64_t& b) { a = b = std::min(a, b); }

}  // namespace

// Of live sizes that differ the smaller one, unless that is 1: then the others. Scalars among the
// operands (of clamp and select) have no say.
Result<Shape> ElementsShape(const KernelCall& call, Sizes operands) {
  const size_t rank = call.shape().rank();
  LiveSizes live(rank, -1);
  for (size_t d = 0; d < rank; ++d) {
    bool was_dynamic = false;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].size() != rank) continue;
      const int64_t size = operands[i][d];
      const bool is_dynamic = !call.operands[i].literal().dynamic_sizes().empty();
      const bool spreads = was_dynamic && is_dynamic && std::min(size, live[d]) == 1;
      live[d] = live[d] < 0 ? size : spreads ? std::max(size, live[d]) : std::min(size, live[d]);
      was_dynamic |= is_dynamic;
    }
    if (live[d] < 0) live[d] = call.shape().dimension(d);
  }
  return ResultOf(call, std::move(live));
}

Result<Shape> BroadcastShape(const KernelCall& call, Sizes operands) {
  LiveSizes live = Dimensions(call.shape());
  const auto dimensions = Ints(call, AttributeKey::kDimensions);
  for (size_t i = 0; i < dimensions.size(); ++i) {
    live[static_cast<size_t>(dimensions[i])] = operands[0][i];
  }
  return ResultOf(call, std::move(live));
}

Result<Shape> TransposeShape(const KernelCall& call, Sizes operands) {
  LiveSizes live;
  for (int64_t d : Ints(call, AttributeKey::kDimensions)) {
    live.push_back(operands[0][static_cast<size_t>(d)]);
  }
  return ResultOf(call, std::move(live));
}

// bitcast and bitcast-convert: dimensions stay where the shapes agree from the front.
Result<Shape> BitcastShape(const KernelCall& call, Sizes operands) {
  LiveSizes live = Dimensions(call.shape());
  for (size_t d = 0; d < operands[0].size(); ++d) {
    if (d < live.size() && live[d] == call.operand_shape(0).dimension(d)) {
      live[d] = operands[0][d];
    } else if (IsShorter(call, operands, 0, d)) {
      return DoesNotFit("has a dynamic dimension that the bitcast does not keep");
    }
  }
  return ResultOf(call, std::move(live));
}

// dynamic-update-slice: a dimension that the update covers is as long as the update, others as the
// operand.
Result<Shape> UpdateShape(const KernelCall& call, Sizes operands) {
  LiveSizes live = operands[0];
  for (size_t d = 0; d < live.size(); ++d) {
    const bool covers = call.operand_shape(1).dimension(d) == call.operand_shape(0).dimension(d);
    if (covers && IsShorter(call, operands, 1, d)) live[d] = operands[1][d];
  }
  return ResultOf(call, std::move(live));
}

// slice and dynamic-slice: dimensions that are taken whole stay dynamic; of
// others the part is as long as it says. What lies behind the live elements is then part of it.
Result<Shape> SliceShape(const KernelCall& call, Sizes operands) {
  LiveSizes live = Dimensions(call.shape());
  for (size_t d = 0; d < live.size(); ++d) {
    const int64_t whole = call.operand_shape(0).dimension(d);
    const auto slices = Ints(call, AttributeKey::kSlice);
    const bool all =
        slices.size() == 3 * live.size()
            ? slices[3 * d] == 0 && slices[3 * d + 1] == whole && slices[3 * d + 2] == 1
            : live[d] == whole;
    if (all) live[d] = operands[0][d];
  }
  return ResultOf(call, std::move(live));
}

Result<Shape> GatherShape(const KernelCall& call, Sizes operands) {
  LiveSizes live = Dimensions(call.shape());
  const hlo::GatherDims dims = hlo::GatherDimsOf(call.module(), call.id);
  size_t window = 0, batch = 0;
  for (const size_t d : dims.WindowDims(dims.slice_sizes.size())) {
    const auto at = static_cast<size_t>(dims.offset_dims[window++]);
    const bool all = dims.slice_sizes[d] == call.operand_shape(0).dimension(d);
    live[at] = all ? operands[0][d] : dims.slice_sizes[d];
  }
  for (size_t d = 0; d < live.size(); ++d) {
    if (Contains(dims.offset_dims, static_cast<int64_t>(d))) continue;
    batch += static_cast<int64_t>(batch) == dims.index_vector_dim;
    live[d] = operands[1][batch++];
  }
  return ResultOf(call, std::move(live));
}

namespace {

// A run of the operand's dimensions and the run of the result's that holds the same elements.
struct FactorGroup {
  size_t from, from_end, to, to_end;
};

std::vector<FactorGroup> CommonFactors(std::span<const int64_t> from, std::span<const int64_t> to) {
  std::vector<FactorGroup> groups;
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    if (i < from.size() && j < to.size() && from[i] == to[j]) {
      groups.push_back({i, i + 1, j, j + 1});
      ++i;
      ++j;
      continue;
    }
    FactorGroup group{i, i, j, j};
    int64_t left = 1, right = 1;
    do {
      // Dimensions of size 1 that only one side has join the group before the next factor.
      if ((left <= right && i < from.size()) || j >= to.size()) {
        left *= from[i++];
      } else {
        right *= to[j++];
      }
    } while (left != right && (i < from.size() || j < to.size()));
    group.from_end = i;
    group.to_end = j;
    groups.push_back(group);
  }
  return groups;
}

// Dimensions of size 1 that only the operand has would be groups of their own, with nothing in the
// result that could be empty when they are: they join the group before them, or the one behind.
std::vector<FactorGroup> WithoutLoneOnes(std::vector<FactorGroup> groups) {
  std::vector<FactorGroup> joined;
  bool lone = false;  // the last of `joined` has no dimension of the result yet
  for (const FactorGroup& group : groups) {
    if (!joined.empty() && (lone || group.to == group.to_end)) {
      joined.back().from_end = group.from_end;
      joined.back().to_end = group.to_end;
      if (lone) joined.back().to = group.to;
    } else {
      joined.push_back(group);
    }
    lone = joined.back().to == joined.back().to_end;
  }
  return joined;
}

// Which dimension of the result in the group takes up that the operand is shorter; -1 if none can.
int64_t FlexibleDimension(const KernelCall& call, const FactorGroup& group) {
  const Shape& shape = call.shape();
  const int64_t inferred =
      call.module().GetInt(call.instruction(), AttributeKey::kInferredDimension, -1);
  if (std::cmp_greater_equal(inferred, group.to) && std::cmp_less(inferred, group.to_end)) {
    return inferred;
  }
  for (size_t d = group.to; d < group.to_end; ++d) {
    if (shape.is_dynamic_dimension(d)) return static_cast<int64_t>(d);
  }
  for (size_t d = group.to; d < group.to_end; ++d) {
    if (shape.dimension(d) != 1) return static_cast<int64_t>(d);
  }
  return group.to < group.to_end ? static_cast<int64_t>(group.to) : -1;
}

}  // namespace

// Dimensions split and merge in groups of equal size; in each the dimension that is inferred, or
// declared dynamic, or the first, becomes as long as the live elements need.
Result<Shape> ReshapeShape(const KernelCall& call, Sizes operands) {
  const Shape& from = call.operand_shape(0);
  LiveSizes live = Dimensions(call.shape());
  for (const FactorGroup& group :
       WithoutLoneOnes(CommonFactors(from.dimensions(), call.shape().dimensions()))) {
    int64_t elements = 1, others = 1;
    bool shorter = false;
    for (size_t d = group.from; d < group.from_end; ++d) {
      elements *= operands[0][d];
      shorter |= IsShorter(call, operands, 0, d);
    }
    if (!shorter) continue;
    const int64_t flexible = FlexibleDimension(call, group);
    for (size_t d = group.to; d < group.to_end; ++d) {
      if (std::cmp_not_equal(d, flexible)) others *= live[d];
    }
    if (flexible < 0 || others < 0 || (others == 0 ? elements : elements % others) != 0) {
      return DoesNotFit("has live elements that its dimensions cannot hold");
    }
    live[static_cast<size_t>(flexible)] = others == 0 ? 0 : elements / others;
  }
  return ResultOf(call, std::move(live));
}

Result<Shape> InferredShape(const KernelCall& call, Sizes operands) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < operands.size(); ++i) {
    shapes.push_back(call.operands[i].is_array()
                         ? Shape::Array(call.operand_shape(i).element_type(), operands[i])
                         : Shape::Token());
  }
  std::vector<const Shape*> pointers;
  for (const Shape& shape : shapes) pointers.push_back(&shape);
  const hlo::Module& module = call.module();
  HLOSCOPE_ASSIGN_OR_RETURN(
      Shape inferred, hlo::InferShape({module, call.opcode(), pointers,
                                       module.attributes(call.instruction()), &call.shape()}));
  // The declared element types stand: inference may answer with those of the operands.
  if (inferred.IsArray() && call.shape().IsArray()) {
    inferred.set_element_type(call.shape().element_type());
  }
  return inferred.WithoutLayouts();
}

void AgreeEverywhere(const KernelCall&, std::span<LiveSizes> operands) {
  for (size_t i = 1; i < operands.size(); ++i) {
    if (operands[i].size() != operands[0].size()) break;  // initial values
    for (size_t d = 0; d < operands[0].size(); ++d) {
      operands[0][d] = std::min(operands[0][d], operands[i][d]);
    }
  }
  for (size_t i = 1; i < operands.size(); ++i) {
    if (operands[i].size() != operands[0].size()) break;
    operands[i] = operands[0];
  }
}

void AgreeBesideJoint(const KernelCall& call, std::span<LiveSizes> operands) {
  const auto joint = static_cast<size_t>(Ints(call, AttributeKey::kDimensions)[0]);
  for (size_t d = 0; d < operands[0].size(); ++d) {
    if (d == joint) continue;
    int64_t smallest = operands[0][d];
    for (const LiveSizes& sizes : operands) smallest = std::min(smallest, sizes[d]);
    for (LiveSizes& sizes : operands) sizes[d] = smallest;
  }
}

void AgreeInContraction(const KernelCall& call, std::span<LiveSizes> operands) {
  auto agree = [&](std::span<const int64_t> a, std::span<const int64_t> b) {
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
      TakeSmaller(operands[0][static_cast<size_t>(a[i])], operands[1][static_cast<size_t>(b[i])]);
    }
  };
  const hlo::DotDims dims = hlo::DotDimsOf(call.module(), call.id);
  agree(dims.lhs.batch, dims.rhs.batch);
  agree(dims.lhs.contracting, dims.rhs.contracting);
}

// Only without groups: those cut features in parts of fixed sizes.
void AgreeInFeatures(const KernelCall& call, std::span<LiveSizes> operands) {
  const hlo::ConvDims dims = hlo::ConvDimsOf(call.module(), call.id);
  if (dims.labels == nullptr || dims.feature_groups != 1 || operands.size() < 2) return;
  TakeSmaller(operands[0][static_cast<size_t>(dims.labels->input_feature)],
              operands[1][static_cast<size_t>(dims.labels->kernel_input_feature)]);
}

// The operand's live size decides how many places the window has; the source has one each.
void AgreeWithWindow(const KernelCall& call, std::span<LiveSizes> operands) {
  const hlo::Window* window = hlo::FindWindow(call.module(), call.id);
  const auto dimensions = hlo::WindowDimensions(window, operands[1].size());
  for (size_t d = 0; d < dimensions.size(); ++d) {
    const Result<int64_t> places = hlo::WindowPlaces(dimensions[d], operands[0][d]);
    if (places.has_value()) operands[1][d] = std::min(operands[1][d], *places);
  }
}

}  // namespace hloscope::eval
