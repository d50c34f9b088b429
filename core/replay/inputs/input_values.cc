// Drawing elements: numbers in an interval, numbers all different, index vectors, matrices.
#include "core/replay/inputs/input_values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "core/eval/numbers/random_fill.h"
#include "core/eval/numbers/wide.h"
#include "core/hlo/float_types.h"
#include "core/replay/inputs/value_ranges.h"

namespace hloscope::replay {

using eval::RandomBits;
using hlo::ElementType;
using hlo::Literal;
using hlo::Shape;

namespace {

constexpr Interval kUsual{-0.1, 0.2};
constexpr int64_t kBlock = 1024;
constexpr int64_t kBlocksBetweenLooks = 1024;
// Arrays beyond this size are drawn in blocks, neither sorted nor distinct: either takes a second,
// wider copy of all elements.
constexpr int64_t kMaxOrdered = int64_t{1} << 26;

// The part of the usual interval that is asked for, or as near to it as can be.
Interval Usual(const Interval& asked, bool nonzero) {
  const Interval both = Intersect(kUsual, asked);
  if (both.low < both.high && !(nonzero && both.high < kClear && both.low > -kClear)) return both;
  if (std::isfinite(asked.low)) return {asked.low, std::min(asked.high, asked.low + 1)};
  return {std::max(asked.low, asked.high - 1), asked.high};
}

double AwayFromZero(double value, const Interval& range) {
  if (std::abs(value) >= kClear) return value;
  const bool up = value > 0 ? range.high >= kClear : range.low > -kClear;
  return up ? kClear + std::abs(value) : -kClear - std::abs(value);
}

// Types with so few numbers that they are drawn from a list of them.
bool IsTiny(ElementType type) {
  return hlo::IsFloat(type) && (hlo::BitWidth(type) < 8 || type == ElementType::kF8E8M0FNU);
}

bool HasPatterns(ElementType type) { return hlo::FindFloatFormat(type) != nullptr; }

// The finite numbers of a narrow type in an interval, ascending, none nearer to zero than
// `smallest` but zero itself.
std::vector<double> Numbers(ElementType type, const Interval& range, bool nonzero,
                            double smallest) {
  const hlo::FloatFormat& format = *hlo::FindFloatFormat(type);
  std::vector<double> numbers;
  for (uint32_t pattern = 0; pattern < (1u << format.bits); ++pattern) {
    const auto value = static_cast<double>(hlo::DecodeFloat(format, pattern));
    if (!std::isfinite(value) || !range.Contains(value)) continue;
    if ((nonzero && value == 0) || (value != 0 && std::abs(value) < smallest)) continue;
    if (value == 0 && std::signbit(value)) continue;
    numbers.push_back(value);
  }
  std::ranges::sort(numbers);
  return numbers;
}

// Draws the numbers of one array.
class Drawer {
 public:
  Drawer(ElementType type, const InputConstraints& constraints, uint64_t stream,
         const ValueStyle& style)
      : type_(type),
        constraints_(constraints),
        random_(stream),
        style_(style),
        range_(constraints.range) {
    if (!IsTiny(type)) return;
    constexpr Interval kScales{0x1p-3, 0x1p3};
    if (type == ElementType::kF8E8M0FNU) range_ = Intersect(range_, kScales);
    tiny_ = Numbers(type, range_, constraints.nonzero, 0);
    if (tiny_.empty()) tiny_ = Numbers(type, {}, constraints.nonzero, 0);
  }

  double Float() {
    if (!tiny_.empty()) {
      return tiny_[static_cast<size_t>(random_.Next() % tiny_.size())];
    }
    if (style_.large_floats && !range_.bounded()) return Large();
    const Interval range = Usual(range_, constraints_.nonzero);
    const double value = range.low + range.Width() * random_.NextUnit();
    return constraints_.nonzero ? AwayFromZero(value, range) : value;
  }

  // The bounds of what is asked among the numbers of the type, as 64 bits.
  int64_t Integer() {
    const int bits = hlo::BitWidth(type_);
    const bool is_unsigned = hlo::IsUnsigned(type_);
    for (int tries = 0; tries < 64; ++tries) {
      int64_t value;
      if (constraints_.range == Interval()) {
        const uint64_t raw = random_.Next();
        value = is_unsigned ? static_cast<int64_t>(eval::ZeroExtend(raw, bits))
                            : eval::SignExtend(static_cast<int64_t>(raw), bits);
      } else {
        const auto [low, high] = IntegerBounds();
        value = random_.NextBetween(low, high);
      }
      if (value != 0 || !constraints_.nonzero) return value;
    }
    return 1;
  }

  // Where the interval lies between two integers, the lower of them twice.
  std::pair<int64_t, int64_t> IntegerBounds() const {
    const Interval range = Intersect(constraints_.range, RangeOfType(type_));
    const Interval sound = range.empty() ? RangeOfType(type_) : range;
    const int64_t low = Whole(std::ceil(sound.low)), high = Whole(std::floor(sound.high));
    return low <= high ? std::pair(low, high) : std::pair(high, high);
  }

  RandomBits& random() { return random_; }

 private:
  static int64_t Whole(double value) {
    constexpr double kTop = 0x1p63;
    if (value >= kTop) return std::numeric_limits<int64_t>::max();
    return value < -kTop ? std::numeric_limits<int64_t>::min() : static_cast<int64_t>(value);
  }

  // Exponents spread evenly, once in about 200,000 numbers one of the special ones.
  double Large() {
    const double specials[] = {kInfinity, -kInfinity, std::nan(""), 0.0, -0.0, 1.0};
    const hlo::FloatFormat* format = hlo::FindFloatFormat(type_);
    const int bias = format != nullptr ? format->bias : type_ == ElementType::kF64 ? 1023 : 127;
    for (int tries = 0; tries < 64; ++tries) {
      const uint64_t raw = random_.Next();
      if (raw % 1'000'003 < 6 && constraints_.range == Interval() && !constraints_.nonzero) {
        return specials[raw % 1'000'003];
      }
      const int64_t exponent = random_.NextBetween(1 - bias, bias - 1);
      const double magnitude = std::ldexp(1 + random_.NextUnit() / 2, static_cast<int>(exponent));
      const double value = (raw >> 63) != 0 ? -magnitude : magnitude;
      if (range_.Contains(value)) return value;
      if (range_.Contains(-value)) return -value;
    }
    return Usual(range_, constraints_.nonzero).low;
  }

  ElementType type_;
  const InputConstraints& constraints_;
  RandomBits random_;
  const ValueStyle& style_;
  Interval range_;
  std::vector<double> tiny_;
};

template <typename T>
void Shuffle(std::vector<T>& values, RandomBits& random) {
  for (size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[static_cast<size_t>(random.Next() % i)]);
  }
}

// i-th of `count` numbers spread over [0, slots): distinct while there are enough.
int64_t Spread(int64_t i, int64_t count, int64_t slots) {
  if (count > slots) return i % slots;
  return static_cast<int64_t>(static_cast<__int128>(i) * slots / count);
}

std::vector<int64_t> DistinctIntegers(const Drawer& drawer, ElementType type,
                                      const InputConstraints& constraints, int64_t count) {
  const bool free = constraints.range == Interval();
  const Interval all = RangeOfType(type);
  auto [low, high] = drawer.IntegerBounds();
  if (free) {
    low = constraints.nonzero ? 1 : 0;
    // As many as there are from 0 on; below 0 only where those are not enough.
    if (static_cast<double>(count) > all.high + 1 - static_cast<double>(low)) {
      low = static_cast<int64_t>(all.low);
    }
    high = low + count - 1;
  }
  const auto width = static_cast<__int128>(high) - low + 1;
  const auto slots = static_cast<int64_t>(std::min<__int128>(width, INT64_MAX));
  std::vector<int64_t> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    values[static_cast<size_t>(i)] = low + Spread(i, count, slots);
  }
  return values;
}

// Denormals are left out: some devices take them all for zero.
std::vector<double> DistinctFloats(ElementType type, const InputConstraints& constraints,
                                   int64_t count) {
  const Interval range = Usual(constraints.range, constraints.nonzero);
  std::vector<double> values(static_cast<size_t>(count));
  if (!HasPatterns(type)) {
    for (int64_t i = 0; i < count; ++i) {
      const double part = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
      values[static_cast<size_t>(i)] = range.low + range.Width() * part;
    }
    return values;
  }
  const hlo::FloatFormat& format = *hlo::FindFloatFormat(type);
  const double normal = std::ldexp(1, 1 - format.bias);
  std::vector<double> numbers =
      Numbers(type, range, constraints.nonzero, std::max(normal, 0x1p-12));
  if (std::ssize(numbers) < count)
    numbers = Numbers(type, constraints.range, constraints.nonzero, normal);
  if (std::ssize(numbers) < count)
    numbers = Numbers(type, constraints.range, constraints.nonzero, 0);
  if (numbers.empty()) numbers = Numbers(type, {}, false, 0);
  for (int64_t i = 0; i < count; ++i) {
    values[static_cast<size_t>(i)] =
        numbers[static_cast<size_t>(Spread(i, count, std::ssize(numbers)))];
  }
  return values;
}

// The components of index vectors, each vector a number in the product of the slots.
std::vector<int64_t> IndexVectors(const InputConstraints& constraints, int64_t count,
                                  RandomBits& random) {
  const auto width = std::ssize(constraints.columns);
  const int64_t vectors = count / width;
  __int128 product = 1;
  constexpr __int128 kMax = INT64_MAX;
  for (const IndexColumn& column : constraints.columns)
    product = std::min(kMax, product * column.slots);
  const auto slots = static_cast<int64_t>(product);
  std::vector<int64_t> numbers(static_cast<size_t>(vectors));
  for (int64_t v = 0; v < vectors; ++v) {
    int64_t& number = numbers[static_cast<size_t>(v)];
    if (!constraints.distinct || vectors > slots) {
      number = random.NextBetween(0, slots - 1);
    } else {
      number = random.NextBetween(Spread(v, vectors, slots), Spread(v + 1, vectors, slots) - 1);
    }
  }
  if (constraints.sorted) {
    std::ranges::sort(numbers);
  } else if (constraints.distinct) {
    Shuffle(numbers, random);
  }
  std::vector<int64_t> values(static_cast<size_t>(count));
  for (int64_t v = 0; v < vectors; ++v) {
    int64_t rest = numbers[static_cast<size_t>(v)];
    for (auto c = width; c-- > 0;) {
      const IndexColumn& column = constraints.columns[static_cast<size_t>(c)];
      const int64_t at =
          (v / constraints.inner * width + c) * constraints.inner + v % constraints.inner;
      values[static_cast<size_t>(at)] = rest % column.slots * column.step;
      rest /= column.slots;
    }
  }
  return values;
}

// Rows of sizes that add up to at most `total`: the distances between random cuts.
std::vector<int64_t> GroupSizes(const Shape& shape, int64_t total, RandomBits& random) {
  const int64_t count = shape.ElementCount().value_or(0);
  const int64_t row = shape.rank() == 0 ? 1 : shape.dimension(shape.rank() - 1);
  std::vector<int64_t> sizes;
  std::vector<int64_t> cuts(static_cast<size_t>(row));
  for (int64_t at = 0; at < count; at += row) {
    for (int64_t& cut : cuts) cut = random.NextBetween(0, total);
    std::ranges::sort(cuts);
    int64_t before = 0;
    for (int64_t cut : cuts) sizes.push_back(cut - std::exchange(before, cut));
  }
  return sizes;
}

// Matrices whose diagonal outweighs their rows: positive definite where they are symmetric (or
// Hermitian), well-conditioned triangular in either half.
std::vector<eval::Complex> Matrices(const Shape& shape, bool symmetric, RandomBits& random) {
  const int64_t n = shape.dimension(shape.rank() - 1);
  const int64_t rows = shape.dimension(shape.rank() - 2);
  const bool complex = hlo::IsComplex(shape.element_type());
  const int64_t count = shape.ElementCount().value_or(0);
  auto small = [&random] { return kUsual.low + kUsual.Width() * random.NextUnit(); };
  std::vector<eval::Complex> values(static_cast<size_t>(count));
  for (int64_t at = 0; at < count; at += rows * n) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        const double scale = 1 / static_cast<double>(std::max(rows, n));
        const double real = small() * scale;
        eval::Complex& value = values[static_cast<size_t>(at + i * n + j)];
        value = {real, complex ? small() * scale : 0};
        if (i == j) value = {1 + std::abs(real), 0};
        if (symmetric && i > j && i < n && j < rows) {
          value = std::conj(values[static_cast<size_t>(at + j * n + i)]);
        }
      }
    }
  }
  return values;
}

// One array in the making.
class ArrayMaker {
 public:
  ArrayMaker(const Shape& shape, const InputConstraints& constraints, uint64_t stream,
             const ValueStyle& style)
      : shape_(shape),
        constraints_(constraints),
        style_(style),
        own_(shape.element_type()),
        type_(constraints.passes == ElementType::kInvalid ? hlo::RealPart(own_)
                                                          : constraints.passes),
        count_(shape.ElementCount().value_or(0)),
        drawer_(type_, constraints, stream, style),
        size_(static_cast<size_t>(shape.ByteSize().value_or(0))),
        bytes_(std::make_shared_for_overwrite<std::byte[]>(size_)) {}

  // The elements; some are left out where the style says that time is over.
  Literal Make() {
    Fill();
    return Literal::View(shape_, {bytes_.get(), size_}, bytes_);
  }

 private:
  void Fill() {
    if (count_ == 0) return;
    const bool whole = !hlo::IsFloat(own_) && !hlo::IsComplex(own_);
    const bool vectors = !constraints_.columns.empty() &&
                         count_ % (std::ssize(constraints_.columns) * constraints_.inner) == 0;
    if (IsMatrices()) {
      Store(Matrices(shape_, constraints_.structure == Structure::kPositiveDefinite,
                     drawer_.random()));
    } else if (constraints_.structure >= Structure::kGroupSizes) {
      Store(Sizes());
    } else if (vectors) {
      Store(IndexVectors(Limited(), count_, drawer_.random()));
    } else if (constraints_.distinct && !hlo::IsComplex(own_) && count_ <= kMaxOrdered) {
      StoreDistinct();
    } else if (hlo::IsComplex(own_)) {
      Draw(hlo::RealPart(own_), 2 * count_);
    } else if (constraints_.sorted && count_ <= kMaxOrdered) {
      whole ? StoreSorted<int64_t>() : StoreSorted<double>();
    } else {
      Draw(own_, count_);
    }
  }

  bool IsMatrices() const {
    return (constraints_.structure == Structure::kPositiveDefinite ||
            constraints_.structure == Structure::kDominantDiagonal) &&
           shape_.rank() >= 2;
  }

  std::vector<int64_t> Sizes() {
    if (constraints_.structure == Structure::kGroupSizes) {
      return GroupSizes(shape_, constraints_.total, drawer_.random());
    }
    std::vector<int64_t> values(static_cast<size_t>(count_),
                                LiveSize(style_.seed, constraints_.total));
    if (constraints_.structure == Structure::kOffsets) {
      for (int64_t i = 0; i < count_; ++i) values[static_cast<size_t>(i)] = i * constraints_.total;
    }
    return values;
  }

  // Index vectors that another use bounds as well.
  InputConstraints Limited() const {
    InputConstraints limited = constraints_;
    for (IndexColumn& column : limited.columns) {
      const double most = std::min(constraints_.range.high, RangeOfType(own_).high);
      if (!(most < static_cast<double>((column.slots - 1) * column.step))) continue;
      column.slots = static_cast<int64_t>(std::max(most, 0.0)) / column.step + 1;
    }
    return limited;
  }

  template <typename W>
  void Store(const std::vector<W>& values) {
    eval::StoreFrom<W>(own_, values.data(), bytes_.get(), count_);
  }

  template <typename W>
  W One() {
    if constexpr (std::is_same_v<W, double>) {
      return drawer_.Float();
    } else {
      return drawer_.Integer();
    }
  }

  void StoreDistinct() {
    if (hlo::IsFloat(type_)) {
      std::vector<double> values = DistinctFloats(type_, constraints_, count_);
      if (!constraints_.sorted) Shuffle(values, drawer_.random());
      return Store(values);
    }
    std::vector<int64_t> values = DistinctIntegers(drawer_, type_, constraints_, count_);
    if (constraints_.sorted) {
      std::ranges::sort(values);
    } else {
      Shuffle(values, drawer_.random());
    }
    Store(values);
  }

  template <typename W>
  void StoreSorted() {
    std::vector<W> values(static_cast<size_t>(count_));
    for (W& value : values) value = One<W>();
    if (style_.is_over()) return;
    std::ranges::sort(values);
    Store(values);
  }

  void Draw(ElementType type, int64_t count) {
    hlo::IsFloat(type) ? DrawBlocks<double>(type, count) : DrawBlocks<int64_t>(type, count);
  }

  template <typename W>
  void DrawBlocks(ElementType type, int64_t count) {
    const auto size = static_cast<int64_t>(hlo::StorageBytes(type));
    const bool same = constraints_.range.low == constraints_.range.high;
    W block[kBlock];
    for (int64_t at = 0; at < count; at += kBlock) {
      if (at % (kBlock * kBlocksBetweenLooks) == 0 && style_.is_over()) return;
      const int64_t n = std::min(kBlock, count - at);
      for (int64_t i = 0; i < n; ++i) block[i] = same ? Fixed<W>() : One<W>();
      eval::StoreFrom<W>(type, block, bytes_.get() + at * size, n);
    }
  }

  // The one value asked for, which may be infinite.
  template <typename W>
  W Fixed() {
    if constexpr (std::is_same_v<W, double>) {
      return constraints_.range.low;
    } else {
      const bool all_ones = hlo::IsUnsigned(own_) && constraints_.range.low >= 0x1p63;
      return all_ones ? -1 : drawer_.IntegerBounds().first;
    }
  }

  const Shape& shape_;
  const InputConstraints& constraints_;
  const ValueStyle& style_;
  ElementType own_, type_;
  int64_t count_;
  Drawer drawer_;
  size_t size_;
  std::shared_ptr<std::byte[]> bytes_;  // not cleared: huge ones cost seconds of page faults
};

}  // namespace

int64_t LiveSize(uint64_t seed, int64_t bound) {
  if (bound <= 1) return bound;
  RandomBits random(seed * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(bound));
  return random.NextBetween(1, bound);
}

Literal MakeArray(const Shape& shape, const InputConstraints& constraints, uint64_t stream,
                  const ValueStyle& style) {
  Literal literal = ArrayMaker(shape, constraints, stream, style).Make();
  if (!shape.has_dynamic_dimension()) return literal;
  std::vector<int64_t> sizes;
  for (size_t d = 0; d < shape.rank(); ++d) {
    sizes.push_back(shape.is_dynamic_dimension(d) ? LiveSize(style.seed, shape.dimension(d))
                                                  : shape.dimension(d));
  }
  literal.set_dynamic_sizes(std::move(sizes));
  return literal;
}

}  // namespace hloscope::replay
