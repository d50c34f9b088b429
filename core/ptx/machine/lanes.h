// Loops over the 32 lanes of a warp: operands are read in place, results blended in under a mask.
#pragma once

#include <cstring>

#include "core/ptx/machine/state.h"
#include "core/ptx/machine/unit_begin.h"

namespace hloscope::ptx::inline HLOSCOPE_UNIT {

template <typename T>
struct Values {
  T v[kLanes];
};

// A register holds bytes, whatever an instruction takes them for.
template <typename T>
using InPlace [[gnu::may_alias]] = T;

inline const std::byte* SourceOf(const Warp& warp, Slot slot) {
  const std::byte* base = (slot.offset & Slot::kConstant) != 0 ? warp.constants : warp.registers;
  return base + (slot.offset & ~Slot::kConstant);
}

inline std::byte* TargetOf(Warp& warp, Slot slot) {
  return slot.present() ? warp.registers + slot.offset : warp.sink;
}

// The 32 values of an operand where they lie.
template <typename T>
inline const InPlace<T>* LanesOf(const Warp& warp, Slot slot) {
  return reinterpret_cast<const InPlace<T>*>(SourceOf(warp, slot));
}

template <typename T>
inline Values<T> Read(const Warp& warp, Slot slot) {
  Values<T> values;
  std::memcpy(values.v, SourceOf(warp, slot), sizeof(values.v));
  return values;
}

template <typename T>
inline void Write(Warp& warp, Slot slot, const Values<T>& values, uint32_t mask) {
  std::byte* target = TargetOf(warp, slot);
  if (mask == kAllLanes) {
    std::memcpy(target, values.v, sizeof(values.v));
    return;
  }
  auto* const lanes = reinterpret_cast<InPlace<T>*>(target);
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    lanes[lane] = (mask & 1u << lane) != 0 ? values.v[lane] : lanes[lane];
  }
}

// A predicate as a mask of lanes, its `!` applied.
inline uint32_t ReadMask(const Warp& warp, Slot slot) {
  uint32_t mask;
  std::memcpy(&mask, SourceOf(warp, slot), 4);
  return slot.negated ? ~mask : mask;
}

inline void WriteMask(Warp& warp, Slot slot, uint32_t value, uint32_t mask) {
  if (!slot.present()) return;
  uint32_t old;
  std::memcpy(&old, warp.registers + slot.offset, 4);
  old = (old & ~mask) | (value & mask);
  std::memcpy(warp.registers + slot.offset, &old, 4);
}

// One lane of a register of any width, zero-extended; and back, cut off.
inline uint64_t ReadLane(const Warp& warp, Slot slot, uint32_t lane) {
  uint64_t bits = 0;
  std::memcpy(&bits, SourceOf(warp, slot) + lane * slot.bytes, slot.bytes <= 8 ? slot.bytes : 8);
  return bits;
}
inline void WriteLane(Warp& warp, Slot slot, uint32_t lane, uint64_t bits) {
  if (slot.present())
    std::memcpy(warp.registers + slot.offset + lane * slot.bytes, &bits,
                slot.bytes <= 8 ? slot.bytes : 8);
}

template <typename D, typename A, typename F>
inline void Map(Warp& warp, const Slot* slots, uint32_t mask, F f) {
  const auto* const a = LanesOf<A>(warp, slots[1]);
  Values<D> d;
  for (uint32_t i = 0; i < kLanes; ++i) d.v[i] = f(a[i]);
  Write(warp, slots[0], d, mask);
}

template <typename D, typename A, typename B, typename F>
inline void Map(Warp& warp, const Slot* slots, uint32_t mask, F f) {
  const auto* const a = LanesOf<A>(warp, slots[1]);
  const auto* const b = LanesOf<B>(warp, slots[2]);
  Values<D> d;
  for (uint32_t i = 0; i < kLanes; ++i) d.v[i] = f(a[i], b[i]);
  Write(warp, slots[0], d, mask);
}

template <typename D, typename A, typename B, typename C, typename F>
inline void Map(Warp& warp, const Slot* slots, uint32_t mask, F f) {
  const auto* const a = LanesOf<A>(warp, slots[1]);
  const auto* const b = LanesOf<B>(warp, slots[2]);
  const auto* const c = LanesOf<C>(warp, slots[3]);
  Values<D> d;
  for (uint32_t i = 0; i < kLanes; ++i) d.v[i] = f(a[i], b[i], c[i]);
  Write(warp, slots[0], d, mask);
}

// The lanes for which `f` holds.
template <typename T, typename F>
inline uint32_t LanesWhere(const Warp& warp, Slot a, Slot b, F f) {
  const auto* const x = LanesOf<T>(warp, a);
  const auto* const y = LanesOf<T>(warp, b);
  uint32_t mask = 0;
  for (uint32_t i = 0; i < kLanes; ++i) mask |= f(x[i], y[i]) ? 1u << i : 0u;
  return mask;
}

// What setp writes: the result and its opposite, each combined with a predicate where there is one.
inline void WriteComparison(Warp& warp, const Instruction& in, const Slot* slots, uint32_t result,
                            uint32_t mask) {
  uint32_t other = ~result;
  if (const Bool combine = ModifierBool(in); combine != Bool::kNone) {
    const uint32_t c = ReadMask(warp, slots[4]);
    const auto combined = [&](uint32_t x) {
      return combine == Bool::kAnd ? x & c : combine == Bool::kOr ? x | c : x ^ c;
    };
    result = combined(result);
    other = combined(other);
  }
  WriteMask(warp, slots[0], result, mask);
  WriteMask(warp, slots[1], other, mask);
}

template <typename T>
struct Tag {
  using type = T;
};

// f(Tag<T>) for the integer type that stands for `type`; bits count as unsigned. nullptr for
// others.
template <typename F>
Step ForInteger(Type type, F f) {
  switch (type) {
    case Type::kB16:
    case Type::kU16:
      return f(Tag<uint16_t>{});
    case Type::kB32:
    case Type::kU32:
      return f(Tag<uint32_t>{});
    case Type::kB64:
    case Type::kU64:
      return f(Tag<uint64_t>{});
    case Type::kS16:
      return f(Tag<int16_t>{});
    case Type::kS32:
      return f(Tag<int32_t>{});
    case Type::kS64:
      return f(Tag<int64_t>{});
    default:
      return nullptr;
  }
}

// The same for the unsigned type of the width of `type`.
template <typename F>
Step ForBits(Type type, F f) {
  switch (BytesOf(type)) {
    case 2:
      return f(Tag<uint16_t>{});
    case 4:
      return f(Tag<uint32_t>{});
    case 8:
      return f(Tag<uint64_t>{});
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx::inline HLOSCOPE_UNIT

#include "core/ptx/machine/unit_end.h"
