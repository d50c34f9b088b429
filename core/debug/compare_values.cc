// Comparison of arrays element by element.
#include "core/debug/compare_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/base/text.h"
#include "core/eval/wide.h"
#include "core/hlo/float_types.h"

namespace hloscope::debug {

using hlo::ElementType;
using hlo::Literal;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Sign and magnitude as one number that counts the representable values.
template <typename T>
int64_t FloatKey(const std::byte* at) {
  using Bits =
      std::conditional_t<sizeof(T) == 8, int64_t,
                         std::conditional_t<sizeof(T) == 4, int32_t,
                                            std::conditional_t<sizeof(T) == 2, int16_t, int8_t>>>;
  Bits bits;
  std::memcpy(&bits, at, sizeof(bits));
  const auto magnitude =
      static_cast<int64_t>(bits) & static_cast<int64_t>(std::numeric_limits<Bits>::max());
  return bits < 0 ? -magnitude : magnitude;
}

// Floats of fewer than eight bits have their sign at the top of those.
int64_t NarrowKey(const hlo::FloatFormat& format, const std::byte* at) {
  const auto bits = static_cast<uint32_t>(*at);
  const auto magnitude = static_cast<int64_t>(bits & format.magnitude_mask());
  return (bits & format.sign_mask()) != 0 ? -magnitude : magnitude;
}

int64_t KeyOf(ElementType type, const std::byte* at) {
  if (type == ElementType::kF64) return FloatKey<double>(at);
  if (type == ElementType::kF32) return FloatKey<float>(at);
  if (hlo::BitWidth(type) == 16) return FloatKey<uint16_t>(at);
  return NarrowKey(*hlo::FindFloatFormat(type), at);
}

double AsDouble(ElementType type, const std::byte* at) {
  double value;
  eval::LoadAs<double>(type, at, &value, 1);
  return value;
}

uint64_t Difference(int64_t a, int64_t b) {
  return a > b ? static_cast<uint64_t>(a) - static_cast<uint64_t>(b)
               : static_cast<uint64_t>(b) - static_cast<uint64_t>(a);
}

uint64_t RealUlpDistance(ElementType type, const std::byte* a, const std::byte* b) {
  if (!hlo::IsFloat(type)) {
    int64_t x, y;
    eval::LoadAs<int64_t>(type, a, &x, 1);
    eval::LoadAs<int64_t>(type, b, &y, 1);
    if (type != ElementType::kU64) return Difference(x, y);
    const auto ux = static_cast<uint64_t>(x), uy = static_cast<uint64_t>(y);
    return ux > uy ? ux - uy : uy - ux;
  }
  if (std::isnan(AsDouble(type, a)) && std::isnan(AsDouble(type, b))) return 0;
  return Difference(KeyOf(type, a), KeyOf(type, b));
}

std::string RealText(ElementType type, const std::byte* at) {
  if (hlo::IsFloat(type)) {
    return type == ElementType::kF64 ? ShortestText(AsDouble(type, at))
                                     : ShortestText(static_cast<float>(AsDouble(type, at)));
  }
  int64_t value;
  eval::LoadAs<int64_t>(type, at, &value, 1);
  if (type == ElementType::kPred) return value != 0 ? "true" : "false";
  return type == ElementType::kU64 ? std::to_string(static_cast<uint64_t>(value))
                                   : std::to_string(value);
}

std::string ElementText(ElementType type, const std::byte* at) {
  if (!hlo::IsComplex(type)) return RealText(type, at);
  const ElementType part = hlo::RealPart(type);
  return "(" + RealText(part, at) + ", " + RealText(part, at + hlo::StorageBytes(part)) + ")";
}

// One pair of real elements, or of components: true if they agree.
class PairComparer {
 public:
  PairComparer(ElementType type, LeafComparison& into)
      : type_(type), exact_(!hlo::IsFloat(type)), into_(into) {}

  bool Agree(const std::byte* actual, const std::byte* expected) {
    if (std::memcmp(actual, expected, static_cast<size_t>(hlo::StorageBytes(type_))) == 0) {
      return true;
    }
    const double a = AsDouble(type_, actual), e = AsDouble(type_, expected);
    if (std::isnan(a) || std::isnan(e)) {
      into_.nan_mismatched += std::isnan(a) != std::isnan(e);
      return std::isnan(a) && std::isnan(e);
    }
    if (std::isinf(a) || std::isinf(e)) {
      into_.inf_mismatched += a != e;
      return a == e;
    }
    const uint64_t ulp = RealUlpDistance(type_, actual, expected);
    const double absolute = exact_ ? static_cast<double>(ulp) : std::abs(a - e);
    const double relative = absolute == 0 ? 0 : e == 0 ? kInfinity : absolute / std::abs(e);
    into_.max_abs_error = std::max(into_.max_abs_error, absolute);
    into_.max_rel_error = std::max(into_.max_rel_error, relative);
    into_.max_ulp = std::max(into_.max_ulp, ulp);
    if (exact_) return ulp == 0;
    const ErrorBounds& bounds = into_.bounds;
    return ulp <= bounds.ulp || absolute <= bounds.absolute || relative <= bounds.relative;
  }

 private:
  ElementType type_;
  bool exact_;
  LeafComparison& into_;
};

bool SameSizes(std::span<const int64_t> a, std::span<const int64_t> b) {
  return std::ranges::equal(a, b);
}

std::vector<int64_t> LiveSizes(const Literal& literal) {
  const auto live = literal.dynamic_sizes();
  const auto whole = literal.shape().dimensions();
  return live.empty() ? std::vector<int64_t>(whole.begin(), whole.end())
                      : std::vector<int64_t>(live.begin(), live.end());
}

// One may have bounds where the other, read from a file, has the sizes met at run time.
bool SameLiveShape(const Literal& a, const Literal& b) {
  return a.shape().IsArray() && a.shape().element_type() == b.shape().element_type() &&
         SameSizes(LiveSizes(a), LiveSizes(b));
}

bool Advance(std::vector<int64_t>& index, std::span<const int64_t> sizes) {
  for (size_t d = index.size(); d-- > 0;) {
    if (++index[d] < sizes[d]) return true;
    index[d] = 0;
  }
  return false;
}

int64_t LinearIndex(std::span<const int64_t> index, std::span<const int64_t> dimensions) {
  int64_t linear = 0;
  for (size_t d = 0; d < index.size(); ++d) linear = linear * dimensions[d] + index[d];
  return linear;
}

template <typename T>
void FlushBits(std::span<std::byte> bytes, T exponent_mask, T sign_mask) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T bits;
    std::memcpy(&bits, bytes.data() + at, sizeof(T));
    if ((bits & exponent_mask) != 0) continue;
    bits &= sign_mask;
    std::memcpy(bytes.data() + at, &bits, sizeof(T));
  }
}

}  // namespace

ErrorBounds BoundsFor(ElementType type, const BoundsRequest& request) {
  const ElementType real = hlo::RealPart(type);
  if (!hlo::IsFloat(real)) return {};
  ErrorBounds bounds;
  const bool asked = request.absolute || request.relative;
  if (hlo::BitWidth(real) <= 8) {
    bounds.ulp = asked ? 0 : 1;
  } else {
    const double bound = real == ElementType::kF64   ? 1e-8
                         : real == ElementType::kF32 ? 1e-4
                         : real == ElementType::kF16 ? 1e-2
                                                     : 4e-2;
    bounds.absolute = bounds.relative = bound;
  }
  bounds.absolute = request.absolute.value_or(bounds.absolute);
  bounds.relative = request.relative.value_or(bounds.relative);
  return bounds;
}

uint64_t UlpDistance(ElementType type, const std::byte* a, const std::byte* b) {
  if (!hlo::IsComplex(type)) return RealUlpDistance(type, a, b);
  const ElementType part = hlo::RealPart(type);
  const int size = hlo::StorageBytes(part);
  return std::max(RealUlpDistance(part, a, b), RealUlpDistance(part, a + size, b + size));
}

LeafComparison CompareArrays(const Literal& actual, const Literal& expected,
                             const BoundsRequest& request) {
  LeafComparison result;
  result.shape = actual.shape();
  if (!hlo::Compatible(actual.shape(), expected.shape(), {.dynamic_dimensions = false}) &&
      !SameLiveShape(actual, expected)) {
    result.problem = "the shape is " + hlo::ToString(actual.shape(), false) + ", expected " +
                     hlo::ToString(expected.shape(), false);
    return result;
  }
  if (!actual.shape().IsArray()) return result;
  if (actual.elided() || expected.elided()) {
    result.problem = "the elements are not there";
    return result;
  }
  const ElementType type = actual.shape().element_type();
  result.bounds = BoundsFor(type, request);
  const std::vector<int64_t> sizes = LiveSizes(actual);
  const bool both_dynamic = !actual.dynamic_sizes().empty() && !expected.dynamic_sizes().empty();
  if (both_dynamic && !SameSizes(sizes, expected.dynamic_sizes())) {
    result.problem = "the live sizes of the dynamic dimensions differ";
    return result;
  }
  if (std::ranges::find(sizes, 0) != sizes.end()) return result;
  const ElementType part = hlo::RealPart(type);
  const int64_t bytes = hlo::StorageBytes(type), part_bytes = hlo::StorageBytes(part);
  PairComparer pairs(part, result);
  std::vector<int64_t> index(sizes.size(), 0);
  do {
    const std::byte* a =
        actual.bytes().data() + LinearIndex(index, actual.shape().dimensions()) * bytes;
    const std::byte* e =
        expected.bytes().data() + LinearIndex(index, expected.shape().dimensions()) * bytes;
    bool agree = pairs.Agree(a, e);
    if (hlo::IsComplex(type)) agree &= pairs.Agree(a + part_bytes, e + part_bytes);
    ++result.elements;
    if (agree) continue;
    if (++result.mismatched == 1) {
      result.first_mismatch = {index, ElementText(type, a), ElementText(type, e)};
    }
  } while (Advance(index, sizes));
  return result;
}

std::vector<LeafComparison> CompareLiterals(const Literal& actual, const Literal& expected,
                                            const BoundsRequest& request) {
  if (!actual.shape().IsTuple() || !expected.shape().IsTuple() ||
      actual.elements().size() != expected.elements().size()) {
    return {CompareArrays(actual, expected, request)};
  }
  std::vector<LeafComparison> leaves;
  for (size_t i = 0; i < actual.elements().size(); ++i) {
    auto inner = CompareLiterals(actual.elements()[i], expected.elements()[i], request);
    for (LeafComparison& leaf : inner) {
      leaf.index.insert(leaf.index.begin(), static_cast<int64_t>(i));
      leaves.push_back(std::move(leaf));
    }
  }
  return leaves;
}

Literal FlushDenormals(const Literal& literal) {
  if (literal.shape().IsTuple()) {
    std::vector<Literal> elements;
    for (const Literal& element : literal.elements()) elements.push_back(FlushDenormals(element));
    return Literal::Tuple(std::move(elements));
  }
  const ElementType type = hlo::RealPart(literal.shape().element_type());
  if (!hlo::IsFloat(type) || literal.elided() || hlo::BitWidth(type) < 16) return literal;
  std::vector<std::byte> bytes(literal.bytes().begin(), literal.bytes().end());
  if (type == ElementType::kF64) {
    FlushBits<uint64_t>(bytes, 0x7ff0000000000000u, 0x8000000000000000u);
  } else if (type == ElementType::kF32) {
    FlushBits<uint32_t>(bytes, 0x7f800000u, 0x80000000u);
  } else if (type == ElementType::kBF16) {
    FlushBits<uint16_t>(bytes, 0x7f80u, 0x8000u);
  }
  return Literal::Dense(literal.shape(), std::move(bytes));
}

}  // namespace hloscope::debug
