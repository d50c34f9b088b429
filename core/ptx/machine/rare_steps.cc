// Instructions that few kernels have, one lane at a time, as the PTX ISA writes them down.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "core/ptx/machine/access.h"
#include "core/ptx/machine/each_lane.h"
#include "core/ptx/machine/float_lanes.h"
#include "core/ptx/machine/rounding.h"
#include "core/ptx/machine/steps.h"

namespace hloscope::ptx {
namespace {

bool IsSigned(Type type) { return RowOf(type).kind == TypeKind::kSigned; }

int64_t Extended(uint64_t bits, uint32_t width, bool is_signed) {
  const uint32_t unused = 64 - width;
  if (is_signed) return static_cast<int64_t>(bits << unused) >> unused;
  return static_cast<int64_t>(bits << unused >> unused);
}

// Integers and bits.

void FindBit(const Instruction& in, LaneValues& v) {
  const uint32_t width = RowOf(in.type).bits;
  uint64_t a = v[1];
  if (IsSigned(in.type) && (a >> (width - 1) & 1) != 0) a = ~a;
  a = a << (64 - width) >> (64 - width);
  const auto at = static_cast<uint32_t>(63 - std::countl_zero(a | 1));
  v[0] = a == 0 ? 0xffffffffu : ModifierShiftAmount(in) == ShiftAmount::kOn ? width - 1 - at : at;
}

// 1 of 0, else 0.
void IsZero(const Instruction&, LaneValues& v) { v[0] = v[1] == 0 ? 1 : 0; }

// Products of 24 bits, and sums with their lower or upper 32 of 48 bits.
void MultiplyHalves(const Instruction& in, LaneValues& v) {
  const bool is_signed = IsSigned(in.type);
  const uint32_t width = in.operation == Operation::kMadSat ? 32 : 24;
  const int64_t product = Extended(v[1], width, is_signed) * Extended(v[2], width, is_signed);
  const bool high = ModifierHalf(in) == Half::kHi;
  // Of 32 bits the upper half, of 24 what is above the lowest 16 of 48.
  const int64_t part = high ? product >> (width == 32 ? 32 : 16) : product;
  const bool adds = in.operation != Operation::kMul24;
  if (ModifierSat(in) == Sat::kOn) {
    const int64_t sum = Extended(static_cast<uint64_t>(part), 32, true) + Extended(v[3], 32, true);
    v[0] = static_cast<uint32_t>(std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX));
  } else {
    v[0] = static_cast<uint32_t>(part) + (adds ? static_cast<uint32_t>(v[3]) : 0);
  }
}

// min and max that are not below 0.
void TakeExtremeAboveZero(const Instruction& in, LaneValues& v) {
  const uint32_t width = in.type == Type::kS32 ? 32 : 16;
  uint64_t result = 0;
  for (uint32_t at = 0; at < 32; at += width) {
    const int64_t a = Extended(v[1] >> at, width, true), b = Extended(v[2] >> at, width, true);
    const int64_t chosen = in.operation == Operation::kMinRelu ? std::min(a, b) : std::max(a, b);
    result |= static_cast<uint64_t>(std::max<int64_t>(chosen, 0)) << at;
  }
  v[0] = result;
}

void MakeMask(const Instruction& in, LaneValues& v) {
  const bool clamps = ModifierShift(in) == Shift::kClamp;
  const auto first = static_cast<uint32_t>(v[1] & 31), length = static_cast<uint32_t>(v[2] & 31);
  const uint32_t from = clamps && v[1] >= 32 ? 0 : ~0u << first;
  const bool to_the_top = first + length >= 32 || (clamps && (v[1] >= 32 || v[2] >= 32));
  const uint32_t above = to_the_top ? 0 : length == 0 ? ~0u : ~0u << (first + length);
  v[0] = from & ~above;
}

void FindNthSet(const Instruction&, LaneValues& v) {
  const auto mask = static_cast<uint32_t>(v[1]);
  const auto offset = static_cast<int32_t>(v[3]);
  auto at = static_cast<int64_t>(static_cast<uint32_t>(v[2]));
  v[0] = 0xffffffffu;
  if (offset == 0) {
    if (at < 32 && (mask >> at & 1) != 0) v[0] = static_cast<uint64_t>(at);
    return;
  }
  for (int64_t left = std::abs(int64_t{offset}); at >= 0 && at < 32; at += offset > 0 ? 1 : -1) {
    if ((mask >> at & 1) == 0 || --left > 0) continue;
    v[0] = static_cast<uint64_t>(at);
    return;
  }
}

void ExtendFromBit(const Instruction& in, LaneValues& v) {
  const auto width = static_cast<uint32_t>(v[2] & 31);
  if (ModifierShift(in) == Shift::kClamp && v[2] >= 32) {
    v[0] = v[1];
  } else {
    v[0] = width == 0 ? 0 : static_cast<uint32_t>(Extended(v[1], width, IsSigned(in.type)));
  }
}

void AddDifference(const Instruction& in, LaneValues& v) {
  const uint32_t width = RowOf(in.type).bits;
  const int64_t a = Extended(v[1], width, IsSigned(in.type)),
                b = Extended(v[2], width, IsSigned(in.type));
  const bool less = IsSigned(in.type) ? a < b : static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
  v[0] = v[3] + (less ? v[2] - v[1] : v[1] - v[2]);
}

template <uint32_t kParts>
void AddProducts(const Instruction& in, LaneValues& v) {
  constexpr uint32_t kBits = 32 / kParts;
  const uint32_t first = kParts == 2 && ModifierHalf(in) == Half::kHi ? 2 : 0;
  auto sum = static_cast<uint32_t>(v[3]);
  for (uint32_t p = 0; p < kParts; ++p) {
    const int64_t a = Extended(v[1] >> (kBits * p), kBits, IsSigned(in.type)),
                  b = Extended(v[2] >> (8 * (first + p)), 8, IsSigned(in.source));
    sum += static_cast<uint32_t>(a * b);
  }
  v[0] = sum;
}

// Two numbers within the bounds of a narrow type side by side, and above them the lowest of c.
void PackIntegers(const Instruction& in, LaneValues& v) {
  const uint32_t bits = RowOf(in.type).bits;
  const bool is_signed = IsSigned(in.type);
  const int64_t most = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  const auto narrow = [&](uint64_t value) {
    const int64_t number =
        std::clamp<int64_t>(static_cast<int32_t>(value), is_signed ? -most - 1 : 0, most);
    return static_cast<uint64_t>(number) & ((uint64_t{1} << bits) - 1);
  };
  v[0] = (narrow(v[1]) << bits | narrow(v[2]) | v[3] << (2 * bits)) & 0xffffffffu;
}

void PermuteByMode(const Instruction& in, LaneValues& v) {
  const auto n = static_cast<uint32_t>(v[3] & 3);
  const uint64_t both = v[2] << 32 | (v[1] & 0xffffffffu);
  uint64_t result = 0;
  for (uint32_t i = 0; i < 4; ++i) {
    uint32_t from = 0;
    switch (ModifierPermutation(in)) {
      case Permutation::kF4e:
        from = n + i;
        break;
      case Permutation::kB4e:
        from = (n - i) & 7;
        break;
      case Permutation::kRc8:
        from = n;
        break;
      case Permutation::kEcl:
        from = std::max(i, n);
        break;
      case Permutation::kEcr:
        from = std::min(i, n);
        break;
      default:
        from = 2 * (n & 1) + (i & 1);
        break;
    }
    result |= (both >> (8 * from) & 0xff) << (8 * i);
  }
  v[0] = result;
}

bool Combined(const Instruction& in, bool holds, uint64_t with) {
  switch (ModifierBool(in)) {
    case Bool::kAnd:
      return holds && with != 0;
    case Bool::kOr:
      return holds || with != 0;
    case Bool::kXor:
      return holds != (with != 0);
    default:
      return holds;
  }
}

// d|p, a, b, c, table, q
void EvaluateLogic(LaneValues& v) {
  uint32_t d = 0;
  for (uint32_t i = 0; i < 32; ++i) {
    const uint64_t row = (v[2] >> i & 1) << 2 | (v[3] >> i & 1) << 1 | (v[4] >> i & 1);
    d |= static_cast<uint32_t>(v[5] >> row & 1) << i;
  }
  v[0] = d;
}

void TestLogic(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    LaneValues v = {};
    for (uint32_t i = 2; i < 6; ++i) v[i] = ReadLane(w, s[i], l);
    const uint32_t q = ReadMask(w, s[6]) >> l & 1;
    EvaluateLogic(v);
    WriteLane(w, s[0], l, v[0]);
    WriteMask(w, s[1], Combined(in, v[0] != 0, q) ? kAllLanes : 0, 1u << l);
  }
}

// Floats.

// The number in one of the parts of a packed type, or in all of the value.
double NumberOf(const Instruction& in, Type type, uint64_t bits) {
  double value = 0, least = 0;
  switch (type) {
    case Type::kF64:
      return std::bit_cast<double>(bits);
    case Type::kF32:
      value = std::bit_cast<float>(static_cast<uint32_t>(bits));
      least = std::numeric_limits<float>::min();
      break;
    case Type::kF16:
    case Type::kF16x2:
      value = HalfToFloat(static_cast<uint16_t>(bits));
      least = 0x1p-14;
      break;
    default:
      value = Bf16ToFloat(static_cast<uint16_t>(bits));
      least = std::numeric_limits<float>::min();
      break;
  }
  const bool flushes = ModifierFtz(in) == Ftz::kOn && std::fabs(value) < least;
  return flushes ? std::copysign(0.0, value) : value;
}

bool IsFloat(Type type) {
  return RowOf(type).kind == TypeKind::kFloat || RowOf(type).kind == TypeKind::kPacked;
}

bool OrderedIntegers(const Instruction& in, Type type, uint64_t x, uint64_t y) {
  const uint32_t width = RowOf(type).bits;
  const bool is_signed = IsSigned(type);
  const int64_t a = Extended(x, width, is_signed), b = Extended(y, width, is_signed);
  const bool less = is_signed ? a < b : static_cast<uint64_t>(a) < static_cast<uint64_t>(b);
  switch (ModifierCompare(in)) {
    case Compare::kEq:
      return a == b;
    case Compare::kNe:
      return a != b;
    case Compare::kLt:
    case Compare::kLo:
      return less;
    case Compare::kLe:
    case Compare::kLs:
      return less || a == b;
    case Compare::kGt:
    case Compare::kHi:
      return !less && a != b;
    default:
      return !less;
  }
}

bool Holds(const Instruction& in, Type type, uint64_t a, uint64_t b) {
  if (!IsFloat(type)) return OrderedIntegers(in, type, a, b);
  return FloatsCompare(ModifierCompare(in), NumberOf(in, type, a), NumberOf(in, type, b));
}

// p|q, a, b, c: p of the low halves, q of the high ones.
void CompareHalves(const Instruction& in, LaneValues& v) {
  v[0] = Combined(in, Holds(in, in.type, v[2], v[3]), v[4]);
  v[1] = Combined(in, Holds(in, in.type, v[2] >> 16, v[3] >> 16), v[4]);
}

// p|q, a, b, c: q of the opposite.
void CompareFlushed(const Instruction& in, LaneValues& v) {
  const bool holds = Holds(in, in.type, v[2], v[3]);
  v[0] = Combined(in, holds, v[4]);
  v[1] = Combined(in, !holds, v[4]);
}

// d, a, b, c: 1.0 or all ones.
void CompareToValue(const Instruction& in, LaneValues& v) {
  const bool halves = RowOf(in.source).kind == TypeKind::kPacked;
  uint64_t yes = halves || BytesOf(in.type) == 2 ? 0xffff : 0xffffffffu;
  if (in.type == Type::kF32) yes = 0x3f800000;
  if (in.type == Type::kF16 || in.type == Type::kF16x2) yes = 0x3c00;
  if (in.type == Type::kBf16 || in.type == Type::kBf16x2) yes = 0x3f80;
  v[0] = Combined(in, Holds(in, in.source, v[1], v[2]), v[3]) ? yes : 0;
  if (halves && Combined(in, Holds(in, in.source, v[1] >> 16, v[2] >> 16), v[3])) v[0] |= yes << 16;
}

void SelectBySign(const Instruction& in, LaneValues& v) {
  const bool first = in.source == Type::kF32 ? NumberOf(in, Type::kF32, v[3]) >= 0
                                             : static_cast<int32_t>(v[3]) >= 0;
  v[0] = first ? v[1] : v[2];
}

void TestNumber(const Instruction& in, LaneValues& v) {
  const double value = NumberOf(in, in.type, v[1]);
  const double least = in.type == Type::kF32 ? double{std::numeric_limits<float>::min()}
                                             : std::numeric_limits<double>::min();
  const bool subnormal = value != 0 && std::fabs(value) < least;
  switch (ModifierNumberClass(in)) {
    case NumberClass::kFinite:
      v[0] = std::isfinite(value);
      return;
    case NumberClass::kInfinite:
      v[0] = std::isinf(value);
      return;
    case NumberClass::kNumber:
      v[0] = !std::isnan(value);
      return;
    case NumberClass::kNotANumber:
      v[0] = std::isnan(value);
      return;
    case NumberClass::kNormal:
      v[0] = std::isfinite(value) && !subnormal;
      return;
    default:
      v[0] = subnormal;
  }
}

// min and max of one number: with .xorsign of the magnitudes, with the product's sign. Flushed
// numbers of 16 bits come here as well.
uint64_t Extreme(const Instruction& in, uint64_t x, uint64_t y) {
  const uint32_t width = in.type == Type::kF32 ? 32 : 16;
  const bool signs = ModifierXorSign(in) == XorSign::kOn;
  double a = NumberOf(in, in.type, x), b = NumberOf(in, in.type, y);
  const bool negative = std::signbit(a) != std::signbit(b);
  if (signs) {
    a = std::fabs(a);
    b = std::fabs(b);
  }
  const bool largest = in.operation == Operation::kMaxSigned || in.operation == Operation::kMax;
  const uint64_t nan = width == 32 ? kNan32 : kNan16;
  if ((a != a && b != b) || ((a != a || b != b) && ModifierNan(in) == Nan::kOn)) return nan;
  double chosen = a;
  if (a != a) {
    chosen = b;
  } else if (b == b) {
    const bool a_first = a != b ? a < b : std::signbit(a);
    chosen = a_first == largest ? b : a;
  }
  if (signs) chosen = std::copysign(chosen, negative ? -1.0 : 1.0);
  const auto number = static_cast<float>(chosen);  // exact: it is one of the two
  if (width == 32) return std::bit_cast<uint32_t>(number);
  const bool half = in.type == Type::kF16 || in.type == Type::kF16x2;
  return half ? FloatToHalf(number) : FloatToBf16(number);
}

void TakeExtreme(const Instruction& in, LaneValues& v) {
  v[0] = Extreme(in, v[1], v[2]);
  if (RowOf(in.type).kind == TypeKind::kPacked) v[0] |= Extreme(in, v[1] >> 16, v[2] >> 16) << 16;
}

// Addresses.

// p, address. Parameters of the kernel lie in .param and in .global.
void TestSpace(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  uint32_t result = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const uint64_t address = ReadLane(w, s[1], l), window = address >> kWindowShift;
    const bool own = RankOf(*w.block, address) == w.block->rank;
    const auto& variables = w.block->memory->variables;
    const uint64_t number = window - kFirstVariableWindow;
    const bool constant =
        window >= kFirstVariableWindow && number < variables.size() && !variables[number].writable;
    bool inside = false;
    switch (ModifierStateSpace(in)) {
      case StateSpace::kShared:
      case StateSpace::kSharedCta:
        inside = window == kSharedWindow && own;
        break;
      case StateSpace::kSharedCluster:
        inside = window == kSharedWindow;
        break;
      case StateSpace::kLocal:
        inside = window == kLocalWindow;
        break;
      case StateSpace::kConst:
        inside = constant;
        break;
      case StateSpace::kParam:
      case StateSpace::kParamEntry:
        inside = window == kParamWindow;
        break;
      default:
        inside = window != kSharedWindow && window != kLocalWindow && !constant;
    }
    result |= inside ? 1u << l : 0;
  }
  WriteMask(w, s[0], result, m);
}

// mapa: the address of the same place in another block of the cluster. In a cluster of one block it
// stays as it is.
void MapAddress(Warp& w, const Instruction&, const Slot* s, uint32_t m) {
  const size_t blocks = w.block->cluster->blocks.size();
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const uint64_t address = ReadLane(w, s[1], l), rank = ReadLane(w, s[2], l);
    if (rank >= blocks) {
      return w.block->Fail(
          "block " + std::to_string(rank) + " of a cluster of " + std::to_string(blocks),
          w.first_thread + l);
    }
    WriteLane(w, s[0], l, blocks == 1 ? address : InBlock(address, rank));
  }
}

// getctarank: which block of the cluster has an address.
void FindRank(Warp& w, const Instruction&, const Slot* s, uint32_t m) {
  const bool alone = w.block->cluster->blocks.size() == 1;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    WriteLane(w, s[0], l, alone ? 0 : RankOf(*w.block, ReadLane(w, s[1], l)));
  }
}

// d, bytes: from the end of local memory down, at multiples of what the instruction says.
void Allocate(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const uint64_t align = std::max<uint64_t>(in.value, 8);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const uint64_t bytes = ReadLane(w, s[1], l), top = w.stack[l];
    if ((align & (align - 1)) != 0 || bytes > top ||
        (top - bytes) / align * align < w.block->stack_begin) {
      return w.block->Fail("alloca of more than the stack of a thread has, which is " +
                               std::to_string(w.block->local_bytes - w.block->stack_begin) +
                               " bytes here",
                           w.first_thread + l);
    }
    w.stack[l] = (top - bytes) / align * align;
    WriteLane(w, s[0], l, w.stack[l]);
  }
}

void SaveStack(Warp& w, const Instruction&, const Slot* s, uint32_t m) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) != 0) WriteLane(w, s[0], l, w.stack[l]);
  }
}

void RestoreStack(Warp& w, const Instruction&, const Slot* s, uint32_t m) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const uint64_t top = ReadLane(w, s[0], l);
    if (top < w.stack[l] || top > w.block->local_bytes)
      return w.block->Fail("stackrestore of what stacksave did not give", w.first_thread + l);
    w.stack[l] = top;
  }
}

// A policy, which is a number that nobody looks at: what a cache is told changes no values.
void WriteZero(Warp& w, const Instruction&, const Slot* s, uint32_t m) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) != 0) WriteLane(w, s[0], l, 0);
  }
}

// Unsigned comparisons are of integers, unordered ones of floats.
bool Compares(const Instruction& i, Type type) {
  const Compare compare = ModifierCompare(i);
  return IsFloat(type) ? compare < Compare::kLo || compare > Compare::kHs : compare < Compare::kEqu;
}

}  // namespace

Step RareStep(const Instruction& i) {
  const bool is_flushed = ModifierFtz(i) == Ftz::kOn && BytesOf(i.type) < 8;
  switch (i.operation) {
    case Operation::kBfind:
      return EachLane<FindBit>;
    case Operation::kCnot:
      return EachLane<IsZero>;
    case Operation::kMadSat:
    case Operation::kMul24:
    case Operation::kMad24:
      return EachLane<MultiplyHalves>;
    case Operation::kMinRelu:
    case Operation::kMaxRelu:
      return EachLane<TakeExtremeAboveZero>;
    case Operation::kBmsk:
      return EachLane<MakeMask>;
    case Operation::kFns:
      return EachLane<FindNthSet>;
    case Operation::kSzext:
      return EachLane<ExtendFromBit>;
    case Operation::kSad:
      return EachLane<AddDifference>;
    case Operation::kDp4a:
      return EachLane<AddProducts<4>>;
    case Operation::kDp2a:
      return EachLane<AddProducts<2>>;
    case Operation::kCvtIntegers:
      return EachLane<PackIntegers>;
    case Operation::kPrmtMode:
      return EachLane<PermuteByMode>;
    case Operation::kLop3Bool:
      return TestLogic;
    case Operation::kSetpHalves:
      return Compares(i, i.type) ? EachLane<CompareHalves> : nullptr;
    case Operation::kSetp:
      return is_flushed && i.type == Type::kF16 && Compares(i, i.type) ? EachLane<CompareFlushed>
                                                                       : nullptr;
    case Operation::kSet:
      return Compares(i, i.source) ? EachLane<CompareToValue> : nullptr;
    case Operation::kSlct:
      return EachLane<SelectBySign>;
    case Operation::kTestp:
      return EachLane<TestNumber>;
    case Operation::kMinSigned:
    case Operation::kMaxSigned:
      return EachLane<TakeExtreme>;
    case Operation::kMin:
    case Operation::kMax:
      return is_flushed && IsFloat(i.type) ? EachLane<TakeExtreme> : nullptr;
    case Operation::kIsspacep:
      return TestSpace;
    case Operation::kAlloca:
      return Allocate;
    case Operation::kStackSave:
      return SaveStack;
    case Operation::kStackRestore:
      return RestoreStack;
    case Operation::kPolicy:
      return WriteZero;
    case Operation::kClusterRank:
      return FindRank;
    case Operation::kClusterAddress:
      return MapAddress;
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx
