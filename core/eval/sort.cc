// Kernels of sort and top-k. Sorting is stable whatever is_stable says, which is one of the orders
// allowed, and never reads outside its line however inconsistent the comparator is.
#include "core/eval/sort.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>

#include "core/eval/indices.h"
#include "core/eval/kernels.h"
#include "core/eval/lane_function.h"
#include "core/eval/strided_copy.h"
#include "core/eval/wide.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Shape;

constexpr size_t kRun = 16;  // lines this short are sorted by insertion

// Inserts each of [begin, end) among those before it; a new smallest goes straight to the front.
template <typename Less>
Status InsertionSort(std::span<int64_t> line, Less less) {
  for (size_t i = 1; i < line.size(); ++i) {
    const int64_t moving = line[i];
    size_t to = i;
    HLOSCOPE_ASSIGN_OR_RETURN(const bool smallest, less(moving, line[0]));
    while (to > 0) {
      if (!smallest) {
        HLOSCOPE_ASSIGN_OR_RETURN(const bool goes_before, less(moving, line[to - 1]));
        if (!goes_before) break;
      }
      line[to] = line[to - 1];
      --to;
    }
    line[to] = moving;
  }
  return {};
}

// Sorts `order` by less(a, b): short runs, merged bottom up. Equal elements keep their order.
template <typename Less>
Status MergeSort(std::vector<int64_t>& order, Less less) {
  std::vector<int64_t> merged(order.size());
  const size_t n = order.size();
  for (size_t begin = 0; begin < n; begin += kRun) {
    HLOSCOPE_TRY(InsertionSort(std::span(order).subspan(begin, std::min(kRun, n - begin)), less));
  }
  for (size_t width = kRun; width < n; width *= 2) {
    for (size_t begin = 0; begin < n; begin += 2 * width) {
      const size_t middle = std::min(begin + width, n), end = std::min(begin + 2 * width, n);
      size_t left = begin, right = middle;
      for (size_t out = begin; out < end; ++out) {
        bool take_right = left == middle;
        if (!take_right && right < end) {
          HLOSCOPE_ASSIGN_OR_RETURN(take_right, less(order[right], order[left]));
        }
        merged[out] = take_right ? order[right++] : order[left++];
      }
    }
    order.swap(merged);
  }
  return {};
}

// The same algorithm as MergeSort, one comparison at a time: which two elements are compared next,
// and what follows from the answer. So the runs and merges of many lines advance together, and a
// comparator is applied to many pairs at once.
struct Insertion {
  std::span<int64_t> run;
  size_t line = 0;
  size_t next = 1, to = 1;
  bool at_front = true;  // the one that moves is compared with the first

  bool Active() { return next < run.size(); }
  std::pair<int64_t, int64_t> Compared() const {
    return {run[to], at_front ? run[0] : run[to - 1]};
  }
  void Apply(bool less) {
    if (at_front && less) {
      std::rotate(run.begin(), run.begin() + static_cast<std::ptrdiff_t>(next),
                  run.begin() + static_cast<std::ptrdiff_t>(next) + 1);
    } else if (at_front) {
      at_front = false;
      return;
    } else if (less) {
      std::swap(run[to - 1], run[to]);
      if (--to > 0) return;
    }
    to = ++next;
    at_front = true;
  }
};

struct Merge {
  const int64_t* from = nullptr;
  int64_t* into = nullptr;
  size_t line = 0;
  size_t left = 0, middle = 0, right = 0, end = 0, out = 0;

  bool Active() {
    if (left != middle && right != end) return true;
    while (left < middle) into[out++] = from[left++];
    while (right < end) into[out++] = from[right++];
    return false;
  }
  std::pair<int64_t, int64_t> Compared() const { return {from[right], from[left]}; }
  void Apply(bool take_right) { into[out++] = take_right ? from[right++] : from[left++]; }
};

// Copies element `from` of an array to place `to` of another.
void CopyElement(const std::byte* from, int64_t at, std::byte* into, int64_t to, int size) {
  std::memcpy(into + to * size, from + at * size, static_cast<size_t>(size));
}

// Sorts lines of all operands, many at once.
class LineSorter {
 public:
  LineSorter(KernelCall& call, LaneFunction& comparator, size_t dimension)
      : call_(call), comparator_(comparator) {
    const Shape& shape = call.operand_shape(0);
    count_ = static_cast<size_t>(shape.dimension(dimension));
    stride_ = RowMajorStrides(shape.dimensions())[dimension];
    for (const Value& operand : call.operands) {
      const int size = hlo::StorageBytes(operand.shape().element_type());
      sizes_.push_back(size);
      for (int side = 0; side < 2; ++side) {
        pairs_.emplace_back(static_cast<size_t>(size * LaneFunction::kLanes));
      }
    }
    for (const auto& lanes : pairs_) in_.push_back(lanes.data());
  }

  // How many lines are worth sorting together.
  size_t LinesAtOnce() const { return std::max<size_t>(1, kElementsAtOnce / count_); }

  // The lines whose first elements are at `begins`.
  Status Sort(std::span<const int64_t> begins, std::span<const Buffer> results) {
    begins_ = begins;
    order_.resize(count_ * begins.size());
    merged_.resize(order_.size());
    for (size_t k = 0; k < order_.size(); ++k) order_[k] = static_cast<int64_t>(k % count_);
    HLOSCOPE_TRY(SortRuns());
    for (size_t width = kRun; width < count_; width *= 2) HLOSCOPE_TRY(MergeRuns(width));
    for (size_t line = 0; line < begins.size(); ++line) {
      for (size_t k = 0; k < count_; ++k) {
        const int64_t to = begins[line] + static_cast<int64_t>(k) * stride_;
        for (size_t i = 0; i < sizes_.size(); ++i) {
          CopyElement(call_.operands[i].data(), Place(line, order_[line * count_ + k]),
                      results[i].data(), to, sizes_[i]);
        }
      }
    }
    return {};
  }

 private:
  static constexpr size_t kElementsAtOnce = 1 << 16;

  int64_t Place(size_t line, int64_t k) const { return begins_[line] + k * stride_; }

  Status SortRuns() {
    std::vector<Insertion> runs;
    for (size_t line = 0; line < begins_.size(); ++line) {
      for (size_t begin = 0; begin < count_; begin += kRun) {
        runs.push_back(
            {std::span(order_).subspan(line * count_ + begin, std::min(kRun, count_ - begin)),
             line});
      }
    }
    return Advance(runs);
  }

  Status MergeRuns(size_t width) {
    std::vector<Merge> merges;
    for (size_t line = 0; line < begins_.size(); ++line) {
      const size_t first = line * count_;
      for (size_t begin = 0; begin < count_; begin += 2 * width) {
        const size_t middle = first + std::min(begin + width, count_);
        merges.push_back({order_.data(), merged_.data(), line, first + begin, middle, middle,
                          first + std::min(begin + 2 * width, count_), first + begin});
      }
    }
    HLOSCOPE_TRY(Advance(merges));
    order_.swap(merged_);
    return {};
  }

  // Runs all of them to their end.
  template <typename Task>
  Status Advance(std::vector<Task>& tasks) {
    std::vector<Task*> active;
    for (Task& task : tasks) active.push_back(&task);
    auto remove_done = [&] { std::erase_if(active, [](Task* task) { return !task->Active(); }); };
    for (remove_done(); !active.empty(); remove_done()) {
      constexpr auto kMost = static_cast<size_t>(LaneFunction::kLanes);
      for (size_t begin = 0; begin < active.size(); begin += kMost) {
        const auto batch = std::span(active).subspan(begin, std::min(kMost, active.size() - begin));
        HLOSCOPE_TRY(Compare(batch));
        for (size_t lane = 0; lane < batch.size(); ++lane) {
          batch[lane]->Apply(verdicts_[lane] != std::byte{0});
        }
      }
    }
    return {};
  }

  template <typename Task>
  Status Compare(std::span<Task*> batch) {
    for (size_t lane = 0; lane < batch.size(); ++lane) {
      const auto [a, b] = batch[lane]->Compared();
      const int64_t sides[] = {Place(batch[lane]->line, a), Place(batch[lane]->line, b)};
      for (size_t i = 0; i < pairs_.size(); ++i) {
        CopyElement(call_.operands[i / 2].data(), sides[i % 2], pairs_[i].data(),
                    static_cast<int64_t>(lane), sizes_[i / 2]);
      }
    }
    std::byte* const out[] = {verdicts_.data()};
    return comparator_.Run(in_, out, static_cast<int64_t>(batch.size()));
  }

  KernelCall& call_;
  LaneFunction& comparator_;
  size_t count_;
  int64_t stride_;
  std::vector<int> sizes_;
  std::span<const int64_t> begins_;
  std::vector<int64_t> order_, merged_;
  std::vector<std::vector<std::byte>> pairs_;  // lanes of each parameter
  std::vector<const std::byte*> in_;
  std::array<std::byte, LaneFunction::kLanes> verdicts_ = {};
};

// True if it takes two scalars of each operand's type and answers yes or no.
bool Compares(const LaneFunction& comparator, std::span<const Value> operands) {
  const auto types = comparator.parameter_types();
  const auto results = comparator.result_types();
  if (types.size() != 2 * operands.size() || results.size() != 1) return false;
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] != operands[i / 2].shape().element_type()) return false;
  }
  return results[0] == hlo::ElementType::kPred;
}

Result<Value> Results(KernelCall& call, std::vector<Buffer> buffers) {
  if (!call.shape().IsTuple()) return Value::Array(call.shape(), std::move(buffers[0]));
  std::vector<Value> values;
  for (size_t i = 0; i < buffers.size(); ++i) {
    values.push_back(Value::Array(call.shape().elements()[i], std::move(buffers[i])));
  }
  return Value::Tuple(std::move(values));
}

// Ordered like the elements by total order: numbers that compare as they do.
std::vector<double> TotalOrderKeys(hlo::ElementType type, const std::byte* data, int64_t count) {
  std::vector<double> keys(static_cast<size_t>(count));
  LoadAs<double>(type, data, keys.data(), count);
  return keys;
}

bool TotallyLess(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) {
    auto rank = [](double x) { return std::isnan(x) ? (std::signbit(x) ? -1 : 1) : 0; };
    return rank(a) < rank(b);
  }
  if (a == b) return std::signbit(a) && !std::signbit(b);
  return a < b;
}

}  // namespace

Result<std::vector<Buffer>> SortOperands(KernelCall& call, hlo::ComputationId comparator_id,
                                         size_t d) {
  HLOSCOPE_ASSIGN_OR_RETURN(LaneFunction comparator,
                            LaneFunction::Compile(call.machine, comparator_id));
  if (!Compares(comparator, call.operands)) {
    return Unsupported(call, "its comparator does not compare its operands");
  }
  const Shape& shape = call.operand_shape(0);
  std::vector<Buffer> results;
  for (const Value& operand : call.operands) {
    HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(operand.shape()));
    results.push_back(std::move(buffer));
  }
  if (ElementCount(shape) == 0) return results;
  LineSorter sorter(call, comparator, d);
  const auto strides = RowMajorStrides(shape.dimensions());
  std::vector<int64_t> lines = Dimensions(shape), line(shape.rank(), 0);
  lines[d] = 1;
  std::vector<int64_t> begins;
  bool more = true;
  while (more) {
    begins.push_back(Offset(line, strides));
    more = NextIndex(line, lines);
    if (more && begins.size() < sorter.LinesAtOnce()) continue;
    HLOSCOPE_TRY(sorter.Sort(begins, results));
    begins.clear();
  }
  return results;
}

Result<Value> SortKernel(KernelCall& call) {
  const auto comparator = call.module().GetComputation(call.instruction(), AttributeKey::kToApply);
  const auto dimensions = call.module().GetInts(call.instruction(), AttributeKey::kDimensions);
  HLOSCOPE_ASSIGN_OR_RETURN(auto results,
                            SortOperands(call, comparator, static_cast<size_t>(dimensions[0])));
  return Results(call, std::move(results));
}

// The k largest (or smallest) of each line of the last dimension, and where they were; of equal
// ones the first.
Result<Value> TopKKernel(KernelCall& call) {
  const Shape& in = call.operand_shape(0);
  const int64_t count = in.dimension(in.rank() - 1);
  const bool largest = call.module().GetBool(call.instruction(), AttributeKey::kLargest, true);
  if (!call.shape().IsTuple() || call.shape().elements().size() != 2) {
    return Unsupported(call, "its result is not a pair of values and indices");
  }
  const Shape& values = call.shape().elements()[0];
  const Shape& indices = call.shape().elements()[1];
  const int64_t k = values.dimension(values.rank() - 1);
  const int64_t bytes = hlo::StorageBytes(in.element_type());
  const int64_t index_bytes = hlo::StorageBytes(indices.element_type());
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer out, call.machine.Allocate(values));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer where, call.machine.Allocate(indices));
  const int64_t lines = count == 0 ? 0 : ElementCount(in) / count;
  for (int64_t line = 0; line < lines; ++line) {
    const std::byte* from = call.operands[0].data() + line * count * bytes;
    const auto keys = TotalOrderKeys(in.element_type(), from, count);
    std::vector<int64_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    HLOSCOPE_TRY(MergeSort(order, [&](int64_t a, int64_t b) -> Result<bool> {
      const double x = keys[static_cast<size_t>(a)], y = keys[static_cast<size_t>(b)];
      return largest ? TotallyLess(y, x) : TotallyLess(x, y);
    }));
    for (int64_t i = 0; i < k; ++i) {
      const int64_t chosen = order[static_cast<size_t>(i)];
      std::memcpy(out.data() + (line * k + i) * bytes, from + chosen * bytes,
                  static_cast<size_t>(bytes));
      StoreFrom<int64_t>(indices.element_type(), &chosen,
                         where.data() + (line * k + i) * index_bytes, 1);
    }
  }
  std::vector<Buffer> both;
  both.push_back(std::move(out));
  both.push_back(std::move(where));
  return Results(call, std::move(both));
}

}  // namespace hloscope::eval
