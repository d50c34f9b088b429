// Kernels of reduce-window and select-and-scatter. Windows cover elements only: padding and the
// gaps of dilation take no part.
#include <algorithm>
#include <cstring>

#include "core/eval/indices.h"
#include "core/eval/kernels.h"
#include "core/eval/reduction.h"
#include "core/eval/window_taps.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Shape;

constexpr int64_t kLanes = LaneFunction::kLanes;
constexpr int64_t kFewLanes = 8;

// Folds the elements under one place of the window, for `lanes` neighbours along the dimensions the
// window leaves alone.
class PlaceFolder {
 public:
  PlaceFolder(KernelCall& call, TreeReducer& tree, const ReductionResults& results)
      : call_(call), tree_(tree), results_(results), scratch_(tree.arity()) {}

  Status Fold(std::span<const int64_t> offsets, int64_t lanes, int64_t out) {
    return lanes >= kFewLanes ? FoldColumns(offsets, lanes, out) : FoldRows(offsets, lanes, out);
  }

 private:
  const std::byte* Element(size_t i, int64_t at) const {
    return call_.operands[i].data() + at * tree_.element_bytes(i);
  }

  Status FoldColumns(std::span<const int64_t> offsets, int64_t lanes, int64_t out) {
    for (int64_t lane = 0; lane < lanes; lane += kLanes) {
      rows_.clear();
      for (int64_t offset : offsets) {
        for (size_t i = 0; i < tree_.arity(); ++i) rows_.push_back(Element(i, offset + lane));
      }
      HLOSCOPE_TRY(
          tree_.FoldColumns(rows_, std::min(kLanes, lanes - lane), results_.At(out + lane)));
    }
    return {};
  }

  Status FoldRows(std::span<const int64_t> offsets, int64_t lanes, int64_t out) {
    for (int64_t lane = 0; lane < lanes; ++lane) {
      rows_.clear();
      for (size_t i = 0; i < tree_.arity(); ++i) {
        const auto size = static_cast<size_t>(tree_.element_bytes(i));
        scratch_[i].resize(std::max<size_t>(offsets.size(), 1) * size);
        std::byte* to = scratch_[i].data();
        for (int64_t offset : offsets) {
          std::memcpy(to, Element(i, offset + lane), size);
          to += size;
        }
        rows_.push_back(scratch_[i].data());
      }
      HLOSCOPE_TRY(
          tree_.FoldRow(rows_, static_cast<int64_t>(offsets.size()), results_.At(out + lane)));
    }
    return {};
  }

  KernelCall& call_;
  TreeReducer& tree_;
  const ReductionResults& results_;
  std::vector<const std::byte*> rows_;
  std::vector<std::vector<std::byte>> scratch_;
};

// A running reduction along dimension `d`: all elements up to each one.
Status FoldRunning(KernelCall& call, TreeReducer& tree, const ReductionResults& results, size_t d) {
  const Shape& shape = call.operand_shape(0);
  const int64_t count = shape.dimension(d);
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < d; ++i) outer *= shape.dimension(i);
  for (size_t i = d + 1; i < shape.rank(); ++i) inner *= shape.dimension(i);
  std::vector<const std::byte*> rows;
  std::vector<std::byte*> out;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t lane = 0; lane < inner; lane += kLanes) {
      rows.clear();
      out.clear();
      for (int64_t r = 0; r < count; ++r) {
        const int64_t at = (o * count + r) * inner + lane;
        for (size_t i = 0; i < tree.arity(); ++i) {
          rows.push_back(call.operands[i].data() + at * tree.element_bytes(i));
          out.push_back(results.buffers[i].data() + at * tree.element_bytes(i));
        }
      }
      HLOSCOPE_TRY(tree.FoldPrefixes(rows, std::min(kLanes, inner - lane), out));
    }
  }
  return {};
}

}  // namespace

Result<Value> ReduceWindowKernel(KernelCall& call) {
  const hlo::Module& module = call.module();
  const auto reducer_id = module.GetComputation(call.instruction(), AttributeKey::kToApply);
  HLOSCOPE_ASSIGN_OR_RETURN(LaneFunction reducer, LaneFunction::Compile(call.machine, reducer_id));
  if (reducer.result_types().size() != call.operands.size() / 2) {
    return Unsupported(call, "the reducer does not fit");
  }
  TreeReducer tree(reducer, InitialElements(call));
  HLOSCOPE_ASSIGN_OR_RETURN(ReductionResults results, ReductionResults::Make(call));
  const std::vector<int64_t> places = Dimensions(results.shapes[0]);
  const WindowTaps taps(module.Get<hlo::Window>(call.instruction(), AttributeKey::kWindow),
                        call.operand_shape(0).dimensions());
  if (ElementCount(results.shapes[0]) == 0) return std::move(results).Finish();
  if (const auto d = taps.running_dimension()) {
    HLOSCOPE_TRY(FoldRunning(call, tree, results, *d));
    return std::move(results).Finish();
  }
  const std::span<const int64_t> outer =
      std::span(places).first(places.size() - taps.trivial_tail());
  int64_t lanes = 1;
  for (size_t d = outer.size(); d < places.size(); ++d) lanes *= places[d];
  PlaceFolder folder(call, tree, results);
  std::vector<int64_t> place(outer.size(), 0), offsets;
  int64_t out = 0;
  do {
    taps.OffsetsAt(place, offsets);
    HLOSCOPE_TRY(folder.Fold(offsets, lanes, out));
    out += lanes;
  } while (NextIndex(place, outer));
  return std::move(results).Finish();
}

// Every source element goes to the element of the operand that `select` chooses under its window:
// the first one that no later one is preferred to. There `scatter` combines it with what is there.
Result<Value> SelectAndScatterKernel(KernelCall& call) {
  const hlo::Module& module = call.module();
  const auto& instruction = call.instruction();
  HLOSCOPE_ASSIGN_OR_RETURN(
      LaneFunction select,
      LaneFunction::Compile(call.machine,
                            module.GetComputation(instruction, AttributeKey::kSelectComputation)));
  HLOSCOPE_ASSIGN_OR_RETURN(
      LaneFunction scatter,
      LaneFunction::Compile(call.machine,
                            module.GetComputation(instruction, AttributeKey::kScatterComputation)));
  const Value& operand = call.operands[0];
  const Value& source = call.operands[1];
  const int size = hlo::StorageBytes(operand.shape().element_type());
  const auto bytes = static_cast<size_t>(size);
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(call.shape()));
  for (size_t at = 0; at < out.size; at += bytes) {
    std::memcpy(out.data() + at, call.operands[2].data(), bytes);
  }
  const std::vector<int64_t> places = Dimensions(source.shape());
  if (ElementCount(source.shape()) == 0) return Value::Array(call.shape(), std::move(out));
  const WindowTaps taps(module.Get<hlo::Window>(instruction, AttributeKey::kWindow),
                        operand.shape().dimensions());
  std::vector<int64_t> place(places.size(), 0), offsets;
  const std::byte* from = source.data();
  do {
    taps.OffsetsAt(place, offsets);
    int64_t chosen = -1;
    for (int64_t offset : offsets) {
      std::byte keep{1};
      if (chosen >= 0) {
        const std::byte* const pair[] = {operand.data() + chosen * size,
                                         operand.data() + offset * size};
        std::byte* const verdict[] = {&keep};
        HLOSCOPE_TRY(select.Run(pair, verdict, 1));
      }
      if (chosen < 0 || keep == std::byte{0}) chosen = offset;
    }
    if (chosen >= 0) {
      alignas(16) std::byte combined[16];
      std::byte* const result[] = {combined};
      const std::byte* const pair[] = {from, out.data() + chosen * size};
      HLOSCOPE_TRY(scatter.Run(pair, result, 1));
      std::memcpy(out.data() + chosen * size, combined, bytes);
    }
    from += size;
  } while (NextIndex(place, places));
  return Value::Array(call.shape(), std::move(out));
}

}  // namespace hloscope::eval
