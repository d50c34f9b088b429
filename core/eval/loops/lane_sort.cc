// LaneSort: bottom-up merge sort. Each pass cuts its output into pieces that do not depend on one
// another, each of which is a merge of two short segments; kLanes of them advance in step, one
// element at a time, so that the comparator runs on kLanes pairs. Short lines are sorted by
// insertion, kLanes of them in step.
#include "core/eval/loops/lane_sort.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/eval/machine/strided_copy.h"
#include "core/eval/numbers/vector_units.h"

namespace hloscope::eval {
namespace {

constexpr int64_t kLanes = VectorizedComputation::kLanes;
constexpr int64_t kPiece = 256;      // elements of a piece, a power of two
constexpr int64_t kGrain = 1 << 16;  // elements
// As in std::sort of libstdc++, which XLA:CPU uses: where a comparator is no strict weak order, so
// that there is no one result, short lines come out as they do there.
constexpr int64_t kShort = 16;

// What lanes merge: elements [left, left_end) and [right, right_end) to [out, out_end). Positions
// count from the start of the arrays.
struct Merges {
  using Positions = std::array<int64_t, kLanes>;
  Positions left = {}, left_end = {}, right = {}, right_end = {}, out = {}, out_end = {};
};

// The heads of both sides; where one is used up any element up to `last` will do, for the verdict
// is not looked at.
HLOSCOPE_WIDEST_VECTORS void FindHeads(const Merges& m, int64_t last, Merges::Positions& left,
                                       Merges::Positions& right) {
  for (size_t i = 0; i < left.size(); ++i) {
    left[i] = std::min(m.left[i], last);
    right[i] = std::min(m.right[i], last);
  }
}

// Takes one element from the side each verdict names. Without branches, since those would be
// mispredicted half of the time.
HLOSCOPE_WIDEST_VECTORS void Advance(Merges& m, const std::array<uint8_t, kLanes>& verdict,
                                     Merges::Positions& taken) {
  for (size_t i = 0; i < taken.size(); ++i) {
    const int64_t left_is_empty = m.left[i] >= m.left_end[i];
    const int64_t right_is_left = m.right[i] < m.right_end[i];
    const int64_t right_is_less = verdict[i];
    const int64_t takes_right = left_is_empty | (right_is_left & right_is_less);
    taken[i] = takes_right != 0 ? m.right[i] : m.left[i];
    m.right[i] += takes_right;
    m.left[i] += 1 - takes_right;
  }
}
// The arrays before and after a pass.
struct Pass {
  std::span<std::byte* const> from, to;
  std::span<const int> bytes;    // of an element of each
  int64_t lines, length, width;  // runs of `width` become runs of 2·width

  int64_t last() const { return lines * length - 1; }
};

// Runs the comparator on pairs of elements, up to kLanes at once.
class PairComparer {
 public:
  PairComparer(VectorizedComputation& comparator, std::span<const int> bytes)
      : comparator_(comparator), bytes_(bytes) {
    for (int size : bytes) {
      for (int side = 0; side < 2; ++side) {
        storage_.emplace_back(static_cast<size_t>(size * kLanes));
        in_.push_back(storage_.back().data());
      }
    }
  }

  // verdict()[i]: whether element first[i] of `from` comes before element second[i].
  Status Compare(std::span<std::byte* const> from, const int64_t* first, const int64_t* second,
                 int64_t count) {
    for (size_t k = 0; k < bytes_.size(); ++k) {
      WithBytes(bytes_[k], [&]<typename T>(T) {
        const T* data = reinterpret_cast<const T*>(from[k]);
        T* a = reinterpret_cast<T*>(storage_[2 * k].data());
        T* b = reinterpret_cast<T*>(storage_[2 * k + 1].data());
        for (int64_t i = 0; i < count; ++i) {
          a[i] = data[first[i]];
          b[i] = data[second[i]];
        }
      });
    }
    std::byte* const out[] = {reinterpret_cast<std::byte*>(verdict_.data())};
    return comparator_.Run(in_, out, count);
  }
  const std::array<uint8_t, kLanes>& verdict() const { return verdict_; }

 private:
  VectorizedComputation& comparator_;
  std::span<const int> bytes_;
  std::vector<std::vector<std::byte>> storage_;
  std::vector<const std::byte*> in_;
  std::array<uint8_t, kLanes> verdict_ = {};
};

// Advances the first n merges until all are done.
Status MergeLanes(const Pass& pass, PairComparer& comparer, Merges& merges, int64_t n) {
  Merges::Positions left, right, taken;
  int64_t steps = 0;
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    steps = std::max(steps, merges.out_end[i] - merges.out[i]);
  }
  for (int64_t step = 0; step < steps; ++step) {
    FindHeads(merges, pass.last(), left, right);
    HLOSCOPE_TRY(comparer.Compare(pass.from, right.data(), left.data(), n));
    Advance(merges, comparer.verdict(), taken);
    for (size_t k = 0; k < pass.bytes.size(); ++k) {
      WithBytes(pass.bytes[k], [&]<typename T>(T) {
        const T* from = reinterpret_cast<const T*>(pass.from[k]);
        T* to = reinterpret_cast<T*>(pass.to[k]);
        for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
          const int64_t at = merges.out[i] + step;
          if (at < merges.out_end[i]) to[at] = from[taken[i]];
        }
      });
    }
  }
  return {};
}

// The pieces of a pass. Runs of a line are merged in pairs; a pair longer than kPiece is cut into
// pieces of kPiece outputs.
class Pieces {
 public:
  explicit Pieces(const Pass& pass)
      : pass_(pass),
        size_(std::min(2 * pass.width, kPiece)),
        per_line_((pass.length - 1) / size_ + 1) {}

  int64_t count() const { return pass_.lines * per_line_; }
  int64_t in_range() const { return kGrain / size_; }

  // Finds where pieces [begin, end) start in their left runs: how many of the first outputs of the
  // pair come from there.
  Status FindSplits(PairComparer& comparer, IndexRange range) {
    for (int64_t begin = range.begin; begin < range.end; begin += kLanes) {
      HLOSCOPE_TRY(Bisect(comparer, {begin, std::min(range.end, begin + kLanes)}));
    }
    return {};
  }
  // Makes neighbouring splits fit each other where the comparator contradicts itself.
  void MendSplits() {
    for (int64_t p = 1; p < count(); ++p) {
      if (OutOf(p) == 0) continue;
      int64_t& split = splits_[static_cast<size_t>(p)];
      const int64_t before = splits_[static_cast<size_t>(p - 1)];
      split = std::clamp(split, before, before + size_);
    }
  }

  Status MergeRange(PairComparer& comparer, IndexRange range) const {
    Merges merges;
    for (int64_t begin = range.begin; begin < range.end; begin += kLanes) {
      const int64_t n = std::min(kLanes, range.end - begin);
      for (int64_t i = 0; i < n; ++i) SetMerge(begin + i, static_cast<size_t>(i), merges);
      HLOSCOPE_TRY(MergeLanes(pass_, comparer, merges, n));
    }
    return {};
  }

  bool are_whole_pairs() const { return size_ == 2 * pass_.width; }
  void MakeRoom() { splits_.assign(static_cast<size_t>(count()), 0); }

 private:
  struct Pair {
    int64_t begin, middle, end;  // positions in the arrays
  };
  Pair PairOf(int64_t p) const {
    const int64_t line = p / per_line_ * pass_.length;
    const int64_t first = p % per_line_ * size_ / (2 * pass_.width) * (2 * pass_.width);
    return {line + first, line + std::min(first + pass_.width, pass_.length),
            line + std::min(first + 2 * pass_.width, pass_.length)};
  }
  // How many outputs of its pair come before piece p.
  int64_t OutOf(int64_t p) const { return p % per_line_ * size_ % (2 * pass_.width); }

  int64_t SplitOf(int64_t p) const {
    return are_whole_pairs() || OutOf(p) == 0 ? 0 : splits_[static_cast<size_t>(p)];
  }

  void SetMerge(int64_t p, size_t lane, Merges& merges) const {
    const Pair pair = PairOf(p);
    const int64_t out = OutOf(p), left = SplitOf(p);
    const int64_t out_end = std::min(out + size_, pair.end - pair.begin);
    const bool is_last = pair.begin + out_end == pair.end;
    const int64_t left_end = is_last ? pair.middle - pair.begin : SplitOf(p + 1);
    merges.left[lane] = pair.begin + left;
    merges.left_end[lane] = pair.begin + left_end;
    merges.right[lane] = pair.middle + (out - left);
    merges.right_end[lane] = pair.middle + (out_end - left_end);
    merges.out[lane] = pair.begin + out;
    merges.out_end[lane] = pair.begin + out_end;
  }

  // The splits of up to kLanes pieces, by bisection in step.
  Status Bisect(PairComparer& comparer, IndexRange range) {
    std::array<int64_t, kLanes> low = {}, high = {}, left = {}, right = {};
    const auto n = static_cast<size_t>(range.end - range.begin);
    std::array<Pair, kLanes> pairs;
    for (size_t i = 0; i < n; ++i) {
      const int64_t p = range.begin + static_cast<int64_t>(i), out = OutOf(p);
      pairs[i] = PairOf(p);
      low[i] = std::max<int64_t>(0, out - (pairs[i].end - pairs[i].middle));
      high[i] = std::min(out, pairs[i].middle - pairs[i].begin);
    }
    for (bool open = true; open;) {
      open = false;
      for (size_t i = 0; i < n; ++i) {
        const int64_t middle = (low[i] + high[i]) / 2;
        const int64_t out = OutOf(range.begin + static_cast<int64_t>(i));
        open |= low[i] < high[i];
        left[i] = std::min(pairs[i].begin + middle, pass_.last());
        right[i] = std::clamp<int64_t>(pairs[i].middle + out - 1 - middle, 0, pass_.last());
      }
      if (!open) break;
      HLOSCOPE_TRY(
          comparer.Compare(pass_.from, right.data(), left.data(), static_cast<int64_t>(n)));
      for (size_t i = 0; i < n; ++i) {
        if (low[i] >= high[i]) continue;
        const int64_t middle = (low[i] + high[i]) / 2;
        (comparer.verdict()[i] != 0 ? high[i] : low[i]) =
            comparer.verdict()[i] != 0 ? middle : middle + 1;
      }
    }
    std::copy_n(low.begin(), n, splits_.begin() + range.begin);
    return {};
  }

  const Pass& pass_;
  int64_t size_, per_line_;
  std::vector<int64_t> splits_;
};

Status RunPass(VectorizedComputation& comparator, const Pass& pass) {
  Pieces pieces(pass);
  if (!pieces.are_whole_pairs()) {
    pieces.MakeRoom();
    HLOSCOPE_TRY(comparator.ForRanges(pieces.count(), pieces.in_range(),
                                      [&](VectorizedComputation& own, IndexRange range) {
                                        PairComparer comparer(own, pass.bytes);
                                        return pieces.FindSplits(comparer, range);
                                      }));
    pieces.MendSplits();
  }
  return comparator.ForRanges(pieces.count(), pieces.in_range(),
                              [&](VectorizedComputation& own, IndexRange range) {
                                PairComparer comparer(own, pass.bytes);
                                return pieces.MergeRange(comparer, range);
                              });
}

// A short line being sorted: elements are inserted among those before them, a new first one at
// once.
class Insertion {
 public:
  Insertion(int64_t begin, int64_t length) : length_(static_cast<size_t>(length)) {
    for (size_t i = 0; i < length_; ++i) order_[i] = begin + static_cast<int64_t>(i);
  }
  bool done() const { return next_ >= length_; }
  // The positions compared next; then what follows from the verdict.
  int64_t first() const { return order_[at_]; }
  int64_t second() const { return at_front_ ? order_[0] : order_[at_ - 1]; }
  void Apply(bool less) {
    if (at_front_ && !less) {
      at_front_ = false;
      return;
    }
    if (at_front_) {
      std::rotate(order_.data(), order_.data() + next_, order_.data() + next_ + 1);
    } else if (less) {
      std::swap(order_[at_ - 1], order_[at_]);
      if (--at_ > 0) return;
    }
    at_ = ++next_;
    at_front_ = true;
  }
  int64_t operator[](size_t i) const { return order_[i]; }

 private:
  std::array<int64_t, kShort> order_ = {};
  size_t length_, next_ = 1, at_ = 1;
  bool at_front_ = true;  // the one to insert is compared with the first of all
};

// Sorts lines [range) of `pass.from` into `pass.to`.
Status InsertLines(const Pass& pass, PairComparer& comparer, IndexRange range) {
  std::vector<Insertion> lines;
  for (int64_t line = range.begin; line < range.end; ++line) {
    lines.emplace_back(line * pass.length, pass.length);
  }
  std::array<int64_t, kLanes> first, second;
  const auto n = static_cast<int64_t>(lines.size());
  for (bool open = true; open;) {
    open = false;
    for (size_t i = 0; i < lines.size(); ++i) {
      open |= !lines[i].done();
      first[i] = lines[i].done() ? range.begin * pass.length : lines[i].first();
      second[i] = lines[i].done() ? first[i] : lines[i].second();
    }
    if (!open) break;
    HLOSCOPE_TRY(comparer.Compare(pass.from, first.data(), second.data(), n));
    for (size_t i = 0; i < lines.size(); ++i) {
      if (!lines[i].done()) lines[i].Apply(comparer.verdict()[i] != 0);
    }
  }
  for (size_t k = 0; k < pass.bytes.size(); ++k) {
    WithBytes(pass.bytes[k], [&]<typename T>(T) {
      const T* from = reinterpret_cast<const T*>(pass.from[k]);
      T* to = reinterpret_cast<T*>(pass.to[k]) + range.begin * pass.length;
      for (const Insertion& line : lines) {
        for (size_t i = 0; i < static_cast<size_t>(pass.length); ++i) *to++ = from[line[i]];
      }
    });
  }
  return {};
}

Status SortShortLines(VectorizedComputation& comparator, const Pass& pass) {
  return comparator.ForRanges(
      pass.lines, kLanes, [&](VectorizedComputation& own, IndexRange range) -> Status {
        PairComparer comparer(own, pass.bytes);
        for (int64_t begin = range.begin; begin < range.end; begin += kLanes) {
          HLOSCOPE_TRY(InsertLines(pass, comparer, {begin, std::min(range.end, begin + kLanes)}));
        }
        return {};
      });
}

}  // namespace

Status LaneSort(Machine& machine, VectorizedComputation& comparator, int64_t lines, int64_t length,
                std::span<const Buffer> arrays) {
  if (lines == 0 || length <= 1) return {};
  std::vector<int> bytes;
  std::vector<std::byte*> from, to;
  std::vector<Buffer> scratch;
  for (size_t i = 0; i < arrays.size(); ++i) {
    bytes.push_back(hlo::StorageBytes(comparator.parameter_types()[2 * i]));
    HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer,
                              machine.Allocate(static_cast<int64_t>(arrays[i].size)));
    from.push_back(arrays[i].data());
    to.push_back(buffer.data());
    scratch.push_back(std::move(buffer));
  }
  if (length <= kShort) {
    HLOSCOPE_TRY(SortShortLines(comparator, {from, to, bytes, lines, length, 0}));
    from.swap(to);
  }
  for (int64_t width = 1; width < length && length > kShort; width *= 2) {
    HLOSCOPE_TRY(RunPass(comparator, {from, to, bytes, lines, length, width}));
    from.swap(to);
  }
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (from[i] != arrays[i].data()) std::memcpy(arrays[i].data(), from[i], arrays[i].size);
  }
  return {};
}

}  // namespace hloscope::eval
