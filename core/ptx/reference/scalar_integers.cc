// Integers, bits and addresses, one lane at a time.
#include <bit>

#include "core/ptx/reference/scalar_parts.h"

namespace hloscope::ptx::reference {

bool CarryArithmetic(const Instruction& in, std::span<uint64_t> v, bool& carry) {
  const uint32_t width = RowOf(in.type).bits;
  const bool mad = in.operation == Operation::kMadCarry || in.operation == Operation::kMadWithCarry;
  const bool takes =
      in.operation == Operation::kAddWithCarry || in.operation == Operation::kMadWithCarry;
  const Integer one = 1;
  Integer sum = static_cast<Integer>(Cut(static_cast<Integer>(v[mad ? 3 : 2]), width));
  if (mad) {
    const Integer product = IntegerOf(in.type, v[1]) * IntegerOf(in.type, v[2]);
    sum += static_cast<Integer>(
        Cut(ModifierHalf(in) == Half::kHi ? product >> width : product, width));
  } else {
    sum += static_cast<Integer>(Cut(static_cast<Integer>(v[1]), width));
  }
  sum += takes && carry ? 1 : 0;
  v[0] = Cut(sum, width);
  if (ModifierCarry(in) == Carry::kOut) carry = sum >= one << width;
  return true;
}

bool BorrowArithmetic(const Instruction& in, std::span<uint64_t> v, bool& borrow) {
  const uint32_t width = RowOf(in.type).bits;
  Integer rest = static_cast<Integer>(Cut(static_cast<Integer>(v[1]), width)) -
                 static_cast<Integer>(Cut(static_cast<Integer>(v[2]), width));
  rest -= in.operation == Operation::kSubWithCarry && borrow ? 1 : 0;
  v[0] = Cut(rest, width);
  if (ModifierCarry(in) == Carry::kOut) borrow = rest < 0;
  return true;
}

bool IntegerArithmetic(const Instruction& in, std::span<const Slot> slots, std::span<uint64_t> v) {
  const uint32_t width = RowOf(in.type).bits;
  const uint32_t to = 8u * slots[0].bytes;
  const auto a = [&] { return IntegerOf(in.type, v[1]); };
  const auto b = [&] { return IntegerOf(in.type, v[2]); };
  const auto shift = [&] { return static_cast<uint32_t>(v[2]); };
  const bool saturates = ModifierSat(in) == Sat::kOn;
  switch (in.operation) {
    case Operation::kAdd:
      v[0] = Cut(saturates ? Clamped(a() + b(), in.type) : a() + b(), to);
      return true;
    case Operation::kSub:
      v[0] = Cut(saturates ? Clamped(a() - b(), in.type) : a() - b(), to);
      return true;
    case Operation::kMul:
    case Operation::kMad: {
      if (width == 64 && ModifierHalf(in) != Half::kHi) {
        v[0] = v[1] * v[2] + (in.operation == Operation::kMad ? v[3] : 0);
        return true;
      }
      Integer product = a() * b();
      if (width == 64 && RowOf(in.type).kind != TypeKind::kSigned) {
        const auto wide = static_cast<unsigned __int128>(v[1]) * v[2];
        product = static_cast<Integer>(static_cast<uint64_t>(wide >> 64));
      } else if (ModifierHalf(in) == Half::kHi) {
        product >>= width;
      }
      if (in.operation == Operation::kMad) product += IntegerOf(in.type, v[3]);
      v[0] = Cut(product, to);
      return true;
    }
    case Operation::kMulWide:
      v[0] = Cut(a() * b(), to);
      return true;
    case Operation::kMadWide:
      v[0] = Cut(a() * b() + static_cast<Integer>(v[3]), to);
      return true;
    case Operation::kDiv:
      v[0] = Cut(b() == 0 ? -1 : a() / b(), to);
      return true;
    case Operation::kRem:
      v[0] = Cut(b() == 0 ? a() : a() % b(), to);
      return true;
    case Operation::kMin:
      v[0] = Cut(std::min(a(), b()), to);
      return true;
    case Operation::kMax:
      v[0] = Cut(std::max(a(), b()), to);
      return true;
    case Operation::kNeg:
      v[0] = Cut(-a(), to);
      return true;
    case Operation::kAbs:
      v[0] = Cut(a() < 0 ? -a() : a(), to);
      return true;
    case Operation::kShl:
      v[0] = shift() >= width ? 0 : Cut(static_cast<Integer>(v[1]) << shift(), to);
      return true;
    case Operation::kShr:
      v[0] = Cut(a() >> std::min(shift(), 127u), to);
      return true;
    case Operation::kPopc:
      v[0] = static_cast<uint64_t>(std::popcount(Cut(static_cast<Integer>(v[1]), width)));
      return true;
    case Operation::kClz: {
      uint64_t zeros = 0;
      while (zeros < width && (v[1] >> (width - 1 - zeros) & 1) == 0) ++zeros;
      v[0] = zeros;
      return true;
    }
    case Operation::kBrev: {
      uint64_t out = 0;
      for (uint32_t i = 0; i < width; ++i) out |= (v[1] >> i & 1) << (width - 1 - i);
      v[0] = out;
      return true;
    }
    case Operation::kBfe: {
      const uint32_t at = v[2] & 0xff, length = v[3] & 0xff;
      const bool is_signed = RowOf(in.type).kind == TypeKind::kSigned;
      const auto bit = [&](uint32_t i) -> uint64_t {
        if (i < width) return v[1] >> i & 1;
        return 0;
      };
      const uint64_t sign = is_signed && length > 0 ? bit(std::min(at + length - 1, width - 1)) : 0;
      uint64_t out = 0;
      for (uint32_t i = 0; i < width; ++i) {
        const uint64_t one = i < length && at + i < width ? bit(at + i) : sign;
        out |= one << i;
      }
      v[0] = length == 0 ? 0 : out;
      return true;
    }
    case Operation::kBfi: {
      const uint32_t at = v[3] & 0xff, length = v[4] & 0xff;
      uint64_t out = v[2];
      for (uint32_t i = 0; i < length && at + i < width; ++i) {
        out &= ~(uint64_t{1} << (at + i));
        out |= (v[1] >> std::min(i, 63u) & 1) << (at + i);
      }
      v[0] = out;
      return true;
    }
    default:
      return false;
  }
}

bool BitwiseOperation(const Instruction& in, std::span<const Slot> slots, std::span<uint64_t> v) {
  const uint32_t width = in.type == Type::kPred ? 1 : 8u * slots[0].bytes;
  switch (in.operation) {
    case Operation::kAnd:
      v[0] = v[1] & v[2];
      return true;
    case Operation::kOr:
      v[0] = v[1] | v[2];
      return true;
    case Operation::kXor:
      v[0] = v[1] ^ v[2];
      return true;
    case Operation::kNot:
      v[0] = Cut(static_cast<Integer>(~v[1]), width);
      return true;
    case Operation::kMov:
      v[0] = v[1];
      return true;
    case Operation::kSelp:
      v[0] = v[3] != 0 ? v[1] : v[2];
      return true;
    case Operation::kLop3: {
      uint64_t out = 0;
      for (uint32_t i = 0; i < 32; ++i) {
        const uint64_t row = (v[1] >> i & 1) << 2 | (v[2] >> i & 1) << 1 | (v[3] >> i & 1);
        out |= (v[4] >> row & 1) << i;
      }
      v[0] = out;
      return true;
    }
    case Operation::kPrmt: {
      uint64_t out = 0;
      for (uint32_t i = 0; i < 4; ++i) {
        const auto nibble = static_cast<uint32_t>(v[3] >> (4 * i)) & 15;
        const uint64_t word = (nibble & 4) != 0 ? v[2] : v[1];
        const uint64_t byte = word >> (8 * (nibble & 3)) & 0xff;
        const bool copies_sign = nibble >= 8;
        out |= (copies_sign ? (byte >= 128 ? 0xff : 0) : byte) << (8 * i);
      }
      v[0] = out;
      return true;
    }
    case Operation::kShf: {
      const bool wraps = ModifierShift(in) == Shift::kWrap;
      const auto by = static_cast<uint32_t>(v[3]);
      const uint32_t count = wraps ? by % 32 : std::min(by, 32u);
      const auto both = static_cast<unsigned __int128>(v[2]) << 32 | v[1];
      v[0] = static_cast<uint32_t>(ModifierDirection(in) == Direction::kLeft ? both << count >> 32
                                                                             : both >> count);
      return true;
    }
    default:
      return false;
  }
}

bool Repack(const Instruction& in, std::span<const Slot> slots, std::span<uint64_t> v) {
  const size_t last = slots.size() - 1;
  if (in.operation == Operation::kPack) {
    v[0] = 0;
    uint32_t at = 0;
    for (size_t i = 1; i <= last; at += 8u * slots[i].bytes, ++i) v[0] |= v[i] << at;
    return true;
  }
  uint32_t at = 0;
  for (size_t i = 0; i < last; at += 8u * slots[i].bytes, ++i)
    v[i] = Cut(static_cast<Integer>(v[last] >> at), 8u * slots[i].bytes);
  return true;
}

bool Address(const Instruction& in, std::span<uint64_t> v) {
  uint64_t window = 0;
  switch (ModifierStateSpace(in)) {
    case StateSpace::kShared:
    case StateSpace::kSharedCta:
    case StateSpace::kSharedCluster:
      window = kSharedWindow;
      break;
    case StateSpace::kLocal:
      window = kLocalWindow;
      break;
    case StateSpace::kParam:
    case StateSpace::kParamEntry:
      window = kParamWindow;
      break;
    default:
      break;
  }
  const uint64_t base = window << kWindowShift;
  v[0] = ModifierTo(in) == To::kSpace ? v[1] - base : v[1] + base;
  return true;
}

}  // namespace hloscope::ptx::reference
