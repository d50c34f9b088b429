// Elements of cudaDataType as complex numbers in f64, read and rounded one by one.
#pragma once

#include <bit>
#include <cmath>
#include <complex>
#include <cstring>

#include "core/hlo/float_types.h"

namespace fake_libraries {

using Number = std::complex<double>;

enum Type : int {
  kR32 = 0,
  kR64 = 1,
  kR16 = 2,
  kS8 = 3,
  kC32 = 4,
  kC64 = 5,
  kS32 = 10,
  kBf16 = 14
};

// 0: not known.
inline size_t SizeOf(int type) {
  switch (type) {
    case kS8:
      return 1;
    case kR16:
    case kBf16:
      return 2;
    case kR32:
    case kS32:
      return 4;
    case kR64:
    case kC32:
      return 8;
    case kC64:
      return 16;
    default:
      return 0;
  }
}

template <typename T>
T Load(const std::byte* at) {
  T out;
  std::memcpy(&out, at, sizeof out);
  return out;
}

inline Number Read(int type, const std::byte* at) {
  switch (type) {
    case kS8:
      return static_cast<double>(Load<int8_t>(at));
    case kS32:
      return static_cast<double>(Load<int32_t>(at));
    case kR16:
      return hloscope::hlo::DecodeFloat(
          *hloscope::hlo::FindFloatFormat(hloscope::hlo::ElementType::kF16), Load<uint16_t>(at));
    case kBf16:
      return hloscope::hlo::DecodeFloat(
          *hloscope::hlo::FindFloatFormat(hloscope::hlo::ElementType::kBF16), Load<uint16_t>(at));
    case kR64:
      return Load<double>(at);
    case kC32:
      return Number(Load<std::complex<float>>(at));
    case kC64:
      return Load<Number>(at);
    default:
      return static_cast<double>(Load<float>(at));
  }
}

inline void Write(int type, Number x, std::byte* at) {
  const auto store = [&](const auto& value) { std::memcpy(at, &value, sizeof value); };
  const auto narrow = [&](hloscope::hlo::ElementType narrow_type) {
    store(static_cast<uint16_t>(
        hloscope::hlo::EncodeFloat(*hloscope::hlo::FindFloatFormat(narrow_type), x.real())));
  };
  switch (type) {
    case kS8:
      return store(static_cast<int8_t>(x.real()));
    case kS32:
      return store(static_cast<int32_t>(static_cast<int64_t>(x.real())));
    case kR16:
      return narrow(hloscope::hlo::ElementType::kF16);
    case kBf16:
      return narrow(hloscope::hlo::ElementType::kBF16);
    case kR64:
      return store(x.real());
    case kC32:
      return store(std::complex<float>(x));
    case kC64:
      return store(x);
    default:
      return store(static_cast<float>(x.real()));
  }
}

}  // namespace fake_libraries
