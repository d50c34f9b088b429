// Checker: loads, stores, atomics and copies.
#include <algorithm>
#include <bit>
#include <cstring>

#include "core/ptx/checks/checker.h"
#include "core/ptx/checks/same_bytes.h"
#include "core/ptx/machine/access.h"

namespace hloscope::ptx {
namespace {

constexpr uint64_t Low(uint32_t count) {
  return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

// What a register of `slot` gets from `bytes` loaded bytes, `poison` a bit for each.
uint8_t Loaded(uint64_t poison, const Instruction& in, uint32_t bytes) {
  const auto bits = static_cast<uint8_t>(poison & Low(bytes));
  return bits != 0 && RowOf(in.type).kind == TypeKind::kSigned ? 0xff : bits;
}

template <typename T>
void GatherColumn(const Warp& warp, const Slot& slot, uint32_t bytes, uint32_t stride,
                  std::byte* to) {
  const Values<T> values = Read<T>(warp, slot);
  for (uint32_t l = 0; l < kLanes; ++l) std::memcpy(to + l * stride, &values.v[l], bytes);
}

// What all lanes store, one lane behind the other.
void GatherStored(const Warp& warp, const Slot* slots, uint32_t width, uint32_t bytes,
                  std::byte* to) {
  if (width == 1 && slots[0].bytes == bytes) {
    std::memcpy(to, SourceOf(warp, slots[0]), kLanes * bytes);
    return;
  }
  for (uint32_t v = 0; v < width; ++v) {
    const auto gather = slots[v].bytes == 2   ? GatherColumn<uint16_t>
                        : slots[v].bytes == 4 ? GatherColumn<uint32_t>
                                              : GatherColumn<uint64_t>;
    gather(warp, slots[v], bytes, width * bytes, to + v * bytes);
  }
}

}  // namespace

bool Checker::IsPlain(const Addresses& a) const {
  if (IsShared(a.space) || a.space == StateSpace::kLocal) return false;
  if (a.space == StateSpace::kParam || a.space == StateSpace::kParamEntry) return true;
  uint64_t low = ~uint64_t{0}, high = 0;
  for (uint32_t l = 0; l < kLanes; ++l) {
    const uint64_t address = (a.mask >> l & 1) != 0 ? a.of[l] : a.of[std::countr_zero(a.mask)];
    low = std::min(low, address);
    high = std::max(high, address);
  }
  const uint64_t window = low >> kWindowShift;
  if (window != high >> kWindowShift || window < kFirstArgumentWindow) return false;
  const uint64_t number = window - kFirstArgumentWindow;
  if (number >= arguments_.size()) return true;
  const Argument& argument = arguments_[number];
  if (argument.races && !ordered_) return false;
  const uint64_t end = (high & ((uint64_t{1} << kWindowShift) - 1)) + a.bytes;
  const uint64_t begin = low & ((uint64_t{1} << kWindowShift) - 1);
  if (!launch_.uninitialised) return true;
  if (end > memory_.arguments[number].bytes) return false;
  return argument.all_written ||
         (end - begin <= 4096 &&
          !argument.region->unwritten.AnyIn(argument.offset + begin, argument.offset + end));
}

RaceSearch Checker::SearchIn(const Spot& spot, const Warp& warp) const {
  return {clocks_, spot.window == kSharedWindow ? clocks_.first() : floor_,
          warp.first_in_cluster / kLanes};
}
Stamp Checker::StampOf(const Warp& warp, uint32_t lane, bool is_async) const {
  const uint32_t number = warp.first_in_cluster / kLanes;
  return Stamp::Of(clocks_.Now(is_async ? kLanes + number : number), block_->pc, is_async,
                   warp.first_in_cluster + lane);
}

void Checker::CheckRead(const Warp& warp, uint32_t lane, const Spot& spot, uint32_t bytes) {
  if (spot.cells == nullptr) return;
  const auto end = static_cast<uint32_t>(std::min<uint64_t>(bytes, spot.held));
  const uint32_t thread = warp.first_in_cluster + lane;
  const RaceSearch search = SearchIn(spot, warp);
  const Stamp me = StampOf(warp, lane, false);
  for (uint32_t i = 0; i < end; i += spot.grain) {
    const uint64_t cell = (spot.at + i) / spot.grain;
    const auto found = search.Read(spot.cells->PageOf(cell), spot.cells->IndexOf(cell), me);
    if (!found) continue;
    Spot at = spot;
    at.offset += i;
    ReportRace(*found, false, thread, at);
  }
}

void Checker::CheckWrite(const Warp& warp, uint32_t lane, const Spot& spot, const std::byte* values,
                         uint32_t bytes, bool is_async) {
  if (spot.cells == nullptr || bytes > spot.held) return;
  const uint32_t thread = warp.first_in_cluster + lane;
  const RaceSearch search = SearchIn(spot, warp);
  const Stamp me = StampOf(warp, lane, is_async);
  for (uint32_t i = 0; i < bytes; i += spot.grain) {
    const uint32_t size = std::min(spot.grain, bytes - i);
    // What a copy brings comes later: what is there now says nothing.
    const bool changes = is_async || !IsSame(spot.data + i, values + i, size);
    if (!changes && repeats_ && spot.window == kSharedWindow) continue;
    const uint64_t cell = (spot.at + i) / spot.grain;
    const auto found =
        search.Write(spot.cells->PageOf(cell), spot.cells->IndexOf(cell), me, changes);
    if (!found) continue;
    Spot at = spot;
    at.offset += i;
    ReportRace(*found, true, thread, at);
  }
}

uint64_t Checker::PoisonOf(const Spot& spot, uint32_t bytes) {
  if (!launch_.uninitialised) return 0;
  const auto held = static_cast<uint32_t>(std::min<uint64_t>(bytes, spot.held));
  uint64_t poison = Low(bytes) & ~Low(held);
  // The word around the last narrow element may end behind the argument.
  if (facts_.has_swaps && bytes <= 4 && held > 0) poison = 0;
  if (held > 0 && spot.unwritten != nullptr) poison |= spot.unwritten->Get(spot.at, held);
  read_unwritten_ |= poison != 0;
  return poison;
}

std::string Checker::PoisonSource() const {
  std::string text = read_unwritten_ ? "uninitialised memory" : "";
  const auto add = [&](const char* source) {
    text += (text.empty() ? "" : " or ") + std::string(source);
  };
  if (!launch_.kernel->read_first.empty()) add("a register that nothing has written");
  if (took_from_others_) add("a lane that takes no part in its shuffle");
  return text.empty() ? "uninitialised memory" : text;
}

// A store to an argument is where poison has arrived: it is reported once, and then counts as
// written.
void Checker::Poison(const Warp& warp, uint32_t lane, const Spot& spot, uint32_t bytes,
                     uint64_t poison) {
  if (spot.unwritten == nullptr || bytes > spot.held) return;
  const bool own = spot.window == kSharedWindow || spot.window == kLocalWindow;
  if (!own && poison != 0) {
    Spot at = spot;
    at.offset += static_cast<uint64_t>(std::countr_zero(poison));
    Report(FindingKind::kUninitialised, "stores a value computed from " + PoisonSource(),
           warp.first_in_cluster + lane, &at);
    poison = 0;
  }
  if (poison != 0 && spot.window == kSharedWindow) shared_poisoned_ = true;
  spot.unwritten->Put(spot.at, bytes, poison);
}

void Checker::Load(Warp& warp, const Instruction& in, const Slot* s, uint32_t mask) {
  if (IsShared(ModifierStateSpace(in)) && Repeats(warp)) return;
  const uint32_t width = in.vector_width(), bytes = BytesOf(in.type);
  const Addresses addresses =
      AddressesOf(warp, in, ModifierStateSpace(in), s[width], 0, bytes * width, mask);
  const bool follows = launch_.uninitialised;
  RegisterPoison* const registers = follows ? &PoisonOf(warp) : nullptr;
  if (follows) CheckOperand(warp, s[width], mask, "loads from an uninitialised address");
  uint64_t poison[kLanes] = {};
  uint64_t any = 0;
  if (IsOrdered(in) && facts_.orders_blocks) ordered_ = true;
  NoteStrictly(warp, addresses, false, false);
  const auto done = [&] {
    if (IsPlain(addresses)) return true;
    return !IsOrdered(in) && CheckReadOfAll(warp, addresses);
  };
  if (!done()) {
    Spot spot;
    for (uint32_t l = 0; l < kLanes; ++l) {
      if ((mask >> l & 1) == 0) continue;
      Move(spot, warp, addresses.space, addresses.of[l], l);
      if (!spot.inside) continue;
      if (!IsOrdered(in)) CheckRead(warp, l, spot, addresses.bytes);
      poison[l] = PoisonOf(spot, addresses.bytes);
      any |= poison[l];
    }
  }
  if (any != 0) NotePoisonedRead(addresses.space);
  if (!follows || (any == 0 && !registers->any())) return;
  const uint32_t guard = registers->Guard(in.guard);
  for (uint32_t v = 0; v < width; ++v) {
    PoisonedLanes lanes;
    for (uint32_t l = 0; l < kLanes; ++l)
      lanes[l] = (guard >> l & 1) != 0 ? 0xff : Loaded(poison[l] >> (v * bytes), in, bytes);
    registers->Put(s[v], lanes, mask | guard);
  }
}

void Checker::Store(Warp& warp, const Instruction& in, const Slot* s, uint32_t mask) {
  if (IsShared(ModifierStateSpace(in)) && Repeats(warp)) return;
  const uint32_t width = in.vector_width(), bytes = BytesOf(in.type);
  const Addresses addresses =
      AddressesOf(warp, in, ModifierStateSpace(in), s[0], 0, bytes * width, mask);
  NoteStrictly(warp, addresses, true, false);
  const bool poisoned = launch_.uninitialised && PoisonOf(warp).any();
  PoisonedLanes lanes[8];
  if (poisoned) {
    CheckOperand(warp, s[0], mask, "stores to an uninitialised address");
    if (in.guard != Slot::kAbsent)
      CheckOperand(warp, Slot{in.guard, 0}, mask, "stores under an uninitialised predicate");
    for (uint32_t v = 0; v < width; ++v) lanes[v] = PoisonOf(warp).Get(s[1 + v]);
  }
  if (!poisoned && !IsOrdered(in) && addresses.bytes <= kMaxBytes) {
    std::byte values[kLanes * kMaxBytes];
    if (launch_.race) GatherStored(warp, s + 1, width, bytes, values);
    if (CheckWriteOfAll(warp, addresses, values)) return;
  }
  Spot spot;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1) == 0) continue;
    Move(spot, warp, addresses.space, addresses.of[l], l);
    if (!spot.inside) continue;
    if (spot.cells != nullptr && !IsOrdered(in)) {
      std::byte values[64];
      for (uint32_t v = 0; v < width; ++v) {
        const uint64_t bits = ReadLane(warp, s[1 + v], l);
        std::memcpy(values + v * bytes, &bits, bytes);
      }
      CheckWrite(warp, l, spot, values, addresses.bytes, false);
    }
    uint64_t poison = 0;
    for (uint32_t v = 0; v < width && poisoned; ++v)
      poison |= (lanes[v][l] & Low(bytes)) << (v * bytes);
    Poison(warp, l, spot, addresses.bytes, poison);
  }
}

// Atomics race with nobody. What they leave is poisoned by what was there and by what they add.
void Checker::Atomic(Warp& warp, const Instruction& in, const Slot* s, uint32_t mask) {
  if (facts_.orders_blocks) ordered_ = true;
  if (!launch_.uninitialised) return;
  const bool returns = in.operation != Operation::kRed;
  const uint32_t width = in.vector_width(), bytes = BytesOf(in.type);
  const Slot* const from = returns ? s + width : s;
  RegisterPoison& registers = PoisonOf(warp);
  CheckOperand(warp, from[0], mask, "updates an uninitialised address");
  for (uint32_t v = 0; v < width; ++v) {
    PoisonedLanes result{};
    const PoisonedLanes value = registers.Get(from[1 + v]);
    for (uint32_t l = 0; l < kLanes; ++l) {
      if ((mask >> l & 1) == 0) continue;
      const uint64_t address = AddressOf(warp, in, from[0], l) + v * bytes;
      const Spot spot = SpotOf(warp, ModifierStateSpace(in), address, l);
      if (!spot.inside) continue;
      const uint64_t held = PoisonOf(spot, bytes);
      result[l] = held != 0 ? 0xff : 0;
      const bool replaces =
          in.operation != Operation::kAtomCas && ModifierAtomic(in) == Atomic::kExch;
      const bool left = value[l] != 0 || (held != 0 && !replaces);
      Poison(warp, l, spot, bytes, left ? Low(bytes) : 0);
    }
    if (returns && (registers.any() || std::ranges::any_of(result, [](auto p) { return p != 0; })))
      registers.Put(s[v], result, mask);
  }
}

// A copy reads when it starts; what it brings is there when its group was waited for.
void Checker::Copy(Warp& warp, const Instruction& in, const Slot* s, uint32_t mask) {
  if (launch_.uninitialised) {
    CheckOperand(warp, s[0], mask, "copies to an uninitialised address");
    CheckOperand(warp, s[1], mask, "copies from an uninitialised address");
  }
  Addresses from = AddressesOf(warp, in, StateSpace::kGlobal, s[1], 1, in.value, mask);
  const Addresses to = AddressesOf(warp, in, StateSpace::kShared, s[0], 0, in.value, mask);
  NoteStrictly(warp, to, true, true);
  uint32_t taken[kLanes];  // bytes that a lane reads; the rest of what it writes is zero
  for (uint32_t l = 0; l < kLanes; ++l) {
    taken[l] = in.value;
    if (in.operation == Operation::kCpAsyncIgnore) {
      if ((ReadMask(warp, s[2]) >> l & 1) != 0) taken[l] = 0;
    } else if (s[2].present()) {
      taken[l] = std::min(in.value, static_cast<uint32_t>(ReadLane(warp, s[2], l)));
    }
    if (taken[l] != in.value) from.mask &= ~(1u << l);
  }
  const bool whole =
      std::ranges::all_of(taken, [&](uint32_t n) { return n == 0 || n == in.value; });
  if (whole && (from.mask == 0 || IsPlain(from) || CheckReadOfAll(warp, from)) &&
      (Repeats(warp) || CheckWriteOfAll(warp, to, nullptr))) {
    return;
  }
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((mask >> l & 1) == 0) continue;
    uint64_t poison = 0;
    if (taken[l] > 0) {
      const Spot spot = SpotOf(warp, StateSpace::kGlobal, from.of[l], l);
      if (!spot.inside) continue;
      CheckRead(warp, l, spot, taken[l]);
      poison = PoisonOf(spot, taken[l]);
    }
    const Spot spot = SpotOf(warp, StateSpace::kShared, to.of[l], l);
    if (!spot.inside) continue;
    CheckWrite(warp, l, spot, nullptr, in.value, true);
    Poison(warp, l, spot, in.value, poison);
  }
}

// The lanes whose addresses are of rows.
constexpr uint32_t RowLanes(uint32_t matrices) { return static_cast<uint32_t>(Low(8 * matrices)); }

// Row i of matrix x lies where lane 8 * x + i says; lane l gets two elements of row l / 4.
void Checker::LoadMatrices(Warp& warp, const Instruction& in, const Slot* s, uint32_t mask) {
  if (Repeats(warp)) return;
  const uint32_t matrices = in.slot_count - 1;
  const bool follows = launch_.uninitialised;
  if (follows) CheckOperand(warp, s[matrices], mask, "loads from an uninitialised address");
  uint64_t rows[kLanes] = {};
  uint64_t any = 0;
  const Addresses addresses =
      AddressesOf(warp, in, ModifierStateSpace(in), s[matrices], 0, 16, RowLanes(matrices));
  NoteStrictly(warp, addresses, false, false);
  if (!CheckReadOfAll(warp, addresses)) {
    Spot spot;
    for (uint32_t l = 0; l < 8 * matrices; ++l) {
      Move(spot, warp, addresses.space, addresses.of[l], l);
      if (!spot.inside) continue;
      CheckRead(warp, l, spot, 16);
      rows[l] = PoisonOf(spot, 16);
      any |= rows[l];
    }
  }
  if (any != 0) NotePoisonedRead(addresses.space);
  if (!follows || (any == 0 && !PoisonOf(warp).any())) return;
  const bool trans = ModifierTrans(in) == Trans::kOn;
  for (uint32_t x = 0; x < matrices; ++x) {
    PoisonedLanes lanes;
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint32_t i = l / 4, j = l % 4 * 2;
      const auto element = [&](uint32_t row, uint32_t column) {
        return static_cast<uint8_t>(rows[8 * x + row] >> (2 * column) & 3);
      };
      lanes[l] = static_cast<uint8_t>(trans ? element(j, i) | element(j + 1, i) << 2
                                            : element(i, j) | element(i, j + 1) << 2);
    }
    PoisonOf(warp).Put(s[x], lanes, mask);
  }
}

void Checker::StoreMatrices(Warp& warp, const Instruction& in, const Slot* s, uint32_t mask) {
  if (Repeats(warp)) return;
  const uint32_t matrices = in.slot_count - 1;
  const bool trans = ModifierTrans(in) == Trans::kOn;
  if (launch_.uninitialised) CheckOperand(warp, s[0], mask, "stores to an uninitialised address");
  uint16_t values[4][8][8];
  uint64_t rows[kLanes] = {};
  for (uint32_t x = 0; x < matrices; ++x) {
    const auto a = Read<uint32_t>(warp, s[1 + x]);
    const PoisonedLanes poison =
        launch_.uninitialised ? PoisonOf(warp).Get(s[1 + x]) : PoisonedLanes{};
    for (uint32_t l = 0; l < kLanes; ++l) {
      const uint32_t i = l / 4, j = l % 4 * 2;
      const auto put = [&](uint32_t row, uint32_t column, uint32_t half) {
        values[x][row][column] = static_cast<uint16_t>(a.v[l] >> (16 * half));
        rows[8 * x + row] |= uint64_t{poison[l] >> (2 * half) & 3u} << (2 * column);
      };
      put(trans ? j : i, trans ? i : j, 0);
      put(trans ? j + 1 : i, trans ? i : j + 1, 1);
    }
  }
  const Addresses addresses =
      AddressesOf(warp, in, ModifierStateSpace(in), s[0], 0, 16, RowLanes(matrices));
  NoteStrictly(warp, addresses, true, false);
  const bool poisoned = std::ranges::any_of(rows, [](uint64_t row) { return row != 0; });
  if (!poisoned && CheckWriteOfAll(warp, addresses, reinterpret_cast<const std::byte*>(values)))
    return;
  Spot spot;
  for (uint32_t l = 0; l < 8 * matrices; ++l) {
    Move(spot, warp, addresses.space, addresses.of[l], l);
    if (!spot.inside) continue;
    CheckWrite(warp, l, spot, reinterpret_cast<const std::byte*>(values[l / 8][l % 8]), 16, false);
    Poison(warp, l, spot, 16, rows[l]);
  }
}

// Of instructions that Before does not know.
void Checker::Accesses(Warp& warp, uint32_t lane, const MemoryAccess& access) {
  if (known_) return;
  block_ = warp.block;
  const bool shared = access.window == kSharedWindow && access.owner != nullptr;
  const uint64_t offset = shared ? InBlock(access.offset, access.owner->rank) : access.offset;
  const Spot spot = SpotIn(warp, access.window, offset, lane);
  if (!spot.inside) return;
  const bool barrier = shared && access.bytes == 8 && clocks_.IsBarrier(offset);
  // Atomics and copies that reduce race with nobody; what they read beside it is read.
  const Instruction& in = launch_.kernel->instructions[block_->pc];
  const bool updates = in.operation == Operation::kRedAsync ||
                       in.operation == Operation::kBulkReduce || in.operation == Operation::kAtom ||
                       in.operation == Operation::kAtomCas;
  const bool is_target = access.writes || in.operation != Operation::kBulkReduce || !shared;
  if (updates && is_target && !barrier) {
    if (access.writes && spot.unwritten != nullptr) spot.unwritten->Put(spot.at, access.bytes, 0);
    return;
  }
  if (!access.writes) {
    NoteTileRead(spot, access.bytes);
    if (!barrier) CheckRead(warp, lane, spot, access.bytes);
    return;
  }
  if (!barrier) CheckWrite(warp, lane, spot, access.value, access.bytes, is_async_);
  for (uint32_t i = 0; i < access.bytes; i += 64)
    if (spot.unwritten != nullptr && access.bytes <= spot.held)
      spot.unwritten->Put(spot.at + i, std::min(64u, access.bytes - i), 0);
}

}  // namespace hloscope::ptx
