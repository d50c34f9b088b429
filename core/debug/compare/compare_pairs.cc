// The loop over pairs: a block is loaded wide, then each pair that differs is judged.
#include "core/debug/compare/compare_pairs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/eval/numbers/wide.h"
#include "core/hlo/float_types.h"

namespace hloscope::debug {

using hlo::ElementType;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kBlock = 512;

// Sign and magnitude as one number that counts the representable values.
template <typename Bits>
int64_t KeyOf(Bits bits) {
  const auto magnitude =
      static_cast<int64_t>(bits) & static_cast<int64_t>(std::numeric_limits<Bits>::max());
  return bits < 0 ? -magnitude : magnitude;
}

template <typename Bits>
void LoadKeys(const std::byte* in, int64_t* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, in + i * static_cast<int64_t>(sizeof(Bits)), sizeof(Bits));
    out[i] = KeyOf(bits);
  }
}

// Floats of fewer than eight bits have their sign at the top of those; scales have none. The NaN of
// fnuz types has the bits of a negative zero: it lies beyond all numbers.
void LoadNarrowKeys(const hlo::FloatFormat& format, const std::byte* in, int64_t* out,
                    int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const auto bits = static_cast<uint32_t>(in[i]);
    const int64_t magnitude = format.IsNan(bits) ? int64_t{format.magnitude_mask()} + 1
                                                 : int64_t{bits & format.magnitude_mask()};
    out[i] = (bits & format.sign_mask()) != 0 ? -magnitude : magnitude;
  }
}

// Keys of floats, the values of integers.
void LoadAllKeys(ElementType type, const std::byte* in, int64_t* out, int64_t count) {
  if (!hlo::IsFloat(type)) return eval::LoadAs<int64_t>(type, in, out, count);
  switch (hlo::StorageBytes(type)) {
    case 8:
      return LoadKeys<int64_t>(in, out, count);
    case 4:
      return LoadKeys<int32_t>(in, out, count);
    case 2:
      return LoadKeys<int16_t>(in, out, count);
    default:
      return LoadNarrowKeys(*hlo::FindFloatFormat(type), in, out, count);
  }
}

uint64_t Distance(int64_t a, int64_t b, bool is_unsigned) {
  const bool greater = is_unsigned ? static_cast<uint64_t>(a) > static_cast<uint64_t>(b) : a > b;
  return greater ? static_cast<uint64_t>(a) - static_cast<uint64_t>(b)
                 : static_cast<uint64_t>(b) - static_cast<uint64_t>(a);
}

// Judges the pairs of one block of a real type.
class Judge {
 public:
  Judge(ElementType type, const ErrorBounds& bounds, PairStatistics& into)
      : type_(type),
        is_float_(hlo::IsFloat(type)),
        is_unsigned_(hlo::IsUnsigned(type)),
        bounds_(bounds),
        into_(into) {}

  // Elements of a complex type are two numbers: `step` apart, and number i belongs to element
  // i/step.
  void Run(const std::byte* actual, const std::byte* expected, int64_t numbers, int64_t begin,
           int step) {
    double a[kBlock], e[kBlock];
    int64_t ka[kBlock], ke[kBlock];
    const auto size = static_cast<int64_t>(hlo::StorageBytes(type_));
    for (int64_t at = 0; at < numbers; at += kBlock) {
      const int64_t n = std::min(kBlock, numbers - at);
      const std::byte* from_a = actual + at * size;
      const std::byte* from_e = expected + at * size;
      if (std::memcmp(from_a, from_e, static_cast<size_t>(n * size)) == 0) {
        into_.histogram.absolute[0] += n;
        into_.histogram.relative[0] += n;
        continue;
      }
      into_.other_bits = true;
      eval::LoadAs<double>(type_, from_a, a, n);
      eval::LoadAs<double>(type_, from_e, e, n);
      LoadAllKeys(type_, from_a, ka, n);
      LoadAllKeys(type_, from_e, ke, n);
      for (int64_t i = 0; i < n; ++i) {
        if (ka[i] == ke[i]) {
          ++into_.histogram.absolute[0];
          ++into_.histogram.relative[0];
        } else {
          Pair(a[i], e[i], ka[i], ke[i], begin + (at + i) / step);
        }
      }
    }
  }

 private:
  void Pair(double a, double e, int64_t key_a, int64_t key_e, int64_t at) {
    if (is_float_ && !(std::isfinite(a) && std::isfinite(e))) return NotFinite(a, e, at);
    const uint64_t ulp = Distance(key_a, key_e, is_unsigned_);
    const double absolute = is_float_ ? std::abs(a - e) : static_cast<double>(ulp);
    const double relative = e == 0 ? kInfinity : absolute / std::abs(e);
    into_.max_abs_error = std::max(into_.max_abs_error, absolute);
    into_.max_rel_error = std::max(into_.max_rel_error, relative);
    into_.max_ulp = std::max(into_.max_ulp, ulp);
    const size_t abs_class = ErrorHistogram::ClassOf(absolute);
    ++into_.histogram.absolute[abs_class];
    ++into_.histogram.relative[ErrorHistogram::ClassOf(relative)];
    double& max_rel = into_.max_rel_by_abs[abs_class];
    max_rel = std::max(max_rel, relative);
    const bool agree = is_float_ && (ulp <= bounds_.ulp || absolute <= bounds_.absolute ||
                                     relative <= bounds_.relative);
    if (!agree) Mismatch({at, relative, absolute});
  }

  void NotFinite(double a, double e, int64_t at) {
    if (std::isnan(a) && std::isnan(e)) {
      ++into_.histogram.absolute[0];
      ++into_.histogram.relative[0];
      return;
    }
    ++into_.histogram.absolute[ErrorHistogram::kClasses - 1];
    ++into_.histogram.relative[ErrorHistogram::kClasses - 1];
    if (std::isnan(a) || std::isnan(e)) {
      ++(std::isnan(a) ? into_.nan.actual : into_.nan.expected);
    } else if (std::isinf(a) && std::isinf(e)) {
      ++into_.inf_opposite;
    } else {
      ++(std::isinf(a) ? into_.inf.actual : into_.inf.expected);
    }
    Mismatch({at, kInfinity, kInfinity});
  }

  void Mismatch(const PairStatistics::Place& place) {
    if (last_ == place.at) {  // the other component of the same element
      Worse(place);
      return;
    }
    last_ = place.at;
    ++into_.mismatched;
    if (into_.first.at < 0) into_.first = place;
    Worse(place);
  }

  void Worse(const PairStatistics::Place& place) {
    PairStatistics::Place& worst = into_.worst;
    const bool worse = worst.at < 0 || place.relative > worst.relative ||
                       (place.relative == worst.relative && place.absolute > worst.absolute);
    if (worse) worst = place;
  }

  ElementType type_;
  bool is_float_, is_unsigned_;
  const ErrorBounds& bounds_;
  PairStatistics& into_;
  int64_t last_ = -1;
};

}  // namespace

size_t ErrorHistogram::ClassOf(double error) {
  // The number of bounds not above the error, by halves; NaN at the end is above none.
  static constexpr auto kPadded = [] {
    std::array<double, 15> padded = {};
    std::ranges::copy(kBounds, padded.begin());
    padded.back() = std::numeric_limits<double>::quiet_NaN();
    return padded;
  }();
  size_t below = 0;
  for (const size_t step : {size_t{8}, size_t{4}, size_t{2}, size_t{1}}) {
    below += error >= kPadded[below + step - 1] ? step : 0;
  }
  return error == 0 ? 0 : below + 1;
}

void PairStatistics::Add(const PairStatistics& later) {
  mismatched += later.mismatched;
  max_abs_error = std::max(max_abs_error, later.max_abs_error);
  max_rel_error = std::max(max_rel_error, later.max_rel_error);
  max_ulp = std::max(max_ulp, later.max_ulp);
  nan.actual += later.nan.actual;
  nan.expected += later.nan.expected;
  inf.actual += later.inf.actual;
  inf.expected += later.inf.expected;
  inf_opposite += later.inf_opposite;
  other_bits |= later.other_bits;
  if (first.at < 0) first = later.first;
  const bool worse =
      later.worst.at >= 0 &&
      (worst.at < 0 || later.worst.relative > worst.relative ||
       (later.worst.relative == worst.relative && later.worst.absolute > worst.absolute));
  if (worse) worst = later.worst;
  for (size_t k = 0; k < ErrorHistogram::kClasses; ++k) {
    histogram.absolute[k] += later.histogram.absolute[k];
    histogram.relative[k] += later.histogram.relative[k];
    max_rel_by_abs[k] = std::max(max_rel_by_abs[k], later.max_rel_by_abs[k]);
  }
}

uint64_t PairDistance(ElementType type, const std::byte* a, const std::byte* b) {
  double values[2];
  int64_t keys[2];
  for (int side = 0; side < 2; ++side) {
    eval::LoadAs<double>(type, side == 0 ? a : b, &values[side], 1);
    LoadAllKeys(type, side == 0 ? a : b, &keys[side], 1);
  }
  if (hlo::IsFloat(type) && std::isnan(values[0]) && std::isnan(values[1])) return 0;
  return Distance(keys[0], keys[1], hlo::IsUnsigned(type));
}

void ComparePairs(ElementType type, const std::byte* actual, const std::byte* expected,
                  int64_t count, const ErrorBounds& bounds, int64_t begin, PairStatistics& into) {
  const int step = hlo::IsComplex(type) ? 2 : 1;
  Judge(hlo::RealPart(type), bounds, into).Run(actual, expected, count * step, begin, step);
}

}  // namespace hloscope::debug
