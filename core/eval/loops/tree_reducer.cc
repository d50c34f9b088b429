// TreeReducer: the pairwise tree over rows (elements side by side) and columns (whole rows at
// once).
#include "core/eval/loops/tree_reducer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace hloscope::eval {
namespace {

constexpr int64_t kLanes = VectorizedComputation::kLanes;
constexpr size_t kFewArrays = 4;
constexpr int64_t kShortRow = 16;  // lanes; longer ones are copied by memcpy

// Splits `pairs` pairs of neighbouring rows into the left and the right ones.
template <typename T>
void SplitPairs(const std::byte* in, int64_t lanes, int64_t pairs, std::byte* left,
                std::byte* right) {
  const T* from = reinterpret_cast<const T*>(in);
  T* to_left = reinterpret_cast<T*>(left);
  T* to_right = reinterpret_cast<T*>(right);
  if (lanes == 1) {
    for (int64_t i = 0; i < pairs; ++i) {
      to_left[i] = from[2 * i];
      to_right[i] = from[2 * i + 1];
    }
    return;
  }
  for (int64_t i = 0; i < pairs; ++i) {
    if (lanes >= kShortRow) {
      const size_t bytes = static_cast<size_t>(lanes) * sizeof(T);
      std::memcpy(to_left + i * lanes, from + 2 * i * lanes, bytes);
      std::memcpy(to_right + i * lanes, from + (2 * i + 1) * lanes, bytes);
      continue;
    }
    for (int64_t k = 0; k < lanes; ++k) {
      to_left[i * lanes + k] = from[2 * i * lanes + k];
      to_right[i * lanes + k] = from[(2 * i + 1) * lanes + k];
    }
  }
}

void SplitPairs(int size, const std::byte* in, int64_t lanes, int64_t pairs, std::byte* left,
                std::byte* right) {
  switch (size) {
    case 1:
      return SplitPairs<uint8_t>(in, lanes, pairs, left, right);
    case 2:
      return SplitPairs<uint16_t>(in, lanes, pairs, left, right);
    case 4:
      return SplitPairs<uint32_t>(in, lanes, pairs, left, right);
    case 8:
      return SplitPairs<uint64_t>(in, lanes, pairs, left, right);
    default:
      return SplitPairs<unsigned __int128>(in, lanes, pairs, left, right);
  }
}

// Rows that fit into the scratch, a power of two: blocks of so many are whole subtrees.
int64_t RowsInBlock(int64_t lanes) {
  return std::max<int64_t>(
      1, static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(2 * kLanes / lanes))));
}

}  // namespace

TreeReducer::TreeReducer(VectorizedComputation& reducer, std::span<const std::byte* const> init)
    : reducer_(reducer) {
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

// The tree of at most RowsInBlock(lanes) rows; no initial value.
Status TreeReducer::FoldBlock(std::span<const std::byte* const> in, int64_t count, int64_t lanes,
                              std::span<std::byte* const> out) {
  Scratch(4);  // before references are taken
  const Group &left = Scratch(1), &right = Scratch(2);
  std::array<const std::byte*, kFewArrays> few = {};
  std::vector<const std::byte*> many(arity() > kFewArrays ? arity() : 0);
  const auto from = many.empty() ? std::span(few).first(arity()) : std::span(many);
  std::copy(in.begin(), in.end(), from.begin());
  for (size_t level = 0; count > 1; ++level) {
    const int64_t pairs = count / 2;
    const Group& result = Scratch(3 + level % 2);
    for (size_t i = 0; i < arity(); ++i) {
      SplitPairs(sizes_[i], from[i], lanes, pairs, left[i], right[i]);
    }
    HLOSCOPE_TRY(Combine(left, right, result, pairs * lanes));
    for (size_t i = 0; i < arity(); ++i) {
      const auto size = static_cast<size_t>(sizes_[i] * lanes);
      if (count % 2 != 0) {
        std::memcpy(result[i] + static_cast<size_t>(pairs) * size,
                    from[i] + static_cast<size_t>(count - 1) * size, size);
      }
      from[i] = result[i];
    }
    count = pairs + count % 2;
  }
  CopyOut(from, lanes, out);
  return {};
}

Status TreeReducer::FoldTree(std::span<const std::byte* const> in, int64_t count, int64_t lanes,
                             std::span<std::byte* const> out) {
  const int64_t block_rows = RowsInBlock(lanes);
  if (count <= block_rows) return FoldBlock(in, count, lanes, out);
  std::vector<std::vector<std::byte>> partial(arity());
  std::vector<const std::byte*> from(in.begin(), in.end()), block(arity());
  Group to(arity());
  while (count > block_rows) {
    const int64_t blocks = (count - 1) / block_rows + 1;
    std::vector<std::vector<std::byte>> next(arity());
    for (size_t i = 0; i < arity(); ++i) {
      next[i].resize(static_cast<size_t>(blocks * lanes * sizes_[i]));
    }
    for (int64_t b = 0; b < blocks; ++b) {
      for (size_t i = 0; i < arity(); ++i) {
        block[i] = from[i] + b * block_rows * lanes * sizes_[i];
        to[i] = next[i].data() + b * lanes * sizes_[i];
      }
      HLOSCOPE_TRY(FoldBlock(block, std::min(block_rows, count - b * block_rows), lanes, to));
    }
    partial = std::move(next);
    for (size_t i = 0; i < arity(); ++i) from[i] = partial[i].data();
    count = blocks;
  }
  return FoldBlock(from, count, lanes, out);
}

Status TreeReducer::FoldDense(std::span<const std::byte* const> in, int64_t count, int64_t lanes,
                              std::span<std::byte* const> out) {
  if (count == 0) {
    CopyInit(lanes, out);
    return {};
  }
  if (!is_associative()) {
    std::vector<const std::byte*> rows;
    for (int64_t r = 0; r < count; ++r) {
      for (size_t i = 0; i < arity(); ++i) rows.push_back(in[i] + r * lanes * sizes_[i]);
    }
    return FoldLeft(rows, lanes, out);
  }
  const Group total = Scratch(5);
  HLOSCOPE_TRY(FoldTree(in, count, lanes, total));
  return CombineInit(std::vector<const std::byte*>(total.begin(), total.end()), out, lanes);
}

void TreeReducer::CopyInit(int64_t lanes, std::span<std::byte* const> out) const {
  for (size_t i = 0; i < arity(); ++i) {
    std::memcpy(out[i], init_[i], static_cast<size_t>(lanes * sizes_[i]));
  }
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
    CopyInit(lanes, out);
    return {};
  }
  if (!is_associative()) return FoldLeft(rows, lanes, out);
  HLOSCOPE_ASSIGN_OR_RETURN(const Entry all, FoldPairwise(rows, lanes));
  return CombineInit(all.at, out, lanes);
}

Status TreeReducer::FoldColumnTrees(std::span<const std::byte* const> rows, int64_t lanes,
                                    std::span<std::byte* const> out) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Entry all, FoldPairwise(rows, lanes));
  CopyOut(all.at, lanes, out);
  return {};
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

Result<TreeReducer::Entry> TreeReducer::FoldPairwise(std::span<const std::byte* const> rows,
                                                     int64_t lanes) {
  std::vector<Entry> stack;
  for (size_t r = 0; r < rows.size() / arity(); ++r) {
    HLOSCOPE_TRY(Push(stack, rows.subspan(r * arity(), arity()), lanes));
  }
  while (stack.size() >= 2) HLOSCOPE_TRY(CombineTop(stack, lanes));
  return std::move(stack[0]);
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
  std::vector<const std::byte*> total(init_.begin(), init_.end());
  for (size_t r = 0; r < count; ++r) {
    const auto row = rows.subspan(r * k, k);
    const auto to = out.subspan(r * k, k);
    std::copy(total.begin(), total.end(), operands_.begin());
    std::copy(row.begin(), row.end(), operands_.begin() + static_cast<ptrdiff_t>(k));
    HLOSCOPE_TRY(reducer_.Run(operands_, to, lanes));
    total.assign(to.begin(), to.end());
  }
  return {};
}

}  // namespace hloscope::eval
