// Loads, stores, atomics and asynchronous copies (which are done when they are issued).
#include <algorithm>
#include <bit>
#include <cmath>
#include <type_traits>

#include "core/ptx/machine/atomic.h"
#include "core/ptx/machine/barrier.h"
#include "core/ptx/machine/rounding.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/machine/together.h"
#include "core/ptx/machine/unit_begin.h"

namespace hloscope::ptx::inline HLOSCOPE_UNIT {
namespace {

bool Misaligned(Warp& w, uint64_t address, uint32_t lane, uint32_t bytes) {
  if (address % bytes == 0) return false;
  w.block->Fail(
      "an address that is not a multiple of the " + std::to_string(bytes) + " bytes accessed",
      w.first_thread + lane, address);
  return true;
}

// Values narrower than their registers are extended by the sign of their type.
uint64_t Extended(uint64_t bits, Type type) {
  const uint32_t width = RowOf(type).bits;
  if (RowOf(type).kind != TypeKind::kSigned || width == 64) return bits;
  const uint64_t sign = uint64_t{1} << (width - 1);
  return (bits ^ sign) - sign;
}

void LoadLanes(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const uint32_t width = in.vector_width(), bytes = BytesOf(in.type);
  const StateSpace space = ModifierStateSpace(in);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    std::byte values[64];
    const uint64_t address = AddressOf(w, in, s[width], l);
    if (Misaligned(w, address, l, bytes * width) ||
        !Load(w, space, address, l, values, bytes * width))
      return;
    for (uint32_t v = 0; v < width; ++v) {
      uint64_t bits = 0;
      std::memcpy(&bits, values + v * bytes, bytes);
      WriteLane(w, s[v], l, Extended(bits, in.type));
    }
  }
}

void StoreLanes(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const uint32_t width = in.vector_width(), bytes = BytesOf(in.type);
  const StateSpace space = ModifierStateSpace(in);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    std::byte values[64];
    for (uint32_t v = 0; v < width; ++v) {
      const uint64_t bits = ReadLane(w, s[1 + v], l);
      std::memcpy(values + v * bytes, &bits, bytes);
    }
    const uint64_t address = AddressOf(w, in, s[0], l);
    if (Misaligned(w, address, l, bytes * width) ||
        !Store(w, space, address, l, values, bytes * width))
      return;
  }
}

// `kWidth` values of T for each lane, into registers of R, which is as wide or wider.
template <typename T, typename R, uint32_t kWidth>
bool LoadTogether(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  LaneBytes scratch;
  const LaneBytes* const lanes =
      Together::Find(w, in, s[kWidth], m, sizeof(T) * kWidth, false, scratch);
  if (lanes == nullptr) return false;
  const auto to_registers = [&](const auto& value_of) {
    for (uint32_t v = 0; v < kWidth; ++v) {
      Values<R> column;
      for (uint32_t l = 0; l < kLanes; ++l)
        column.v[l] = static_cast<R>(static_cast<std::make_signed_t<R>>(value_of(l, v)));
      Write(w, s[v], column, m);
    }
  };
  if (lanes->is_row) {
    using Unaligned [[gnu::may_alias, gnu::aligned(1)]] = T;
    const auto* const row = reinterpret_cast<const Unaligned*>(lanes->base);
    to_registers([&](uint32_t l, uint32_t v) { return row[l * kWidth + v]; });
    return true;
  }
  T values[kLanes][kWidth];
  for (uint32_t l = 0; l < kLanes; ++l) std::memcpy(values[l], lanes->At(l), sizeof values[l]);
  to_registers([&](uint32_t l, uint32_t v) { return values[l][v]; });
  return true;
}

// Lanes store in their order: of those with one address the last stays.
template <typename T, typename R, uint32_t kWidth>
bool StoreTogether(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  LaneBytes scratch;
  const LaneBytes* const lanes = Together::Find(w, in, s[0], m, sizeof(T) * kWidth, true, scratch);
  if (lanes == nullptr) return false;
  T values[kLanes][kWidth];
  for (uint32_t v = 0; v < kWidth; ++v) {
    const auto* const column = LanesOf<R>(w, s[1 + v]);
    for (uint32_t l = 0; l < kLanes; ++l) values[l][v] = static_cast<T>(column[l]);
  }
  if (m == kAllLanes && lanes->is_row) {
    std::memcpy(lanes->base, values, sizeof values);
    return true;
  }
  for (uint32_t left = m; left != 0; left &= left - 1) {
    const auto l = static_cast<uint32_t>(std::countr_zero(left));
    std::memcpy(lanes->At(l), values[l], sizeof values[l]);
  }
  return true;
}

// Whether all of the registers have so many bytes.
template <uint32_t kWidth>
bool Have(const Slot* s, uint32_t bytes) {
  bool fits = true;
  for (uint32_t v = 0; v < kWidth; ++v) fits &= !s[v].present() || s[v].bytes == bytes;
  return fits;
}

// The narrowest register for a T; narrow values may be in registers of 32 bits too.
template <typename T>
using RegisterOf = std::conditional_t<sizeof(T) == 8, uint64_t,
                                      std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;

template <typename T, uint32_t kWidth>
void LoadOf(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  using R = RegisterOf<T>;
  bool done = Have<kWidth>(s, sizeof(R)) && LoadTogether<T, R, kWidth>(w, in, s, m);
  if constexpr (sizeof(R) == 2) {
    done = done || (Have<kWidth>(s, 4) && LoadTogether<T, uint32_t, kWidth>(w, in, s, m));
  }
  if (!done) LoadLanes(w, in, s, m);
}

template <typename T, uint32_t kWidth>
void StoreOf(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  using R = RegisterOf<T>;
  bool done = Have<kWidth>(s + 1, sizeof(R)) && StoreTogether<T, R, kWidth>(w, in, s, m);
  if constexpr (sizeof(R) == 2) {
    done = done || (Have<kWidth>(s + 1, 4) && StoreTogether<T, uint32_t, kWidth>(w, in, s, m));
  }
  if (!done) StoreLanes(w, in, s, m);
}

// f(type in memory, vector width) for what kernels have; nullptr for others.
template <typename F>
Step ForAccess(const Instruction& i, F f) {
  const auto by_width = [&](auto stored) -> Step {
    switch (i.vector_width()) {
      case 1:
        return f(stored, std::integral_constant<uint32_t, 1>{});
      case 2:
        return f(stored, std::integral_constant<uint32_t, 2>{});
      case 4:
        return f(stored, std::integral_constant<uint32_t, 4>{});
      default:
        return nullptr;
    }
  };
  const bool is_signed = RowOf(i.type).kind == TypeKind::kSigned;
  switch (BytesOf(i.type)) {
    case 1:
      return is_signed ? by_width(Tag<int8_t>{}) : by_width(Tag<uint8_t>{});
    case 2:
      return is_signed ? by_width(Tag<int16_t>{}) : by_width(Tag<uint16_t>{});
    case 4:
      return by_width(Tag<uint32_t>{});
    case 8:
      return by_width(Tag<uint64_t>{});
    default:
      return nullptr;
  }
}

// Registers of 64 bits for values of 32, which are rare, go lane by lane.
Step LoadStep(const Instruction& i) {
  const Step together = ForAccess(i, [](auto stored, auto width) -> Step {
    return LoadOf<typename decltype(stored)::type, decltype(width)::value>;
  });
  return together != nullptr ? together : LoadLanes;
}

Step StoreStep(const Instruction& i) {
  const Step together = ForAccess(i, [](auto stored, auto width) -> Step {
    return StoreOf<typename decltype(stored)::type, decltype(width)::value>;
  });
  return together != nullptr ? together : StoreLanes;
}

// Narrow elements are changed by compare-and-swap of the word around them, which may end behind the
// argument: how many of its last bytes lie there and stay as they are.
uint32_t KeptBehind(Warp& w, StateSpace space, uint64_t address, uint32_t lane, uint64_t changed,
                    uint32_t bytes) {
  Window scratch;
  const WindowPlace place = Locate(w, space, address, lane, scratch);
  if (place.window == nullptr || place.offset >= place.window->bytes) return 0;
  const uint64_t held = place.window->bytes - place.offset;
  uint32_t kept = 0;
  while (bytes - kept > held && (changed >> (8 * (bytes - kept - 1)) & 0xff) == 0) ++kept;
  return kept;
}

// Lanes take turns. atom: d, address, value, other; red: address, value. Of a vector as many d and
// values, each changed by itself.
void AtomicLanes(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const bool returns = in.operation != Operation::kRed;
  const uint32_t width = in.vector_width();
  const Slot* from = returns ? s + width : s;
  const uint32_t bytes = BytesOf(in.type);
  const StateSpace space = ModifierStateSpace(in);
  const uint8_t* const order = w.block->lane_order;
  for (uint32_t i = 0; i < kLanes; ++i) {
    const uint32_t l = order != nullptr ? order[i] : i;
    if ((m >> l & 1) == 0) continue;
    const uint64_t first = AddressOf(w, in, from[0], l);
    if (Misaligned(w, first, l, bytes * width)) return;
    const uint64_t other = in.operation == Operation::kAtomCas ? ReadLane(w, s[3], l) : 0;
    for (uint32_t v = 0; v < width; ++v) {
      const uint64_t address = first + v * bytes;
      uint64_t old = 0;
      if (!Load(w, space, address, l, &old, bytes)) return;
      const uint64_t changed = AtomicResult(in, old, ReadLane(w, from[1 + v], l), other);
      const uint32_t kept = KeptBehind(w, space, address, l, old ^ changed, bytes);
      if (kept < bytes && !Store(w, space, address, l, &changed, bytes - kept)) return;
      if (returns) WriteLane(w, s[v], l, old);
    }
  }
}

// red.async: address, value, barrier, which is told of the bytes.
void ReduceAsync(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const StateSpace space = ModifierStateSpace(in);
  const uint32_t bytes = BytesOf(in.type);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const uint64_t address = AddressOf(w, in, s[0], l);
    uint64_t old = 0;
    if (Misaligned(w, address, l, bytes) || !Load(w, space, address, l, &old, bytes)) return;
    const uint64_t changed = AtomicResult(in, old, ReadLane(w, s[1], l), 0);
    if (!Store(w, space, address, l, &changed, bytes) ||
        !CompleteBytes(w, space, AddressOf(w, in, s[2], l, 1), l, bytes))
      return;
  }
}

Step AtomicStep(const Instruction& i) {
  const Atomic atomic = ModifierAtomic(i);
  const TypeKind kind = RowOf(i.type).kind;
  const bool floating = kind == TypeKind::kFloat || kind == TypeKind::kPacked;
  const uint32_t width = i.vector_width();
  if (width > 1) {
    const bool halves = floating && BytesOf(i.type) < 8 && i.type != Type::kF32;
    const StateSpace space = ModifierStateSpace(i);
    // Up to 16 bytes of global memory: sums of f32; sums, minimum and maximum of halves.
    if ((!halves && i.type != Type::kF32) || BytesOf(i.type) * width > 16 ||
        (space != StateSpace::kNone && space != StateSpace::kGlobal))
      return nullptr;
    if (halves && (atomic == Atomic::kMin || atomic == Atomic::kMax)) return AtomicLanes;
  }
  if (floating && atomic != Atomic::kAdd) return nullptr;
  return AtomicLanes;
}

// The fourth operand of the first form is how many bytes come from the source, the rest are zeros;
// that of the second a predicate that leaves only zeros.
void CopyLanes(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    std::byte values[16] = {};
    uint32_t bytes = in.value;
    if (in.operation == Operation::kCpAsyncIgnore) {
      if ((ReadMask(w, s[2]) >> l & 1) != 0) bytes = 0;
    } else if (s[2].present()) {
      bytes = std::min(bytes, static_cast<uint32_t>(ReadLane(w, s[2], l)));
    }
    const uint64_t to = AddressOf(w, in, s[0], l), from = AddressOf(w, in, s[1], l, 1);
    if (Misaligned(w, to, l, in.value)) return;
    if (bytes > 0 &&
        (Misaligned(w, from, l, in.value) || !Load(w, StateSpace::kGlobal, from, l, values, bytes)))
      return;
    w.block->counts.global_read_bytes += bytes;
    if (!Store(w, StateSpace::kShared, to, l, values, in.value)) return;
  }
}

// All lanes that take part copy all of their bytes.
bool CopyTogether(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (in.operation == Operation::kCpAsyncIgnore) {
    if ((ReadMask(w, s[2]) & m) != 0) return false;
  } else if (s[2].present()) {
    const auto* const bytes = LanesOf<uint32_t>(w, s[2]);
    uint32_t least = in.value;
    for (uint32_t l = 0; l < kLanes; ++l)
      least = std::min(least, (m & 1u << l) != 0 ? bytes[l] : in.value);
    if (least < in.value) return false;
  }
  LaneBytes from, to;
  if (!Together::Find(w, StateSpace::kGlobal, s[1], in.offsets[1], m, in.value, false, from) ||
      !Together::Find(w, StateSpace::kShared, s[0], in.offsets[0], m, in.value, true, to))
    return false;
  w.block->counts.global_read_bytes += static_cast<uint64_t>(std::popcount(m)) * in.value;
  if (from.is_row && to.is_row) {
    std::memcpy(to.base, from.base, kLanes * in.value);
    return true;
  }
  for (uint32_t left = m; left != 0; left &= left - 1) {
    const auto l = static_cast<uint32_t>(std::countr_zero(left));
    if (in.value == 16) {
      std::memcpy(to.At(l), from.At(l), 16);
    } else {
      std::memcpy(to.At(l), from.At(l), in.value);
    }
  }
  return true;
}

void Copy(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  if (!CopyTogether(w, in, s, m)) CopyLanes(w, in, s, m);
}

Step CopyStep(const Instruction& i) {
  const StateSpace space = ModifierStateSpace(i);
  if (!IsShared(space)) return nullptr;
  return i.value == 4 || i.value == 8 || i.value == 16 ? Copy : nullptr;
}

}  // namespace

Step MemoryStep(const Instruction& i) {
  switch (i.operation) {
    case Operation::kLd:
      return LoadStep(i);
    case Operation::kSt:
      return StoreStep(i);
    case Operation::kAtom:
    case Operation::kRed:
      return AtomicStep(i);
    case Operation::kAtomCas:
      return AtomicLanes;
    case Operation::kRedAsync:
      return ReduceAsync;
    case Operation::kCpAsync:
    case Operation::kCpAsyncIgnore:
      return CopyStep(i);
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx::inline HLOSCOPE_UNIT

#include "core/ptx/machine/unit_end.h"
