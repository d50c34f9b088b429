// TreeReducer: the pairwise tree over rows (elements side by side) and columns (whole rows at
// once).
#include "core/eval/tree_reducer.h"

#include <algorithm>
#include <cstring>

namespace hloscope::eval {
namespace {

constexpr int64_t kLanes = LaneFunction::kLanes;
constexpr int64_t kRowBlock = 2 * kLanes;  // a power of two: blocks are whole subtrees

// Splits `pairs` pairs of neighbours into the left and the right ones.
template <typename T>
void SplitPairs(const std::byte* in, std::byte* left, std::byte* right, int64_t pairs) {
  const T* from = reinterpret_cast<const T*>(in);
  for (int64_t i = 0; i < pairs; ++i) {
    reinterpret_cast<T*>(left)[i] = from[2 * i];
    reinterpret_cast<T*>(right)[i] = from[2 * i + 1];
  }
}

void SplitPairs(int size, const std::byte* in, std::byte* left, std::byte* right, int64_t pairs) {
  switch (size) {
    case 1:
      return SplitPairs<uint8_t>(in, left, right, pairs);
    case 2:
      return SplitPairs<uint16_t>(in, left, right, pairs);
    case 4:
      return SplitPairs<uint32_t>(in, left, right, pairs);
    case 8:
      return SplitPairs<uint64_t>(in, left, right, pairs);
    default:
      return SplitPairs<unsigned __int128>(in, left, right, pairs);
  }
}

}  // namespace

TreeReducer::TreeReducer(LaneFunction& reducer, std::vector<const std::byte*> init)
    : reducer_(reducer), associative_(reducer.IsAssociative()) {
  for (size_t i = 0; i < init.size(); ++i) {
    sizes_.push_back(hlo::StorageBytes(reducer.result_types()[i]));
  }
  operands_.resize(2 * init.size());
  init_ = Scratch(0);
  for (size_t i = 0; i < init.size(); ++i) {
    const auto size = static_cast<size_t>(sizes_[i]);
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      std::memcpy(init_[i] + static_cast<size_t>(lane) * size, init[i], size);
    }
  }
}

TreeReducer::Group& TreeReducer::Scratch(size_t i) {
  while (scratch_.size() <= i) {
    Group group;
    for (int size : sizes_) {
      storage_.push_back(std::make_unique<std::byte[]>(static_cast<size_t>(kLanes * size)));
      group.push_back(storage_.back().get());
    }
    scratch_.push_back(std::move(group));
  }
  return scratch_[i];
}

Status TreeReducer::Combine(const Group& left, const Group& right, std::span<std::byte* const> out,
                            int64_t lanes) {
  std::copy(left.begin(), left.end(), operands_.begin());
  std::copy(right.begin(), right.end(), operands_.begin() + static_cast<ptrdiff_t>(arity()));
  return reducer_.Run(operands_, out, lanes);
}

Status TreeReducer::CombineInit(std::span<const std::byte* const> in,
                                std::span<std::byte* const> out, int64_t lanes) {
  std::copy(init_.begin(), init_.end(), operands_.begin());
  std::copy(in.begin(), in.end(), operands_.begin() + static_cast<ptrdiff_t>(arity()));
  return reducer_.Run(operands_, out, lanes);
}

// The tree of at most kRowBlock elements; no initial value.
Status TreeReducer::FoldBlock(std::span<const std::byte* const> in, int64_t count,
                              std::span<std::byte* const> out) {
  std::vector<const std::byte*> from(in.begin(), in.end());
  const Group left = Scratch(1), right = Scratch(2), results[] = {Scratch(3), Scratch(4)};
  for (int level = 0; count > 1; ++level) {
    const int64_t pairs = count / 2;
    const Group& result = results[level % 2];
    for (size_t i = 0; i < arity(); ++i) SplitPairs(sizes_[i], from[i], left[i], right[i], pairs);
    HLOSCOPE_TRY(Combine(left, right, result, pairs));
    for (size_t i = 0; i < arity(); ++i) {
      const auto size = static_cast<size_t>(sizes_[i]);
      if (count % 2 != 0) {
        std::memcpy(result[i] + static_cast<size_t>(pairs) * size,
                    from[i] + static_cast<size_t>(count - 1) * size, size);
      }
      from[i] = result[i];
    }
    count = pairs + count % 2;
  }
  for (size_t i = 0; i < arity(); ++i) {
    std::memcpy(out[i], from[i], static_cast<size_t>(sizes_[i]));
  }
  return {};
}

Status TreeReducer::FoldRow(std::span<const std::byte* const> in, int64_t count,
                            std::span<std::byte* const> out) {
  if (count == 0) {
    CopyOut(std::vector<const std::byte*>(init_.begin(), init_.end()), 1, out);
    return {};
  }
  if (!associative_) {
    std::vector<const std::byte*> rows;
    for (int64_t r = 0; r < count; ++r) {
      for (size_t i = 0; i < arity(); ++i) rows.push_back(in[i] + r * sizes_[i]);
    }
    return FoldLeft(rows, 1, out);
  }
  std::vector<std::vector<std::byte>> partial(arity());
  std::vector<const std::byte*> from(in.begin(), in.end());
  while (count > kRowBlock) {
    const int64_t blocks = (count + kRowBlock - 1) / kRowBlock;
    std::vector<std::vector<std::byte>> next(arity());
    for (size_t i = 0; i < arity(); ++i) next[i].resize(static_cast<size_t>(blocks * sizes_[i]));
    for (int64_t b = 0; b < blocks; ++b) {
      std::vector<const std::byte*> block(arity());
      Group to(arity());
      for (size_t i = 0; i < arity(); ++i) {
        block[i] = from[i] + b * kRowBlock * sizes_[i];
        to[i] = next[i].data() + b * sizes_[i];
      }
      HLOSCOPE_TRY(FoldBlock(block, std::min(kRowBlock, count - b * kRowBlock), to));
    }
    partial = std::move(next);
    for (size_t i = 0; i < arity(); ++i) from[i] = partial[i].data();
    count = blocks;
  }
  const Group total = Scratch(5);
  HLOSCOPE_TRY(FoldBlock(from, count, total));
  return CombineInit(std::vector<const std::byte*>(total.begin(), total.end()), out, 1);
}

void TreeReducer::CopyOut(std::span<const std::byte* const> from, int64_t lanes,
                          std::span<std::byte* const> out) const {
  for (size_t i = 0; i < arity(); ++i) {
    std::memcpy(out[i], from[i], static_cast<size_t>(lanes * sizes_[i]));
  }
}

Status TreeReducer::FoldColumns(std::span<const std::byte* const> rows, int64_t lanes,
                                std::span<std::byte* const> out) {
  if (rows.empty()) {
    CopyOut(std::vector<const std::byte*>(init_.begin(), init_.end()), lanes, out);
    return {};
  }
  return associative_ ? FoldPairwise(rows, lanes, out) : FoldLeft(rows, lanes, out);
}

Status TreeReducer::FoldLeft(std::span<const std::byte* const> rows, int64_t lanes,
                             std::span<std::byte* const> out) {
  const Group places[] = {Scratch(6), Scratch(7)};
  const Group* total = &init_;
  for (size_t r = 0; r < rows.size() / arity(); ++r) {
    const Group& next = places[r % 2];
    std::copy(total->begin(), total->end(), operands_.begin());
    std::copy_n(rows.begin() + static_cast<ptrdiff_t>(r * arity()), arity(),
                operands_.begin() + static_cast<ptrdiff_t>(arity()));
    HLOSCOPE_TRY(reducer_.Run(operands_, next, lanes));
    total = &next;
  }
  CopyOut(std::vector<const std::byte*>(total->begin(), total->end()), lanes, out);
  return {};
}

Status TreeReducer::FoldPairwise(std::span<const std::byte* const> rows, int64_t lanes,
                                 std::span<std::byte* const> out) {
  std::vector<Entry> stack;
  for (size_t r = 0; r < rows.size() / arity(); ++r) {
    HLOSCOPE_TRY(Push(stack, rows.subspan(r * arity(), arity()), lanes));
  }
  while (stack.size() >= 2) HLOSCOPE_TRY(CombineTop(stack, lanes));
  return CombineInit(stack[0].at, out, lanes);
}

Status TreeReducer::Push(std::vector<Entry>& stack, std::span<const std::byte* const> row,
                         int64_t lanes) {
  stack.push_back({{row.begin(), row.end()}, 0});
  while (stack.size() >= 2 && stack[stack.size() - 2].level == stack.back().level) {
    HLOSCOPE_TRY(CombineTop(stack, lanes));
  }
  return {};
}

Status TreeReducer::CombineTop(std::vector<Entry>& stack, int64_t lanes) {
  const Entry right = std::move(stack.back());
  stack.pop_back();
  Entry& left = stack.back();
  const size_t level = std::max(left.level, right.level) + 1;
  // The place of this height that the entry below does not use.
  const bool second = stack.size() >= 2 && stack[stack.size() - 2].level == level;
  const Group place = Scratch(8 + 2 * level + (second ? 1 : 0));
  std::copy(left.at.begin(), left.at.end(), operands_.begin());
  std::copy(right.at.begin(), right.at.end(), operands_.begin() + static_cast<ptrdiff_t>(arity()));
  HLOSCOPE_TRY(reducer_.Run(operands_, place, lanes));
  left = {{place.begin(), place.end()}, level};
  return {};
}

Status TreeReducer::FoldPrefixes(std::span<const std::byte* const> rows, int64_t lanes,
                                 std::span<std::byte* const> out) {
  const size_t k = arity(), count = rows.size() / k;
  const Group places[] = {Scratch(6), Scratch(7)};
  std::vector<Entry> stack;
  std::vector<const std::byte*> total(init_.begin(), init_.end());
  for (size_t r = 0; r < count; ++r) {
    const auto row = rows.subspan(r * k, k);
    const auto to = out.subspan(r * k, k);
    if (!associative_) {
      std::copy(total.begin(), total.end(), operands_.begin());
      std::copy(row.begin(), row.end(), operands_.begin() + static_cast<ptrdiff_t>(k));
      HLOSCOPE_TRY(reducer_.Run(operands_, to, lanes));
      total.assign(to.begin(), to.end());
      continue;
    }
    HLOSCOPE_TRY(Push(stack, row, lanes));
    total = stack.back().at;
    for (size_t below = stack.size() - 1; below-- > 0;) {
      const Group& place = places[below % 2];
      std::copy(stack[below].at.begin(), stack[below].at.end(), operands_.begin());
      std::copy(total.begin(), total.end(), operands_.begin() + static_cast<ptrdiff_t>(k));
      HLOSCOPE_TRY(reducer_.Run(operands_, place, lanes));
      total.assign(place.begin(), place.end());
    }
    HLOSCOPE_TRY(CombineInit(total, to, lanes));
  }
  return {};
}

}  // namespace hloscope::eval
