// Loops over the 32 lanes of a warp: operands are copied in, results blended out under a mask.
#pragma once

#include <cstring>

#include "core/ptx/machine/state.h"

namespace hloscope::ptx {

template <typename T>
struct Values {
  T v[kLanes];
};

inline const std::byte* SourceOf(const Warp& warp, Slot slot) {
  const std::byte* base = (slot.offset & Slot::kConstant) != 0 ? warp.constants : warp.registers;
  return base + (slot.offset & ~Slot::kConstant);
}

inline std::byte* TargetOf(Warp& warp, Slot slot) {
  return slot.present() ? warp.registers + slot.offset : warp.sink;
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
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) != 0) std::memcpy(target + lane * sizeof(T), &values.v[lane], sizeof(T));
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
  const Values<A> a = Read<A>(warp, slots[1]);
  Values<D> d;
  for (uint32_t i = 0; i < kLanes; ++i) d.v[i] = f(a.v[i]);
  Write(warp, slots[0], d, mask);
}

template <typename D, typename A, typename B, typename F>
inline void Map(Warp& warp, const Slot* slots, uint32_t mask, F f) {
  const Values<A> a = Read<A>(warp, slots[1]);
  const Values<B> b = Read<B>(warp, slots[2]);
  Values<D> d;
  for (uint32_t i = 0; i < kLanes; ++i) d.v[i] = f(a.v[i], b.v[i]);
  Write(warp, slots[0], d, mask);
}

template <typename D, typename A, typename B, typename C, typename F>
inline void Map(Warp& warp, const Slot* slots, uint32_t mask, F f) {
  const Values<A> a = Read<A>(warp, slots[1]);
  const Values<B> b = Read<B>(warp, slots[2]);
  const Values<C> c = Read<C>(warp, slots[3]);
  Values<D> d;
  for (uint32_t i = 0; i < kLanes; ++i) d.v[i] = f(a.v[i], b.v[i], c.v[i]);
  Write(warp, slots[0], d, mask);
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

}  // namespace hloscope::ptx
