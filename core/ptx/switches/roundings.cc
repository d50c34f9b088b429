// Steps that round otherwise. They take their time: they run for one kernel at a time.
#include "core/ptx/switches/roundings.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/ptx/machine/lanes.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/module.h"
#include "core/ptx/switches/approximations.h"

namespace hloscope::ptx {
namespace {

Instruction Rounded(const Instruction& in, Round round) {
  Instruction other = in;
  other.modifiers[static_cast<size_t>(ModifierGroup::kRound)] = static_cast<uint8_t>(round);
  return other;
}

bool IsWide(Type type) { return type == Type::kF32 || type == Type::kF64; }

bool Rounds(const Instruction& in) {
  switch (in.operation) {
    case Operation::kAdd:
    case Operation::kSub:
    case Operation::kMul:
    case Operation::kFma:
    case Operation::kDiv:
    case Operation::kRcp:
    case Operation::kSqrt:
      return IsWide(in.type) && !in.approximate;
    case Operation::kCvt: {
      // Among floats only what narrows rounds.
      const bool from_integer = RowOf(in.source).kind == TypeKind::kSigned ||
                                RowOf(in.source).kind == TypeKind::kUnsigned;
      return IsWide(in.type) && ModifierRound(in) != Round::kNone &&
             (from_integer || RowOf(in.source).bits > RowOf(in.type).bits);
    }
    default:
      return false;
  }
}

// The lanes that go up: the same for the same draw, instruction and operands. Draws come in pairs
// that take opposite sides, so that one of them moves what a single rounding decides.
uint32_t Drawn(const Warp& w, const Instruction& in, const Slot* s, uint32_t m, uint32_t draw) {
  uint32_t up = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((m >> lane & 1) == 0) continue;
    uint64_t hash =
        (uint64_t{draw / 2} << 32 | in.first_slot) * 0x9e3779b97f4a7c15u + (w.first_thread + lane);
    for (uint32_t i = 1; i < std::min(in.slot_count, 4u); ++i) {
      if (!s[i].present() || s[i].written || s[i].bytes == 0) continue;
      hash = (hash ^ (hash >> 29) ^ ReadLane(w, s[i], lane)) * 0xbf58476d1ce4e5b9u;
    }
    up |= static_cast<uint32_t>(hash >> 63) << lane;
  }
  return draw % 2 != 0 ? ~up : up;
}

template <uint32_t kDraw>
void RoundRandomly(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const uint32_t up = Drawn(w, in, s, m, kDraw);
  const Instruction raised = Rounded(in, Round::kRp), lowered = Rounded(in, Round::kRm);
  if ((m & up) != 0) StepOf(raised)(w, raised, s, m & up);
  if ((m & ~up) != 0) StepOf(lowered)(w, lowered, s, m & ~up);
}

template <uint32_t kDraw>
void PushRandomly(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const uint32_t up = Drawn(w, in, s, m, kDraw);
  StepOf(in)(w, in, s, m);
  PushApproximation(w, in, s, m & up, 1);
  PushApproximation(w, in, s, m & ~up, -1);
}

// Of every element of a sum of f32 in registers.
template <uint32_t kDraw>
void MultiplyRandomly(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  StepOf(in)(w, in, s, m);
  constexpr uint32_t kInfinity = 0x7f800000;
  for (uint32_t i = 0; i < in.slot_count && s[i].written && s[i].bytes == 4; ++i) {
    Values<uint32_t> sums = Read<uint32_t>(w, s[i]);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const uint32_t bits = sums.v[lane], magnitude = bits & 0x7fffffff;
      const uint32_t hash = (bits ^ (kDraw / 2 * 0x9e3779b9u + lane)) * 0x85ebca6bu;
      const uint32_t step = ((hash >> 31) ^ (kDraw % 2)) != 0 ? 1u : ~0u;
      sums.v[lane] = magnitude == 0 || magnitude >= kInfinity ? bits : bits + step;
    }
    Write(w, s[i], sums, m);
  }
}

bool SumsFloats(const Instruction& in) {
  return in.operation == Operation::kMmaK4 || in.operation == Operation::kMmaK8 ||
         in.operation == Operation::kMmaK16;
}

template <uint32_t... kDraw>
Step StepFor(const Instruction& in, Step usual, uint32_t draw,
             std::integer_sequence<uint32_t, kDraw...>) {
  static constexpr Step kRounds[] = {RoundRandomly<kDraw>...};
  static constexpr Step kPushes[] = {PushRandomly<kDraw>...};
  static constexpr Step kMultiplies[] = {MultiplyRandomly<kDraw>...};
  if (IsApproximateFloat(in)) return kPushes[draw];
  if (SumsFloats(in)) return kMultiplies[draw];
  if (!Rounds(in) || StepOf(Rounded(in, Round::kRp)) == nullptr ||
      StepOf(Rounded(in, Round::kRm)) == nullptr)
    return usual;
  return kRounds[draw];
}

void RoundToNearest(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const Instruction nearest = Rounded(in, Round::kRn);
  StepOf(nearest)(w, nearest, s, m);
}

bool IsDirected(const Instruction& in) {
  const Round round = ModifierRound(in);
  if (round != Round::kRz && round != Round::kRm && round != Round::kRp) return false;
  const TypeKind kind = RowOf(in.type).kind;
  const bool is_float = kind == TypeKind::kFloat || kind == TypeKind::kPacked;
  return is_float && in.slot_count > 1 && StepOf(Rounded(in, Round::kRn)) != nullptr;
}

// Computes with the bits of its operands as an integer, or cuts them to one (as remainders and
// roundings away from zero do).
bool TakesApart(const Instruction& in) {
  switch (in.operation) {
    case Operation::kCvt:
      return in.modifiers[static_cast<size_t>(ModifierGroup::kIntegerRound)] != 0;
    case Operation::kAdd:
    case Operation::kSub:
    case Operation::kShl:
    case Operation::kShr:
    case Operation::kAnd: {
      const TypeKind kind = RowOf(in.type).kind;
      return kind == TypeKind::kBits || kind == TypeKind::kUnsigned || kind == TypeKind::kSigned;
    }
    default:
      return false;
  }
}

// It, or what moves make of it.
bool IsTakenApart(const Kernel& kernel, uint32_t offset) {
  std::vector<uint32_t> names{offset};
  for (size_t next = 0; next < names.size(); ++next) {
    for (const Instruction& in : kernel.instructions) {
      const Slot* const s = kernel.slots.data() + in.first_slot;
      const bool reads = std::ranges::any_of(std::span(s, in.slot_count), [&](const Slot& slot) {
        return !slot.written && slot.present() && slot.offset == names[next];
      });
      if (!reads) continue;
      if (TakesApart(in)) return true;
      if (in.operation == Operation::kMov && std::ranges::find(names, s[0].offset) == names.end())
        names.push_back(s[0].offset);
    }
  }
  return false;
}

}  // namespace

Step RandomRounding::Changed(const Instruction& in, Step usual) const {
  return StepFor(in, usual, draw_ % kDraws, std::make_integer_sequence<uint32_t, kDraws>());
}

bool RoundingsAreDrawn(const Module& module, std::string_view entry) {
  for (const Executable& executable : module.contents().executables) {
    if (executable.kernel->name != entry) continue;
    for (const Instruction& in : executable.kernel->instructions) {
      if (ClassOf(in.operation) == InstructionClass::kTensor && !SumsFloats(in)) return false;
    }
  }
  return true;
}

std::vector<DirectedRounding> DirectedRoundings(const Module& module, std::string_view entry) {
  std::vector<DirectedRounding> found;
  for (const Executable& executable : module.contents().executables) {
    const Kernel& kernel = *executable.kernel;
    if (kernel.name != entry) continue;
    for (size_t pc = 0; pc < kernel.instructions.size(); ++pc) {
      const Instruction& in = kernel.instructions[pc];
      if (IsDirected(in) && !IsTakenApart(kernel, kernel.slots[in.first_slot].offset))
        found.push_back({in.position, kernel.forms[pc]});
    }
  }
  return found;
}

Step RoundingToNearest::Changed(const Instruction& in, Step usual) const {
  const bool is_it = in.position.line == place_.line && in.position.column == place_.column;
  return is_it && IsDirected(in) ? RoundToNearest : usual;
}

}  // namespace hloscope::ptx
