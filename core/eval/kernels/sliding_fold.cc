// SlidingFold: trees of 2^j elements that begin at every element are made from those of 2^(j-1),
// and the tree of each place is put together from one of each size that the binary digits of its
// count name. The pairwise tree of n elements is exactly that: its largest whole subtree first, and
// all combined from the right.
#include "core/eval/kernels/sliding_fold.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/eval/machine/strided_copy.h"

namespace hloscope::eval {
namespace {

constexpr int64_t kLanes = VectorizedComputation::kLanes;
constexpr int64_t kGrain = 1 << 16;  // elements
constexpr int64_t kShortWindow = 8;

// The elements that one place covers: `count` from `first` on, `window_dilation` apart.
struct Covered {
  int64_t first, count;
};

Covered CoveredBy(const WindowTaps::Dimension& d, int64_t place) {
  const int64_t step = d.window.window_dilation;
  const int64_t begin = place * d.window.stride - d.window.padding_low;
  const int64_t skipped = begin >= 0 ? 0 : (-begin - 1) / step + 1;
  const int64_t first = begin + skipped * step;
  if (first >= d.size) return {0, 0};
  const int64_t room = (d.size - 1 - first) / step + 1;
  return {first, std::max<int64_t>(0, std::min(d.window.size - skipped, room))};
}

class Slider {
 public:
  Slider(KernelCall& call, VectorizedComputation& reducer, const ReductionResults& results,
         const WindowTaps::Dimension& dimension, size_t d)
      : call_(call), reducer_(reducer), results_(results), dimension_(dimension) {
    const hlo::Shape& shape = call.operand_shape(0);
    places_ = results.shapes[0].dimension(d);
    for (size_t i = 0; i < d; ++i) outer_ *= shape.dimension(i);
    for (size_t i = d + 1; i < shape.rank(); ++i) inner_ *= shape.dimension(i);
    for (int64_t p = 0; p < places_; ++p) covered_.push_back(CoveredBy(dimension, p));
    for (const hlo::Shape& each : results.shapes) {
      bytes_.push_back(hlo::StorageBytes(each.element_type()));
    }
  }

  Status Fold() {
    const int64_t elements = outer_ * dimension_.size * inner_;
    int64_t longest = 0;
    for (const Covered& covered : covered_) longest = std::max(longest, covered.count);
    HLOSCOPE_ASSIGN_OR_RETURN(std::vector<Buffer> trees, Room(elements));
    HLOSCOPE_ASSIGN_OR_RETURN(std::vector<Buffer> next, Room(elements));
    HLOSCOPE_ASSIGN_OR_RETURN(const std::vector<Buffer> totals, Room(outer_ * places_ * inner_));
    std::vector<const std::byte*> from;
    for (size_t i = 0; i < bytes_.size(); ++i) from.push_back(call_.operands[i].data());
    for (int level = 0; longest >> level != 0; ++level) {
      HLOSCOPE_TRY(AddLevel(level, from, totals));
      if (longest >> (level + 1) == 0) break;
      HLOSCOPE_TRY(Double(from, elements, level, next));
      trees.swap(next);
      for (size_t i = 0; i < from.size(); ++i) from[i] = trees[i].data();
    }
    return Finish(totals);
  }

 private:
  Result<std::vector<Buffer>> Room(int64_t elements) {
    std::vector<Buffer> buffers;
    for (int bytes : bytes_) {
      HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call_.machine.Allocate(elements * bytes));
      buffers.push_back(std::move(buffer));
    }
    return buffers;
  }

  // Trees of 2^(level+1) elements from those of 2^level, all over the array; the ones that reach
  // beyond their line are never looked at.
  Status Double(std::span<const std::byte* const> from, int64_t elements, int level,
                std::span<const Buffer> to) {
    const int64_t shift = (inner_ * dimension_.window.window_dilation) << level;
    return reducer_.ForRanges(elements - shift, kGrain,
                              [&](VectorizedComputation& reducer, IndexRange range) -> Status {
                                std::vector<const std::byte*> in;
                                std::vector<std::byte*> out;
                                for (int64_t ahead : {int64_t{0}, shift}) {
                                  for (size_t i = 0; i < bytes_.size(); ++i) {
                                    in.push_back(from[i] + (range.begin + ahead) * bytes_[i]);
                                  }
                                }
                                for (size_t i = 0; i < bytes_.size(); ++i) {
                                  out.push_back(to[i].data() + range.begin * bytes_[i]);
                                }
                                return reducer.Run(in, out, range.end - range.begin);
                              });
  }

  // A row of `inner` elements of the trees, and the row of the totals it goes in front of.
  struct Move {
    int64_t tree, total;
  };

  // Puts the tree of 2^level elements in front of the totals of those places whose count has it.
  Status AddLevel(int level, std::span<const std::byte* const> trees,
                  std::span<const Buffer> totals) {
    const int64_t grain = std::max<int64_t>(1, kGrain / inner_);
    return reducer_.ForRanges(
        outer_ * places_, grain, [&](VectorizedComputation& reducer, IndexRange range) -> Status {
          LaneBlock block(*this, reducer, trees, totals);
          int64_t outer = range.begin / places_, place = range.begin % places_;
          for (int64_t row = range.begin; row < range.end; ++row, ++place) {
            if (place == places_) {
              place = 0;
              ++outer;
            }
            const Covered& covered = covered_[static_cast<size_t>(place)];
            if ((covered.count >> level & 1) == 0) continue;
            const int64_t before = covered.count >> (level + 1) << (level + 1);
            const int64_t at = covered.first + before * dimension_.window.window_dilation;
            const Move move{(outer * dimension_.size + at) * inner_, row * inner_};
            const bool is_first = (covered.count & ((int64_t{1} << level) - 1)) == 0;
            HLOSCOPE_TRY(is_first ? block.Copy(move) : block.Combine(move));
          }
          return block.Flush();
        });
  }

  // Gathers rows until there are lanes enough to run the reducer on.
  class LaneBlock {
   public:
    LaneBlock(const Slider& slider, VectorizedComputation& reducer,
              std::span<const std::byte* const> trees, std::span<const Buffer> totals)
        : slider_(slider), reducer_(reducer), trees_(trees), totals_(totals) {
      const size_t k = slider.bytes_.size();
      for (size_t i = 0; i < 3 * k; ++i) {
        storage_.emplace_back(static_cast<size_t>(kLanes * slider.bytes_[i % k]));
        if (i < 2 * k) {
          in_.push_back(storage_.back().data());
        } else {
          out_.push_back(storage_.back().data());
        }
      }
    }

    Status Copy(Move move) {
      for (size_t i = 0; i < trees_.size(); ++i) {
        const int bytes = slider_.bytes_[i];
        std::memcpy(totals_[i].data() + move.total * bytes, trees_[i] + move.tree * bytes,
                    static_cast<size_t>(slider_.inner_ * bytes));
      }
      return {};
    }

    Status Combine(Move move) {
      for (int64_t done = 0; done < slider_.inner_; done += kLanes) {
        const int64_t lanes = std::min(kLanes, slider_.inner_ - done);
        if (used_ + lanes > kLanes) HLOSCOPE_TRY(Flush());
        pending_.push_back({move.tree + done, move.total + done});
        used_ += lanes;
        row_ = lanes;
        if (lanes != slider_.inner_) HLOSCOPE_TRY(Flush());
      }
      return {};
    }

    Status Flush() {
      if (used_ == 0) return {};
      const size_t k = trees_.size();
      for (size_t i = 0; i < k; ++i) {
        WithBytes(slider_.bytes_[i], [&]<typename T>(T) {
          Gather<T>(trees_[i], &Move::tree, storage_[i]);
          Gather<T>(totals_[i].data(), &Move::total, storage_[k + i]);
        });
      }
      HLOSCOPE_TRY(reducer_.Run(in_, out_, used_));
      for (size_t i = 0; i < k; ++i) {
        WithBytes(slider_.bytes_[i], [&]<typename T>(T) {
          const T* from = reinterpret_cast<const T*>(out_[i]);
          T* to = totals_[i].as<T>();
          for (const Move& move : pending_) {
            for (int64_t lane = 0; lane < row_; ++lane) to[move.total + lane] = *from++;
          }
        });
      }
      pending_.clear();
      used_ = 0;
      return {};
    }

   private:
    template <typename T>
    void Gather(const std::byte* data, int64_t Move::* place, std::vector<std::byte>& lanes) {
      const T* from = reinterpret_cast<const T*>(data);
      T* to = reinterpret_cast<T*>(lanes.data());
      for (const Move& move : pending_) {
        const T* row = from + move.*place;
        for (int64_t lane = 0; lane < row_; ++lane) *to++ = row[lane];
      }
    }

    const Slider& slider_;
    VectorizedComputation& reducer_;
    std::span<const std::byte* const> trees_;
    std::span<const Buffer> totals_;
    std::vector<std::vector<std::byte>> storage_;
    std::vector<const std::byte*> in_;
    std::vector<std::byte*> out_;
    std::vector<Move> pending_;  // rows of row_ lanes each
    int64_t used_ = 0, row_ = 0;
  };

  // Combines the initial value with the totals; places that cover nothing have it alone.
  Status Finish(std::span<const Buffer> totals) {
    const auto init = InitialElements(call_);
    const int64_t grain = std::max<int64_t>(1, kGrain / inner_);
    return reducer_.ForRanges(
        outer_ * places_, grain, [&](VectorizedComputation& reducer, IndexRange range) -> Status {
          TreeReducer tree(reducer, init);
          const int64_t end = range.end * inner_;
          for (int64_t at = range.begin * inner_; at < end; at += kLanes) {
            std::vector<const std::byte*> in;
            for (size_t i = 0; i < bytes_.size(); ++i) {
              in.push_back(totals[i].data() + at * bytes_[i]);
            }
            HLOSCOPE_TRY(tree.CombineInit(in, results_.At(at), std::min(kLanes, end - at)));
          }
          for (int64_t row = range.begin; row < range.end; ++row) {
            if (covered_[static_cast<size_t>(row % places_)].count != 0) continue;
            for (int64_t done = 0; done < inner_; done += kLanes) {
              tree.CopyInit(std::min(kLanes, inner_ - done), results_.At(row * inner_ + done));
            }
          }
          return {};
        });
  }

  KernelCall& call_;
  VectorizedComputation& reducer_;
  const ReductionResults& results_;
  const WindowTaps::Dimension& dimension_;
  int64_t places_ = 0, outer_ = 1, inner_ = 1;
  std::vector<Covered> covered_;  // by each place
  std::vector<int> bytes_;
};

}  // namespace

bool SlidingPays(const WindowTaps::Dimension& dimension, int64_t places) {
  const auto longest = static_cast<uint64_t>(std::min(dimension.window.size, dimension.size));
  if (dimension.window.base_dilation != 1 || longest < kShortWindow) return false;
  const auto levels = static_cast<int64_t>(std::bit_width(longest));
  return levels * (dimension.size + places) < places * static_cast<int64_t>(longest);
}

Status FoldSliding(KernelCall& call, VectorizedComputation& reducer,
                   const ReductionResults& results, const WindowTaps::Dimension& dimension,
                   size_t d) {
  return Slider(call, reducer, results, dimension, d).Fold();
}

}  // namespace hloscope::eval
