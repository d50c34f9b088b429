// RegisterPoison: instruction by instruction; exact to the byte where bytes are only moved, and
// else a result is poisoned whole by any poisoned operand.
#include "core/ptx/checks/register_poison.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/ptx/machine/lanes.h"
#include "core/ptx/machine/matrix_form.h"

namespace hloscope::ptx {
namespace {

// Operands of kMmaNarrow: the factors of A, which byte and which lane of four has them; those of B.
constexpr uint32_t kFactorsOfA = 14, kFactorsOfB = 17;

uint8_t BytesMask(uint32_t bytes) {
  return static_cast<uint8_t>(bytes >= 8 ? 0xffu : (1u << bytes) - 1);
}
uint8_t WholeIf(uint8_t poison) { return poison != 0 ? 0xff : 0; }

// What `&` (or, with `zero` 0xff, `|`) of two values leaves poisoned: a byte that is all zeros, and
// known, decides.
uint8_t Decided(uint64_t a, uint64_t b, uint8_t pa, uint8_t pb, uint8_t zero) {
  uint8_t result = 0;
  for (uint32_t i = 0; i < 8; ++i) {
    const bool in_a = (pa >> i & 1) != 0, in_b = (pb >> i & 1) != 0;
    const auto byte = [&](uint64_t value) { return static_cast<uint8_t>(value >> (8 * i)); };
    const bool decided = (!in_a && byte(a) == zero) || (!in_b && byte(b) == zero);
    if ((in_a || in_b) && !decided) result |= static_cast<uint8_t>(1u << i);
  }
  return result;
}

uint8_t Shifted(const Instruction& in, uint8_t poison, uint64_t by) {
  const uint32_t bytes = BytesOf(in.type);
  const uint64_t whole = std::min<uint64_t>(by / 8, 8);
  const bool rest = by % 8 != 0;
  if (in.operation == Operation::kShl) {
    const uint32_t wide =
        (uint32_t{poison} << whole) | (rest ? uint32_t{poison} << (whole + 1) : 0);
    return static_cast<uint8_t>(wide) & BytesMask(bytes);
  }
  const bool sign = RowOf(in.type).kind == TypeKind::kSigned && (poison >> (bytes - 1) & 1) != 0;
  if (sign) return 0xff;
  return static_cast<uint8_t>((poison >> whole) | (rest ? poison >> (whole + 1) : 0));
}

// The bytes of a pair of registers that a selector of prmt takes.
uint8_t Permuted(uint8_t a, uint8_t b, uint64_t selector) {
  const uint32_t both = (a & 15u) | (b & 15u) << 4;
  uint8_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    if ((both >> (selector >> (4 * i) & 7) & 1) != 0) result |= static_cast<uint8_t>(1u << i);
  }
  return result;
}

uint8_t Field(uint8_t poison, uint64_t position, uint64_t length) {
  if (length == 0) return 0;
  const uint64_t first = std::min<uint64_t>(position / 8, 7);
  const uint64_t last = std::min<uint64_t>((position + length - 1) / 8, 7);
  for (uint64_t i = first; i <= last; ++i) {
    if ((poison >> i & 1) != 0) return 0xff;
  }
  return 0;
}

bool IsIntegral(Type type) {
  const TypeKind kind = RowOf(type).kind;
  return kind == TypeKind::kBits || kind == TypeKind::kUnsigned || kind == TypeKind::kSigned;
}

uint8_t Converted(const Instruction& in, uint8_t poison) {
  poison &= BytesMask(BytesOf(in.source));
  const bool moves = IsIntegral(in.type) && IsIntegral(in.source) &&
                     RowOf(in.source).kind != TypeKind::kSigned && ModifierSat(in) == Sat::kNone;
  if (moves) return poison & BytesMask(BytesOf(in.type));
  return WholeIf(poison);
}

// The lane that a shuffle reads for `lane`: the third operand holds the clamp (bits 0-4) and the
// mask of segments (bits 8-12).
uint32_t SourceOfShuffle(const Instruction& in, int lane, uint64_t by, uint64_t control) {
  const int step = static_cast<int>(by & 31), segment = static_cast<int>(control >> 8 & 31);
  const int least = lane & segment, most = least | (static_cast<int>(control & 31) & ~segment);
  const Shuffle kind = ModifierShuffle(in);
  const int wanted = kind == Shuffle::kUp     ? lane - step
                     : kind == Shuffle::kDown ? lane + step
                     : kind == Shuffle::kBfly ? lane ^ step
                                              : least | (step & ~segment);
  const bool inside = kind == Shuffle::kUp ? wanted >= most : wanted <= most;
  return static_cast<uint32_t>(inside ? wanted : lane) & 31;
}

// What every lane gets if any of those that take part has poison.
PoisonedLanes Together(const PoisonedLanes& lanes, uint32_t mask) {
  PoisonedLanes all{};
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1) != 0 && lanes[l] != 0) all.fill(0xff);
  }
  return all;
}

}  // namespace

void RegisterPoison::Clear() {
  if (!any_) return;
  shadow_.clear();
  any_ = false;
}

PoisonedLanes RegisterPoison::Get(const Slot& slot) const {
  PoisonedLanes lanes{};
  if (!any_ || !slot.present() || (slot.offset & Slot::kConstant) != 0) return lanes;
  if (slot.bytes > 0) {
    std::memcpy(lanes.data(), shadow_.data() + slot.offset, kLanes);
    return lanes;
  }
  const uint32_t mask = Guard(slot.offset);
  for (uint32_t l = 0; l < kLanes; ++l) lanes[l] = (mask >> l & 1) != 0 ? 0xff : 0;
  return lanes;
}

void RegisterPoison::Put(const Slot& slot, const PoisonedLanes& lanes, uint32_t mask) {
  if (!slot.present()) return;
  uint32_t poisoned = 0;
  for (uint32_t l = 0; l < kLanes; ++l) poisoned |= uint32_t{lanes[l] != 0} << l;
  if (!any_) {
    if ((poisoned & mask) == 0) return;
    any_ = true;
    shadow_.assign(register_bytes_, 0);
  }
  if (slot.bytes == 0) {
    const uint32_t value = (Guard(slot.offset) & ~mask) | (poisoned & mask);
    std::memcpy(shadow_.data() + slot.offset, &value, 4);
    return;
  }
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1) != 0) shadow_[slot.offset + l] = lanes[l];
  }
}

// Laid out as the registers are, so that what lies between their lanes is no matter.
void RegisterPoison::Spoil(const ByteRange& registers) {
  if (!any_) shadow_.assign(register_bytes_, 0);
  any_ = true;
  std::fill_n(shadow_.begin() + registers.offset, registers.bytes, uint8_t{0xff});
}

uint32_t RegisterPoison::Guard(uint32_t offset) const {
  uint32_t mask = 0;
  if (any_ && offset != Slot::kAbsent) std::memcpy(&mask, shadow_.data() + offset, 4);
  return mask;
}

void RegisterPoison::Follow(const Warp& warp, const Instruction& in, const Slot* slots,
                            uint32_t mask) {
  const uint32_t guard = Guard(in.guard);
  if (in.group_wide) return;  // the checker does, when all of its warps have come
  if (IsMma(in.operation)) return Multiply(warp, in, slots, mask);
  // All are worked out before the first is put: a source may be a target too.
  std::array<PoisonedLanes, 8> results;
  const uint32_t parts = in.operation == Operation::kUnpack ? in.slot_count - 1 : 1;
  for (uint32_t i = 0; i < parts; ++i) {
    results[i] = Computed(warp, in, slots, mask, i);
    // Which of two values stands there depends on poison.
    for (uint32_t l = 0; l < kLanes; ++l) {
      if ((guard >> l & 1) != 0) results[i][l] = 0xff;
    }
  }
  for (uint32_t i = 0; i < in.slot_count && slots[i].written; ++i)
    Put(slots[i], results[std::min(i, parts - 1)], mask | guard);
}

PoisonedLanes RegisterPoison::Computed(const Warp& w, const Instruction& in, const Slot* s,
                                       uint32_t mask, uint32_t number) const {
  PoisonedLanes d{};
  const auto each = [&](auto f) {
    for (uint32_t l = 0; l < kLanes; ++l) d[l] = f(l);
    return d;
  };
  // Of 128 bits by the whole.
  const bool is_wide = in.type == Type::kB128 && in.operation != Operation::kMov;
  switch (is_wide ? Operation::kNop : in.operation) {
    case Operation::kMov:
    case Operation::kCvta:
      return Get(s[1]);
    case Operation::kSelp: {
      const PoisonedLanes a = Get(s[1]), b = Get(s[2]), p = Get(s[3]);
      const uint32_t chosen = ReadMask(w, s[3]);
      return each([&](uint32_t l) -> uint8_t {
        return p[l] != 0 ? 0xff : (chosen >> l & 1) != 0 ? a[l] : b[l];
      });
    }
    case Operation::kPack: {
      const uint32_t parts = in.slot_count - 1, bytes = BytesOf(in.type) / parts;
      for (uint32_t i = 0; i < parts; ++i) {
        const PoisonedLanes part = Get(s[1 + i]);
        for (uint32_t l = 0; l < kLanes; ++l)
          d[l] |= static_cast<uint8_t>((part[l] & BytesMask(bytes)) << (bytes * i));
      }
      return d;
    }
    case Operation::kUnpack: {
      const uint32_t parts = in.slot_count - 1, bytes = BytesOf(in.type) / parts;
      const PoisonedLanes a = Get(s[parts]);
      return each([&](uint32_t l) {
        return static_cast<uint8_t>(a[l] >> (bytes * number) & BytesMask(bytes));
      });
    }
    case Operation::kAnd:
    case Operation::kOr: {
      const PoisonedLanes a = Get(s[1]), b = Get(s[2]);
      const uint8_t zero = in.operation == Operation::kAnd ? 0 : 0xff;
      const bool predicates = in.type == Type::kPred;
      const uint32_t x = predicates ? ReadMask(w, s[1]) : 0, y = predicates ? ReadMask(w, s[2]) : 0;
      return each([&](uint32_t l) -> uint8_t {
        if ((a[l] | b[l]) == 0) return 0;
        const auto value = [&](const Slot& slot, uint32_t bits) {
          return predicates ? ((bits >> l & 1) != 0 ? ~uint64_t{0} : 0) : ReadLane(w, slot, l);
        };
        return Decided(value(s[1], x), value(s[2], y), a[l], b[l], zero);
      });
    }
    case Operation::kXor: {
      const PoisonedLanes a = Get(s[1]), b = Get(s[2]);
      return each([&](uint32_t l) { return static_cast<uint8_t>(a[l] | b[l]); });
    }
    case Operation::kNot:
      return Get(s[1]);
    case Operation::kShl:
    case Operation::kShr: {
      const PoisonedLanes a = Get(s[1]), by = Get(s[2]);
      return each([&](uint32_t l) -> uint8_t {
        return by[l] != 0 ? 0xff : Shifted(in, a[l], ReadLane(w, s[2], l));
      });
    }
    case Operation::kPrmt: {
      const PoisonedLanes a = Get(s[1]), b = Get(s[2]), c = Get(s[3]);
      return each([&](uint32_t l) -> uint8_t {
        return c[l] != 0 ? 0xff : Permuted(a[l], b[l], ReadLane(w, s[3], l));
      });
    }
    case Operation::kBfe: {
      const PoisonedLanes a = Get(s[1]), b = Get(s[2]), c = Get(s[3]);
      return each([&](uint32_t l) -> uint8_t {
        if ((b[l] | c[l]) != 0) return 0xff;
        return Field(a[l], ReadLane(w, s[2], l) & 255, ReadLane(w, s[3], l) & 255);
      });
    }
    case Operation::kCvt: {
      const PoisonedLanes a = Get(s[1]);
      return each([&](uint32_t l) { return Converted(in, a[l]); });
    }
    case Operation::kShfl:
      return Shuffled(w, in, s, mask);
    default:
      break;
  }
  for (uint32_t i = 0; i < in.slot_count; ++i) {
    if (s[i].written) continue;
    const PoisonedLanes a = Get(s[i]);
    for (uint32_t l = 0; l < kLanes; ++l) d[l] |= WholeIf(a[l]);
  }
  const InstructionClass kind = ClassOf(in.operation);
  const bool together = kind == InstructionClass::kWarp || kind == InstructionClass::kTensor ||
                        in.operation == Operation::kMovmatrix ||
                        in.operation == Operation::kBarReduce;
  return together ? Together(d, mask) : d;
}

// What a lane gives that does not take part, or that the reader's members do not name, is
// undefined.
PoisonedLanes RegisterPoison::Shuffled(const Warp& w, const Instruction& in, const Slot* s,
                                       uint32_t mask) const {
  const PoisonedLanes a = Get(s[2]), b = Get(s[3]), c = Get(s[4]);
  PoisonedLanes d{};
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint32_t from =
        SourceOfShuffle(in, static_cast<int>(l), ReadLane(w, s[3], l), ReadLane(w, s[4], l));
    const auto members = static_cast<uint32_t>(ReadLane(w, s[5], l));
    const bool takes_part = (mask & members) >> from & 1;
    d[l] = (b[l] | c[l]) != 0 || !takes_part ? 0xff : a[from];
  }
  return d;
}

// Of block-scaled mma.sync: which lane of four holds the factors of rows i and i + 8, and of column
// i, is said by the operand behind them.
void RegisterPoison::NoteFactors(const Warp& w, const Slot* s, bool* rows, bool* columns) {
  const PoisonedLanes of_a = Get(s[kFactorsOfA]), of_b = Get(s[kFactorsOfB]);
  const auto a_thread = static_cast<uint32_t>(ReadLane(w, s[kFactorsOfA + 2], 0));
  const auto b_thread = static_cast<uint32_t>(ReadLane(w, s[kFactorsOfB + 2], 0));
  for (uint32_t i = 0; i < 8; ++i) {
    for (uint32_t half = 0; half < 2; ++half)
      rows[i + 8 * half] |= of_a[(4 * i + 2 * a_thread + half) % kLanes] != 0;
    columns[i] |= of_b[(4 * i + b_thread) % kLanes] != 0;
  }
}

// Lane l holds rows l / 4 and l / 4 + 8 of A, C and D in turns, and column l / 4 of B: what is in
// one of them goes to all of that row or column of D.
void RegisterPoison::Multiply(const Warp& w, const Instruction& in, const Slot* s, uint32_t mask) {
  const MmaForm form = MmaFormOf(in, w.block->target);
  const uint32_t parts = form.a == Element::kF64 ? 2 : 1;
  const auto count = [&](MmaOperand operand) {
    return static_cast<uint32_t>(RegistersOf(form, operand)) / parts;
  };
  const uint32_t d = count(MmaOperand::kD), a = count(MmaOperand::kA), b = count(MmaOperand::kB);
  const uint32_t c = count(MmaOperand::kC);
  // With narrow sums two columns share a register.
  const uint32_t columns = form.d == Element::kF16 ? 2 : 1;
  bool rows[16] = {}, by_column[8] = {};
  for (uint32_t r = 0; r < a + b; ++r) {
    const PoisonedLanes lanes = Get(s[d + r]);
    for (uint32_t l = 0; l < kLanes; ++l) {
      if (lanes[l] != 0) (r < a ? rows[l / 4 + (r % 2) * 8] : by_column[l / 4]) = true;
    }
  }
  if (in.operation == Operation::kMmaNarrow && in.slot_count > kFactorsOfA) {
    NoteFactors(w, s, rows, by_column);
  }
  std::array<PoisonedLanes, 8> results{};
  for (uint32_t r = 0; r < d; ++r) {
    const uint32_t row = columns == 1 ? r / 2 * 8 : r * 8;
    const PoisonedLanes sum = r < c ? Get(s[d + a + b + r]) : PoisonedLanes{};
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint32_t column = l % 4 * 2;
      const bool in_column =
          columns == 2 ? by_column[column] || by_column[column + 1] : by_column[column + r % 2];
      results[r][l] = rows[(l / 4 + row) % 16] || in_column || sum[l] != 0 ? 0xff : 0;
    }
  }
  for (uint32_t r = 0; r < d; ++r) Put(s[r], results[r], mask);
}

}  // namespace hloscope::ptx
