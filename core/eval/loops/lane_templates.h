// Templates from a function of elements to a loop over lanes, and to loops by element type.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "core/eval/loops/lanes.h"

namespace hloscope::eval {

// F::Of(x) or F::Of(x, bits) per lane.
template <typename F, typename T>
void UnaryLanes(const Lanes& lanes) {
  const T* x = reinterpret_cast<const T*>(lanes.in[0]);
  if constexpr (requires(T v) { F::Of(v, 8); }) {
    auto* out = reinterpret_cast<decltype(F::Of(*x, 8))*>(lanes.out);
    HLOSCOPE_LANES_ARE_INDEPENDENT
    for (int64_t i = 0; i < lanes.count; ++i) out[i] = F::Of(x[i], lanes.bits);
  } else {
    auto* out = reinterpret_cast<decltype(F::Of(*x))*>(lanes.out);
    HLOSCOPE_LANES_ARE_INDEPENDENT
    for (int64_t i = 0; i < lanes.count; ++i) out[i] = F::Of(x[i]);
  }
}

template <typename F, typename T>
void BinaryLanes(const Lanes& lanes) {
  const T* x = reinterpret_cast<const T*>(lanes.in[0]);
  const T* y = reinterpret_cast<const T*>(lanes.in[1]);
  if constexpr (requires(T v) { F::Of(v, v, 8); }) {
    auto* out = reinterpret_cast<decltype(F::Of(*x, *y, 8))*>(lanes.out);
    HLOSCOPE_LANES_ARE_INDEPENDENT
    for (int64_t i = 0; i < lanes.count; ++i) out[i] = F::Of(x[i], y[i], lanes.bits);
  } else {
    auto* out = reinterpret_cast<decltype(F::Of(*x, *y))*>(lanes.out);
    HLOSCOPE_LANES_ARE_INDEPENDENT
    for (int64_t i = 0; i < lanes.count; ++i) out[i] = F::Of(x[i], y[i]);
  }
}

template <typename F, typename T>
void UpdateElements(const Updates& updates) {
  auto* result = reinterpret_cast<T*>(updates.result);
  const auto* update = reinterpret_cast<const T*>(updates.updates);
  for (const int64_t to : updates.to) {
    if (to >= updates.begin && to < updates.end) result[to] = F::Of(result[to], *update);
    ++update;
  }
}

// A function of doubles for lanes of a narrower type: computed wide, rounded once.
template <typename F>
struct ComputedWide {
  template <typename T>
  static T Of(T x) {
    if constexpr (std::is_same_v<T, float>) {
      return static_cast<float>(F::Of(static_cast<double>(x)));
    } else {
      return F::Of(x);
    }
  }
  template <typename T>
  static T Of(T x, T y) {
    if constexpr (std::is_same_v<T, float>) {
      return static_cast<float>(F::Of(static_cast<double>(x), static_cast<double>(y)));
    } else {
      return F::Of(x, y);
    }
  }
};

// Choose<F, T>::Run for the C++ type T of an element type, among the kinds asked for; null
// elsewhere.
template <template <typename, typename> typename Choose, typename F>
auto RealFloatLoop(hlo::ElementType type) -> decltype(&Choose<F, float>::Run) {
  switch (type) {
    case hlo::ElementType::kF32:
      return Choose<F, float>::Run;
    case hlo::ElementType::kF64:
      return Choose<F, double>::Run;
    default:
      return nullptr;
  }
}

template <template <typename, typename> typename Choose, typename F>
LaneLoop ComplexLoop(hlo::ElementType type) {
  if (type == hlo::ElementType::kC64) return Choose<F, std::complex<float>>::Run;
  if (type == hlo::ElementType::kC128) return Choose<F, std::complex<double>>::Run;
  return nullptr;
}

template <template <typename, typename> typename Choose, typename F>
auto IntegerLoop(hlo::ElementType type) -> decltype(&Choose<F, int8_t>::Run) {
  switch (type) {
    case hlo::ElementType::kS8:
      return Choose<F, int8_t>::Run;
    case hlo::ElementType::kS16:
      return Choose<F, int16_t>::Run;
    case hlo::ElementType::kS32:
      return Choose<F, int32_t>::Run;
    case hlo::ElementType::kS64:
      return Choose<F, int64_t>::Run;
    case hlo::ElementType::kU8:
      return Choose<F, uint8_t>::Run;
    case hlo::ElementType::kU16:
      return Choose<F, uint16_t>::Run;
    case hlo::ElementType::kU32:
      return Choose<F, uint32_t>::Run;
    case hlo::ElementType::kU64:
      return Choose<F, uint64_t>::Run;
    default:
      return nullptr;
  }
}

template <typename F, typename T>
struct Unary {
  static void Run(const Lanes& lanes) { UnaryLanes<F, T>(lanes); }
};
template <typename F, typename T>
struct Binary {
  static void Run(const Lanes& lanes) { BinaryLanes<F, T>(lanes); }
};
template <typename F, typename T>
struct Update {
  static void Run(const Updates& updates) { UpdateElements<F, T>(updates); }
};

// pred is a byte that is 0 or 1; its loops see bool.
template <template <typename, typename> typename Choose, typename F>
auto PredLoop(hlo::ElementType type) -> decltype(&Choose<F, bool>::Run) {
  return type == hlo::ElementType::kPred ? Choose<F, bool>::Run : nullptr;
}

// The first that is not null.
template <typename Loop, typename... Loops>
Loop FirstOf(Loop loop, Loops... rest) {
  if constexpr (sizeof...(rest) == 0) {
    return loop;
  } else {
    return loop != nullptr ? loop : FirstOf(rest...);
  }
}

// Which template makes an opcode's loop; a table of these stands for a switch.
template <typename Loop>
struct LoopRow {
  hlo::Opcode opcode;
  Loop (*of)(hlo::ElementType type);
};
// Null where there is none for the opcode or the type.
template <typename Loop, size_t kRows>
Loop FindLoop(const LoopRow<Loop> (&rows)[kRows], hlo::Opcode opcode, hlo::ElementType type) {
  for (const LoopRow<Loop>& row : rows) {
    if (row.opcode == opcode) return row.of(type);
  }
  return nullptr;
}

}  // namespace hloscope::eval
