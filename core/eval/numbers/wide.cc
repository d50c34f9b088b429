#include "core/eval/numbers/wide.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "core/hlo/float_types.h"

namespace hloscope::eval {
namespace {

using hlo::ElementType;

constexpr int64_t kBlock = 256;

template <typename W, typename T>
W Widen(T x) {
  if constexpr (requires { x.real(); }) {
    if constexpr (std::is_same_v<W, Complex>) {
      return {static_cast<double>(x.real()), static_cast<double>(x.imag())};
    } else {
      return static_cast<W>(x.real());
    }
  } else if constexpr (std::is_same_v<W, Complex>) {
    return {static_cast<double>(x), 0.0};
  } else {
    return static_cast<W>(x);
  }
}

template <typename W, typename T>
void LoadNative(const std::byte* in, W* out, int64_t count) {
  const T* from = reinterpret_cast<const T*>(in);
  for (int64_t i = 0; i < count; ++i) out[i] = Widen<W>(from[i]);
}

template <typename W>
void LoadNarrowFloat(ElementType type, const std::byte* in, W* out, int64_t count) {
  double block[kBlock];
  for (int64_t done = 0; done < count; done += kBlock) {
    const int64_t n = std::min(kBlock, count - done);
    const auto size = static_cast<size_t>(n * hlo::StorageBytes(type));
    hlo::DecodeFloats(type, {in + done * hlo::StorageBytes(type), size},
                      std::span(block, static_cast<size_t>(n)));
    for (int64_t i = 0; i < n; ++i) out[done + i] = Widen<W>(block[i]);
  }
}

// Rounds a double towards zero into T, saturating; NaN is 0.
template <typename T>
T Saturate(double x, int bits) {
  if (std::isnan(x)) return 0;
  const double high = std::ldexp(1.0, std::is_signed_v<T> ? bits - 1 : bits);
  const double low = std::is_signed_v<T> ? -high : 0.0;
  if (x < high && x > low - 1) return static_cast<T>(x);
  if (x <= low) {
    return std::is_signed_v<T> ? static_cast<T>(SignExtend(int64_t{1} << (bits - 1), bits)) : T{0};
  }
  const uint64_t ones = ZeroExtend(~uint64_t{0}, std::is_signed_v<T> ? bits - 1 : bits);
  return static_cast<T>(ones);
}

template <typename T, typename W>
T NarrowInteger(W x, int bits) {
  if constexpr (std::is_integral_v<W>) {
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(SignExtend(static_cast<int64_t>(x), bits));
    } else {
      return static_cast<T>(ZeroExtend(static_cast<uint64_t>(x), bits));
    }
  } else {
    double real;
    if constexpr (std::is_same_v<W, Complex>) {
      real = x.real();
    } else {
      real = x;
    }
    return Saturate<T>(real, bits);
  }
}

template <typename T, typename W>
T NarrowFloating(W x) {
  if constexpr (std::is_same_v<W, Complex>) {
    return static_cast<T>(x.real());
  } else {
    return static_cast<T>(x);
  }
}

template <typename T, typename W>
void StoreInteger(ElementType type, const W* in, std::byte* out, int64_t count) {
  T* to = reinterpret_cast<T*>(out);
  const int bits = hlo::BitWidth(type);
  for (int64_t i = 0; i < count; ++i) to[i] = NarrowInteger<T>(in[i], bits);
}

template <typename T, typename W>
void StoreFloating(const W* in, std::byte* out, int64_t count) {
  T* to = reinterpret_cast<T*>(out);
  for (int64_t i = 0; i < count; ++i) to[i] = NarrowFloating<T>(in[i]);
}

template <typename T, typename W>
void StoreComplex(const W* in, std::byte* out, int64_t count) {
  auto* to = reinterpret_cast<std::complex<T>*>(out);
  for (int64_t i = 0; i < count; ++i) {
    if constexpr (std::is_same_v<W, Complex>) {
      to[i] = {static_cast<T>(in[i].real()), static_cast<T>(in[i].imag())};
    } else {
      to[i] = {static_cast<T>(in[i]), T{0}};
    }
  }
}

// An integer as a double whose further rounding to a narrower float is right: what does not fit 53
// bits leaves its trace in the last one (round to odd).
template <typename W>
double OddRounded(W x) {
  if constexpr (!std::is_integral_v<W>) {
    return NarrowFloating<double>(x);
  } else {
    const bool negative = std::is_signed_v<W> && x < 0;
    auto magnitude = static_cast<uint64_t>(x);
    if (negative) magnitude = 0 - magnitude;
    const int excess = std::max(0, 64 - std::countl_zero(magnitude) - 53);
    const uint64_t lost = magnitude & ((uint64_t{1} << excess) - 1);
    magnitude = (magnitude >> excess) | (lost != 0 ? 1 : 0);
    const double value = std::ldexp(static_cast<double>(magnitude), excess);
    return negative ? -value : value;
  }
}

// A double as a float whose further rounding is right, in the same way.
float OddRoundedFloat(double x) {
  const auto nearest = static_cast<float>(x);
  if (!std::isfinite(nearest) || static_cast<double>(nearest) == x) return nearest;
  auto bits = std::bit_cast<uint32_t>(nearest);
  if (std::abs(static_cast<double>(nearest)) > std::abs(x)) --bits;
  return std::bit_cast<float>(bits | 1);
}

template <typename W>
void StoreNarrowFloat(ElementType type, const W* in, std::byte* out, int64_t count) {
  double block[kBlock];
  for (int64_t done = 0; done < count; done += kBlock) {
    const int64_t n = std::min(kBlock, count - done);
    for (int64_t i = 0; i < n; ++i) block[i] = OddRounded(in[done + i]);
    const auto elements = static_cast<size_t>(n);
    const auto to = std::span(out + done * hlo::StorageBytes(type),
                              elements * static_cast<size_t>(hlo::StorageBytes(type)));
    if (hlo::StorageBytes(type) == 1) {
      hlo::EncodeFloats(type, std::span<const double>(block, elements), to);
      continue;
    }
    // f16 and bf16 are encoded from floats.
    float singles[kBlock];
    std::transform(block, block + n, singles, OddRoundedFloat);
    hlo::EncodeFloats(type, std::span<const float>(singles, elements), to);
  }
}

template <typename W>
void StorePred(const W* in, std::byte* out, int64_t count) {
  for (int64_t i = 0; i < count; ++i) out[i] = std::byte{in[i] != W{}};
}

template <typename W>
void ConvertThrough(ElementType from, const std::byte* in, ElementType to, std::byte* out,
                    int64_t count) {
  W block[kBlock];
  for (int64_t done = 0; done < count; done += kBlock) {
    const int64_t n = std::min(kBlock, count - done);
    LoadAs<W>(from, in + done * hlo::StorageBytes(from), block, n);
    StoreFrom<W>(to, block, out + done * hlo::StorageBytes(to), n);
  }
}

}  // namespace

template <typename W>
void LoadAs(ElementType type, const std::byte* in, W* out, int64_t count) {
  switch (type) {
    case ElementType::kPred:
    case ElementType::kU1:
    case ElementType::kU2:
    case ElementType::kU4:
    case ElementType::kU8:
      return LoadNative<W, uint8_t>(in, out, count);
    case ElementType::kS1:
    case ElementType::kS2:
    case ElementType::kS4:
    case ElementType::kS8:
      return LoadNative<W, int8_t>(in, out, count);
    case ElementType::kS16:
      return LoadNative<W, int16_t>(in, out, count);
    case ElementType::kS32:
      return LoadNative<W, int32_t>(in, out, count);
    case ElementType::kS64:
      return LoadNative<W, int64_t>(in, out, count);
    case ElementType::kU16:
      return LoadNative<W, uint16_t>(in, out, count);
    case ElementType::kU32:
      return LoadNative<W, uint32_t>(in, out, count);
    case ElementType::kU64:
      return LoadNative<W, uint64_t>(in, out, count);
    case ElementType::kF32:
      return LoadNative<W, float>(in, out, count);
    case ElementType::kF64:
      return LoadNative<W, double>(in, out, count);
    case ElementType::kC64:
      return LoadNative<W, std::complex<float>>(in, out, count);
    case ElementType::kC128:
      return LoadNative<W, Complex>(in, out, count);
    default:
      return LoadNarrowFloat<W>(type, in, out, count);
  }
}

template <typename W>
void StoreFrom(ElementType type, const W* in, std::byte* out, int64_t count) {
  switch (type) {
    case ElementType::kPred:
      return StorePred<W>(in, out, count);
    case ElementType::kU1:
    case ElementType::kU2:
    case ElementType::kU4:
    case ElementType::kU8:
      return StoreInteger<uint8_t>(type, in, out, count);
    case ElementType::kS1:
    case ElementType::kS2:
    case ElementType::kS4:
    case ElementType::kS8:
      return StoreInteger<int8_t>(type, in, out, count);
    case ElementType::kS16:
      return StoreInteger<int16_t>(type, in, out, count);
    case ElementType::kS32:
      return StoreInteger<int32_t>(type, in, out, count);
    case ElementType::kS64:
      return StoreInteger<int64_t>(type, in, out, count);
    case ElementType::kU16:
      return StoreInteger<uint16_t>(type, in, out, count);
    case ElementType::kU32:
      return StoreInteger<uint32_t>(type, in, out, count);
    case ElementType::kU64:
      return StoreInteger<uint64_t>(type, in, out, count);
    case ElementType::kF32:
      return StoreFloating<float>(in, out, count);
    case ElementType::kF64:
      return StoreFloating<double>(in, out, count);
    case ElementType::kC64:
      return StoreComplex<float>(in, out, count);
    case ElementType::kC128:
      return StoreComplex<double>(in, out, count);
    default:
      return StoreNarrowFloat<W>(type, in, out, count);
  }
}

void ConvertElements(ElementType from, const std::byte* in, ElementType to, std::byte* out,
                     int64_t count) {
  if (count == 0) return;  // where there may be no array either
  if (from == to) {
    std::memcpy(out, in, static_cast<size_t>(count) * static_cast<size_t>(hlo::StorageBytes(from)));
  } else if (hlo::IsComplex(from)) {
    ConvertThrough<Complex>(from, in, to, out, count);
  } else if (hlo::IsFloat(from)) {
    ConvertThrough<double>(from, in, to, out, count);
  } else if (from == ElementType::kU64) {
    ConvertThrough<uint64_t>(from, in, to, out, count);
  } else {
    ConvertThrough<int64_t>(from, in, to, out, count);
  }
}

#define INSTANTIATE(W)                                                 \
  template void LoadAs<W>(ElementType, const std::byte*, W*, int64_t); \
  template void StoreFrom<W>(ElementType, const W*, std::byte*, int64_t);
INSTANTIATE(int64_t)
INSTANTIATE(uint64_t)
INSTANTIATE(double)
INSTANTIATE(Complex)
#undef INSTANTIATE

}  // namespace hloscope::eval
