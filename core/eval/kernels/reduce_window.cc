// Kernels of reduce-window and select-and-scatter. Windows cover elements only: padding and the
// gaps of dilation take no part.
#include <algorithm>
#include <cstring>

#include "core/eval/kernels/reduction.h"
#include "core/eval/kernels/sliding_fold.h"
#include "core/eval/loops/window_taps.h"
#include "core/eval/machine/indices.h"
#include "core/eval/machine/kernels.h"
#include "core/eval/machine/strided_copy.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Shape;

constexpr int64_t kLanes = VectorizedComputation::kLanes;
constexpr int64_t kFewLanes = 8;
constexpr int64_t kGrain = 1 << 16;     // elements
constexpr int64_t kGathered = 1 << 14;  // elements of a block whose rows are gathered

// Folds the elements under places of the window: the offsets of the first one's, and how far its
// neighbours' are from them.
class PlaceFolder {
 public:
  PlaceFolder(KernelCall& call, VectorizedComputation& reducer, const ReductionResults& results)
      : call_(call),
        results_(results),
        init_(InitialElements(call)),
        tree_(reducer, init_),
        scratch_(tree_.arity()) {}

  // `lanes` results from element `out` on; result i is folded from offsets + i·step.
  Status Fold(std::span<const int64_t> offsets, int64_t lanes, int64_t step, int64_t out) {
    if (lanes < kFewLanes) return FoldEach(offsets, lanes, step, out);
    const auto taps = std::max<int64_t>(1, static_cast<int64_t>(offsets.size()));
    const int64_t block = step == 1 ? kLanes : std::clamp<int64_t>(kGathered / taps, 16, kLanes);
    for (int64_t lane = 0; lane < lanes; lane += block) {
      const int64_t count = std::min(block, lanes - lane);
      rows_.clear();
      if (step == 1) {
        PointAt(offsets, lane);
      } else {
        Gather(offsets, lane * step, count, step);
      }
      HLOSCOPE_TRY(tree_.FoldColumns(rows_, count, results_.At(out + lane)));
    }
    return {};
  }

 private:
  const std::byte* Element(size_t i, int64_t at) const {
    return call_.operands[i].data() + at * tree_.element_bytes(i);
  }
  std::byte* Room(size_t i, size_t elements) {
    scratch_[i].resize(std::max<size_t>(elements, 1) * static_cast<size_t>(tree_.element_bytes(i)));
    return scratch_[i].data();
  }

  void PointAt(std::span<const int64_t> offsets, int64_t lane) {
    for (int64_t offset : offsets) {
      for (size_t i = 0; i < tree_.arity(); ++i) rows_.push_back(Element(i, offset + lane));
    }
  }

  void Gather(std::span<const int64_t> offsets, int64_t first, int64_t lanes, int64_t step) {
    rows_.resize(offsets.size() * tree_.arity());
    for (size_t i = 0; i < tree_.arity(); ++i) {
      std::byte* to = Room(i, offsets.size() * static_cast<size_t>(lanes));
      const int64_t sizes[] = {lanes}, from[] = {step}, dense[] = {1};
      const StridedCopy copy(sizes, from, dense, tree_.element_bytes(i));
      for (size_t t = 0; t < offsets.size(); ++t) {
        copy.Run(Element(i, offsets[t] + first), to);
        rows_[t * tree_.arity() + i] = to;
        to += lanes * tree_.element_bytes(i);
      }
    }
  }

  Status FoldEach(std::span<const int64_t> offsets, int64_t lanes, int64_t step, int64_t out) {
    for (int64_t lane = 0; lane < lanes; ++lane) {
      rows_.clear();
      for (size_t i = 0; i < tree_.arity(); ++i) {
        const auto size = static_cast<size_t>(tree_.element_bytes(i));
        std::byte* to = Room(i, offsets.size());
        rows_.push_back(to);
        for (int64_t offset : offsets) {
          std::memcpy(to, Element(i, offset + lane * step), size);
          to += size;
        }
      }
      HLOSCOPE_TRY(
          tree_.FoldDense(rows_, static_cast<int64_t>(offsets.size()), 1, results_.At(out + lane)));
    }
    return {};
  }

  KernelCall& call_;
  const ReductionResults& results_;
  std::vector<const std::byte*> init_;
  TreeReducer tree_;
  std::vector<const std::byte*> rows_;
  std::vector<std::vector<std::byte>> scratch_;
};

// A running reduction along dimension `d` with a reducer that is not associative: all elements up
// to each one.
Status FoldRunning(KernelCall& call, VectorizedComputation& reducer,
                   const ReductionResults& results, size_t d) {
  const Shape& shape = call.operand_shape(0);
  const int64_t count = shape.dimension(d);
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < d; ++i) outer *= shape.dimension(i);
  for (size_t i = d + 1; i < shape.rank(); ++i) inner *= shape.dimension(i);
  const int64_t strips = (inner - 1) / kLanes + 1;
  const auto init = InitialElements(call);
  const auto fold_strip = [&](TreeReducer& tree, int64_t o, int64_t lane) -> Status {
    std::vector<const std::byte*> rows;
    std::vector<std::byte*> out;
    for (int64_t r = 0; r < count; ++r) {
      const int64_t at = (o * count + r) * inner + lane;
      for (size_t i = 0; i < tree.arity(); ++i) {
        rows.push_back(call.operands[i].data() + at * tree.element_bytes(i));
        out.push_back(results.buffers[i].data() + at * tree.element_bytes(i));
      }
    }
    return tree.FoldPrefixes(rows, std::min(kLanes, inner - lane), out);
  };
  const int64_t grain = std::max<int64_t>(1, kGrain / (count * std::min(inner, kLanes)));
  return reducer.ForRanges(outer * strips, grain,
                           [&](VectorizedComputation& own, IndexRange range) -> Status {
                             TreeReducer tree(own, init);
                             for (int64_t i = range.begin; i < range.end; ++i) {
                               HLOSCOPE_TRY(fold_strip(tree, i / strips, i % strips * kLanes));
                             }
                             return {};
                           });
}

// Windows that leave the last dimensions alone: those are the lanes.
Status FoldTail(KernelCall& call, VectorizedComputation& reducer, const ReductionResults& results,
                const WindowTaps& taps, std::span<const int64_t> outer, int64_t lanes) {
  int64_t places = 1;
  for (int64_t size : outer) places *= size;
  const int64_t grain = std::max<int64_t>(1, kGrain / 8 / lanes);
  return reducer.ForRanges(
      places, grain, [&](VectorizedComputation& own, IndexRange range) -> Status {
        PlaceFolder folder(call, own, results);
        std::vector<int64_t> place = IndexAt(range.begin, outer), offsets;
        for (int64_t i = range.begin; i < range.end; ++i, NextIndex(place, outer)) {
          taps.OffsetsAt(place, offsets);
          HLOSCOPE_TRY(folder.Fold(offsets, lanes, 1, i * lanes));
        }
        return {};
      });
}

// Windows over the last dimension too: neighbouring places along it, where they lie inside, are the
// lanes.
Status FoldLines(KernelCall& call, VectorizedComputation& reducer, const ReductionResults& results,
                 const WindowTaps& taps, std::span<const int64_t> places) {
  const size_t last = places.size() - 1;
  const int64_t width = places[last];
  const WindowTaps::Dimension& dimension = taps.dimension(last);
  const IndexRange inside = dimension.Interior(width);
  const auto outer = places.first(last);
  int64_t lines = 1;
  for (int64_t size : outer) lines *= size;
  const int64_t grain = std::max<int64_t>(1, kGrain / 8 / width);
  return reducer.ForRanges(
      lines, grain, [&](VectorizedComputation& own, IndexRange range) -> Status {
        PlaceFolder folder(call, own, results);
        std::vector<int64_t> place = IndexAt(range.begin, outer), offsets;
        place.push_back(0);
        for (int64_t i = range.begin; i < range.end; ++i) {
          for (int64_t at = 0; at < width;) {
            const bool is_inside = at >= inside.begin && at < inside.end;
            const int64_t lanes = is_inside ? inside.end - at : 1;
            place[last] = at;
            taps.OffsetsAt(place, offsets);
            HLOSCOPE_TRY(folder.Fold(offsets, lanes, dimension.window.stride * dimension.stride,
                                     i * width + at));
            at += lanes;
          }
          NextIndex(std::span(place).first(last), outer);
        }
        return {};
      });
}

Status FoldWindows(KernelCall& call, VectorizedComputation& reducer,
                   const ReductionResults& results, const hlo::Window* window) {
  const std::vector<int64_t> places = Dimensions(results.shapes[0]);
  const WindowTaps taps(window, call.operand_shape(0).dimensions());
  if (const auto d = taps.only_dimension(); d && reducer.IsAssociative() && reducer.RunsAsLoops() &&
                                            SlidingPays(taps.dimension(*d), places[*d])) {
    return FoldSliding(call, reducer, results, taps.dimension(*d), *d);
  }
  if (const auto d = taps.running_dimension(); d && !reducer.IsAssociative()) {
    return FoldRunning(call, reducer, results, *d);
  }
  const auto outer = std::span(places).first(places.size() - taps.trivial_tail());
  int64_t lanes = 1;
  for (size_t d = outer.size(); d < places.size(); ++d) lanes *= places[d];
  if (lanes < kFewLanes && taps.trivial_tail() == 0 && !places.empty()) {
    return FoldLines(call, reducer, results, taps, places);
  }
  return FoldTail(call, reducer, results, taps, outer, lanes);
}

}  // namespace

Result<Value> ReduceWindowKernel(KernelCall& call) {
  const auto reducer_id = call.module().GetComputation(call.instruction(), AttributeKey::kToApply);
  HLOSCOPE_ASSIGN_OR_RETURN(VectorizedComputation reducer, CompileReduction(call, reducer_id));
  HLOSCOPE_ASSIGN_OR_RETURN(ReductionResults results, ReductionResults::Make(call));
  if (ElementCount(results.shapes[0]) != 0) {
    HLOSCOPE_TRY(FoldWindows(call, reducer, results, hlo::FindWindow(call.module(), call.id)));
  }
  return std::move(results).Finish();
}

Result<Value> ReduceOverWindow(const KernelCall& call, VectorizedComputation& reducer,
                               const hlo::Window& window, Value operand, Value initial,
                               const Shape& shape) {
  Value operands[] = {std::move(operand), std::move(initial)};
  KernelCall part{call.machine, call.id, operands, {}, &shape};
  HLOSCOPE_ASSIGN_OR_RETURN(ReductionResults results, ReductionResults::Make(part));
  if (ElementCount(shape) != 0) HLOSCOPE_TRY(FoldWindows(part, reducer, results, &window));
  return std::move(results).Finish();
}

namespace {

// For each of the places [range) of the window, the offset of the element under it that `select`
// chooses: the first one that no later one is preferred to; -1 if there is none.
Status Choose(const WindowTaps& taps, std::span<const int64_t> places, const Value& operand,
              VectorizedComputation& select, IndexRange range, std::span<int64_t> chosen) {
  const int size = hlo::StorageBytes(operand.shape().element_type());
  const auto bytes = static_cast<size_t>(size);
  std::vector<int64_t> place = IndexAt(range.begin, places);
  std::vector<std::vector<int64_t>> offsets(static_cast<size_t>(kLanes));
  std::vector<std::byte> best(bytes * kLanes), other(bytes * kLanes), keep(kLanes);
  const std::byte* const pair[] = {best.data(), other.data()};
  std::byte* const verdict[] = {keep.data()};
  std::vector<size_t> lanes;
  for (int64_t begin = range.begin; begin < range.end; begin += kLanes) {
    const auto count = static_cast<size_t>(std::min(kLanes, range.end - begin));
    const auto best_at = chosen.subspan(static_cast<size_t>(begin), count);
    size_t longest = 0;
    for (size_t i = 0; i < count; ++i, NextIndex(place, places)) {
      taps.OffsetsAt(place, offsets[i]);
      longest = std::max(longest, offsets[i].size());
      best_at[i] = offsets[i].empty() ? -1 : offsets[i][0];
    }
    for (size_t tap = 1; tap < longest; ++tap) {
      lanes.clear();
      for (size_t i = 0; i < count; ++i) {
        if (tap >= offsets[i].size()) continue;
        std::memcpy(best.data() + lanes.size() * bytes, operand.data() + best_at[i] * size, bytes);
        std::memcpy(other.data() + lanes.size() * bytes, operand.data() + offsets[i][tap] * size,
                    bytes);
        lanes.push_back(i);
      }
      HLOSCOPE_TRY(select.Run(pair, verdict, static_cast<int64_t>(lanes.size())));
      for (size_t k = 0; k < lanes.size(); ++k) {
        if (keep[k] == std::byte{0}) best_at[lanes[k]] = offsets[lanes[k]][tap];
      }
    }
  }
  return {};
}

}  // namespace

// Every source element goes to the element of the operand that `select` chooses under its window.
// There `scatter` combines it with what is there, in order of the source elements.
Result<Value> SelectAndScatterKernel(KernelCall& call) {
  const hlo::Module& module = call.module();
  const auto& instruction = call.instruction();
  const Value& operand = call.operands[0];
  const hlo::ElementType type = operand.shape().element_type();
  HLOSCOPE_ASSIGN_OR_RETURN(
      VectorizedComputation select,
      CompileLanes(call, module.GetComputation(instruction, AttributeKey::kSelectComputation),
                   {type, type}, {hlo::ElementType::kPred}));
  HLOSCOPE_ASSIGN_OR_RETURN(
      VectorizedComputation scatter,
      CompileReducer(call, module.GetComputation(instruction, AttributeKey::kScatterComputation),
                     {type},
                     {ElementTypesOf(call.operands.subspan(1, 1)),
                      ElementTypesOf(call.operands.subspan(2)), ElementTypesOf(call.shape())}));
  const Value& source = call.operands[1];
  const int size = hlo::StorageBytes(operand.shape().element_type());
  const auto bytes = static_cast<size_t>(size);
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(call.shape()));
  for (size_t at = 0; at < out.size; at += bytes) {
    std::memcpy(out.data() + at, call.operands[2].data(), bytes);
  }
  const std::vector<int64_t> places = Dimensions(source.shape());
  if (ElementCount(source.shape()) == 0) return Value::Array(call.shape(), std::move(out));
  const WindowTaps taps(hlo::FindWindow(module, call.id), operand.shape().dimensions());
  std::vector<int64_t> chosen(static_cast<size_t>(ElementCount(source.shape())));
  HLOSCOPE_TRY(select.ForRanges(ElementCount(source.shape()), kGrain / 8,
                                [&](VectorizedComputation& own, IndexRange range) {
                                  return Choose(taps, places, operand, own, range, chosen);
                                }));
  alignas(16) std::byte combined[16];
  std::byte* const result[] = {combined};
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i] < 0) continue;
    std::byte* to = out.data() + chosen[i] * size;
    const std::byte* const pair[] = {source.data() + static_cast<int64_t>(i) * size, to};
    HLOSCOPE_TRY(scatter.Run(pair, result, 1));
    std::memcpy(to, combined, bytes);
  }
  return Value::Array(call.shape(), std::move(out));
}

}  // namespace hloscope::eval
