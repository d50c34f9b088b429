// Indices as sums of uniform numbers and lanes.
#include "core/codegen/emit/index.h"

#include <algorithm>
#include <numeric>

namespace hloscope::codegen {

using llvm::Value;

bool Contains(std::span<const int64_t> list, size_t d) {
  return std::ranges::find(list, static_cast<int64_t>(d)) != list.end();
}

int64_t ProductOf(std::span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

namespace {

// The remainder of a division that is rounded down. By 0 it is the number.
int64_t Modulo(int64_t value, int64_t divisor) {
  return divisor == 0 ? value : (value % divisor + divisor) % divisor;
}

int64_t RoundedDown(int64_t value, int64_t divisor) {
  return (value - Modulo(value, divisor)) / divisor;
}

}  // namespace

bool Index::is_uniform() const {
  return mask == nullptr &&
         std::ranges::all_of(groups, [](const IndexGroup& g) { return g.number.is_uniform(); });
}

int64_t LaneNumber::AddedIn(int lane) const {
  if (pattern == nullptr) return step * lane;
  const auto* number = pattern->getAggregateElement(static_cast<unsigned>(lane));
  return llvm::cast<llvm::ConstantInt>(number)->getSExtValue();
}

LaneNumber IndexMath::Constant(int64_t value) const {
  return {b_.getInt64(static_cast<uint64_t>(value)), 0, nullptr, 0, value};
}

LaneNumber IndexMath::WithPattern(LaneNumber base,
                                  const std::function<int64_t(int lane)>& of_lane) {
  std::vector<llvm::Constant*> numbers;
  const int64_t first = of_lane(0);
  if (first != 0) base = AddConstant({base.base, 0, nullptr, base.multiple, base.rest}, first);
  base.step = width_ > 1 ? of_lane(1) - first : 0;
  bool is_even = true;
  for (int lane = 0; lane < width_; ++lane) {
    const int64_t number = of_lane(lane) - first;
    is_even &= number == lane * base.step;
    numbers.push_back(b_.getInt64(static_cast<uint64_t>(number)));
  }
  base.pattern = nullptr;
  if (is_even) return base;
  base.step = 0;
  base.pattern = llvm::ConstantVector::get(numbers);
  return base;
}

Value* IndexMath::Added(const LaneNumber& a) {
  std::vector<llvm::Constant*> numbers;
  for (int lane = 0; lane < width_; ++lane) {
    numbers.push_back(llvm::ConstantInt::getSigned(b_.getIntNTy(static_cast<unsigned>(lane_bits_)),
                                                   a.AddedIn(lane)));
  }
  return llvm::ConstantVector::get(numbers);
}

LaneNumber IndexMath::TakeLast(llvm::Value*& rest, int64_t size) {
  llvm::Value* divisor = b_.getInt64(static_cast<uint64_t>(size));
  const LaneNumber last = FromScalar(b_.CreateURem(rest, divisor));
  rest = b_.CreateUDiv(rest, divisor);
  return last;
}

Value* IndexMath::Vector(const LaneNumber& a) {
  if (a.lanes != nullptr) return a.lanes;
  Value* base = b_.CreateTrunc(a.base, b_.getIntNTy(static_cast<unsigned>(lane_bits_)));
  if (width_ == 1) return base;
  Value* splat = b_.CreateVectorSplat(static_cast<unsigned>(width_), base);
  return a.is_uniform() ? splat : b_.CreateAdd(splat, Added(a));
}

LaneNumber IndexMath::Add(const LaneNumber& a, const LaneNumber& b) {
  if (a.lanes != nullptr || b.lanes != nullptr) {
    return FromVector(b_.CreateAdd(Vector(a), Vector(b)));
  }
  const int64_t multiple = std::gcd(a.multiple, b.multiple);
  LaneNumber sum{b_.CreateAdd(a.base, b.base), a.step + b.step, nullptr, multiple,
                 Modulo(a.rest + b.rest, multiple)};
  if (a.pattern == nullptr && b.pattern == nullptr) return sum;
  return WithPattern(sum, [&](int lane) { return a.AddedIn(lane) + b.AddedIn(lane); });
}

LaneNumber IndexMath::Multiply(const LaneNumber& a, int64_t factor) {
  if (factor == 1) return a;
  if (factor == 0) return Constant(0);
  if (a.lanes != nullptr) {
    Value* by = llvm::ConstantInt::getSigned(a.lanes->getType(), factor);
    return FromVector(b_.CreateMul(a.lanes, by));
  }
  // Where the numbers are too large, nothing is known.
  constexpr int64_t kTooLarge = int64_t{1} << 60;
  int64_t multiple = 0, rest = 0;
  if (__builtin_mul_overflow(a.multiple, std::abs(factor), &multiple) || multiple > kTooLarge ||
      __builtin_mul_overflow(a.rest, factor, &rest)) {
    multiple = 1;
    rest = 0;
  }
  const LaneNumber product{b_.CreateMul(a.base, b_.getInt64(static_cast<uint64_t>(factor))),
                           a.step * factor, nullptr, multiple, Modulo(rest, multiple)};
  if (a.pattern == nullptr) return product;
  return WithPattern(product, [&](int lane) { return a.AddedIn(lane) * factor; });
}

LaneNumber IndexMath::AtMost(const LaneNumber& a, int64_t most) {
  const LaneNumber limit = Constant(most);
  if (a.is_uniform()) {
    return FromScalar(b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, a.base, limit.base));
  }
  return FromVector(b_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, Vector(a), Vector(limit)));
}

Value* IndexMath::IsBelow(const LaneNumber& a, int64_t end) {
  const LaneNumber limit = Constant(end);
  if (a.is_uniform()) return b_.CreateICmpULT(a.base, limit.base);
  return b_.CreateICmpULT(Vector(a), Vector(limit));
}

std::pair<LaneNumber, LaneNumber> IndexMath::Divide(const LaneNumber& a, int64_t divisor) {
  if (divisor == 1) return {a, Constant(0)};
  if (a.lanes == nullptr) {
    const int64_t common = std::gcd(a.multiple, divisor), rest = Modulo(a.rest, common);
    Value* by = b_.getInt64(static_cast<uint64_t>(divisor));
    bool stays = true;  // all lanes lie in one multiple of `common`
    for (int lane = 0; lane < width_; ++lane) {
      const int64_t number = rest + a.AddedIn(lane);
      stays &= number >= 0 && number < common;
    }
    if (stays) {
      LaneNumber quotient{b_.CreateUDiv(a.base, by)}, remainder = a;
      if (common == divisor) {
        quotient.multiple = a.multiple / divisor;
        quotient.rest = RoundedDown(a.rest, divisor);
      }
      remainder.base = b_.CreateURem(a.base, by);
      remainder.multiple = common;
      remainder.rest = rest;
      return {quotient, remainder};
    }
    if (common == divisor) {
      Value* first = b_.CreateSub(a.base, b_.getInt64(static_cast<uint64_t>(rest)));
      LaneNumber quotient{b_.CreateExactSDiv(first, by)};
      quotient.multiple = a.multiple / divisor;
      quotient.rest = RoundedDown(a.rest, divisor);
      const auto number = [&](int lane) { return rest + a.AddedIn(lane); };
      return {WithPattern(quotient, [&](int lane) { return RoundedDown(number(lane), divisor); }),
              WithPattern(Constant(0), [&](int lane) { return Modulo(number(lane), divisor); })};
    }
  }
  Value* lanes = Vector(a);
  Value* by = llvm::ConstantInt::getSigned(lanes->getType(), divisor);
  return {FromVector(b_.CreateUDiv(lanes, by)), FromVector(b_.CreateURem(lanes, by))};
}

void IndexMath::CutAt(Index& index, std::span<const int64_t> sizes, size_t at) {
  size_t first = 0;
  for (size_t g = 0; g < index.groups.size(); ++g) {
    const size_t end = first + index.groups[g].count;
    if (at > first && at < end) {
      const int64_t left = ProductOf(sizes.subspan(first, at - first));
      const int64_t right = ProductOf(sizes.subspan(at, end - at));
      const LaneNumber whole = index.groups[g].number;
      auto [major, minor] = left == 1 ? std::pair(Constant(0), whole) : Divide(whole, right);
      index.groups[g] = {at - first, major};
      index.groups.insert(index.groups.begin() + static_cast<ptrdiff_t>(g) + 1, {end - at, minor});
      return;
    }
    first = end;
  }
}

LaneNumber& IndexMath::Of(Index& index, std::span<const int64_t> sizes, size_t d) {
  CutAt(index, sizes, d);
  CutAt(index, sizes, d + 1);
  size_t first = 0, g = 0;
  while (first < d) first += index.groups[g++].count;
  return index.groups[g].number;
}

LaneNumber IndexMath::Offset(const Index& index, std::span<const int64_t> sizes) {
  LaneNumber sum = Constant(0);
  size_t first = 0;
  for (const IndexGroup& group : index.groups) {
    first += group.count;
    sum = Add(sum, Multiply(group.number, ProductOf(sizes.subspan(first))));
  }
  return sum;
}

Index IndexMath::Select(Index index, std::span<const int64_t> sizes,
                        std::span<const int64_t> from) {
  std::vector<int64_t> follower(sizes.size(), -1);  // the operand's dimension by the result's
  for (size_t j = 0; j < from.size(); ++j) {
    follower[static_cast<size_t>(from[j])] = static_cast<int64_t>(j);
  }
  for (size_t d = 1; d < sizes.size(); ++d) {
    const bool both_absent = follower[d] < 0 && follower[d - 1] < 0;
    const bool in_order =
        follower[d] >= 0 && follower[d - 1] >= 0 && follower[d] == follower[d - 1] + 1;
    if (!both_absent && !in_order) CutAt(index, sizes, d);
  }
  std::vector<const IndexGroup*> at(sizes.size(), nullptr);  // by the group's first dimension
  size_t first = 0;
  for (const IndexGroup& group : index.groups) {
    at[first] = &group;
    first += group.count;
  }
  Index out;
  out.mask = index.mask;
  for (size_t j = 0; j < from.size(); j += out.groups.back().count) {
    out.groups.push_back(*at[static_cast<size_t>(from[j])]);
  }
  return out;
}

Index IndexMath::Reshape(Index index, std::span<const int64_t> sizes, std::span<const int64_t> to) {
  Index out;
  out.mask = index.mask;
  size_t g = 0, i = 0, j = 0;
  // Each round takes the fewest dimensions of both sides that make up as many elements and no part
  // of a group.
  while (i < sizes.size() || j < to.size()) {
    int64_t left = 1, right = 1;
    LaneNumber number = Constant(0);
    const size_t first = j;
    bool took = false;
    while (!took || left != right || (i == sizes.size() && j < to.size())) {
      took = true;
      if (i < sizes.size() && (left <= right || j == to.size())) {
        const IndexGroup& group = index.groups[g++];
        const int64_t size = ProductOf(sizes.subspan(i, group.count));
        number = left == 1 ? group.number : Add(Multiply(number, size), group.number);
        left *= size;
        i += group.count;
      } else {
        right *= to[j++];
      }
    }
    if (j > first) out.groups.push_back({j - first, number});
  }
  return out;
}

}  // namespace hloscope::codegen
