// mbarrier. Of its 64 bits the ISA documents none; here: the arrivals of a phase (20 bits), those
// still missing (20), bytes still missing (21, with a sign), the parity of the phase (1), and 01.
#include "core/ptx/machine/access.h"
#include "core/ptx/machine/barrier.h"
#include "core/ptx/machine/bulk.h"
#include "core/ptx/machine/observer.h"
#include "core/ptx/machine/steps.h"

namespace hloscope::ptx {
namespace {

constexpr uint32_t kMaxArrivals = (1u << 20) - 1;
constexpr int64_t kMaxBytes = (1 << 20) - 1;
constexpr uint64_t kMark = 1;

struct Barrier {
  uint32_t arrivals = 0;  // that end a phase
  uint32_t missing = 0;
  int64_t bytes = 0;  // that are expected and have not come
  uint32_t parity = 0;
};

uint64_t Bits(const Barrier& b) {
  return b.arrivals | uint64_t{b.missing} << 20 |
         (static_cast<uint64_t>(b.bytes) & 0x1fffff) << 40 | uint64_t{b.parity} << 61 | kMark << 62;
}

uint32_t ParityOf(uint64_t bits) { return static_cast<uint32_t>(bits >> 61 & 1); }

Barrier BarrierOf(uint64_t bits) {
  Barrier b;
  b.arrivals = static_cast<uint32_t>(bits & kMaxArrivals);
  b.missing = static_cast<uint32_t>(bits >> 20 & kMaxArrivals);
  b.bytes = static_cast<int64_t>(bits << 3) >> 43;
  b.parity = ParityOf(bits);
  return b;
}

bool LoadBits(Warp& w, StateSpace space, uint64_t address, uint32_t lane, uint64_t& bits) {
  if (address % 8 != 0) {
    w.block->Fail("an mbarrier that is not 8-byte aligned", w.first_thread + lane, address);
    return false;
  }
  if (!Load(w, space, address, lane, &bits, 8)) return false;
  if (bits >> 62 == kMark && (bits & kMaxArrivals) != 0) return true;
  w.block->Fail("no mbarrier here: never initialised, invalidated or overwritten",
                w.first_thread + lane, address);
  return false;
}

// Changes the barrier at `address`; its bits before the change.
template <typename F>
bool Change(Warp& w, StateSpace space, uint64_t address, uint32_t lane, uint64_t& before, F f) {
  if (!LoadBits(w, space, address, lane, before)) return false;
  Barrier b = BarrierOf(before);
  if (const char* wrong = f(b); wrong != nullptr) {
    w.block->Fail(wrong, w.first_thread + lane, address);
    return false;
  }
  if (b.missing == 0 && b.bytes == 0) {
    b.missing = b.arrivals;
    b.parity ^= 1;
    if (w.block->observer != nullptr)
      w.block->observer->PhaseEnds(*w.block, OffsetOf(space, address));
  }
  const uint64_t after = Bits(b);
  ++w.block->barrier_changes;
  return Store(w, space, address, lane, &after, 8);
}

const char* Take(Barrier& b, uint32_t arrivals) {
  if (arrivals == 0 || arrivals > b.missing)
    return "more arrivals than the mbarrier has left in this phase, or none";
  b.missing -= arrivals;
  return nullptr;
}

const char* AddBytes(Barrier& b, int64_t bytes) {
  b.bytes += bytes;
  return b.bytes > kMaxBytes || b.bytes < -kMaxBytes
             ? "an mbarrier waits for more than 2^20 - 1 bytes"
             : nullptr;
}

template <typename F>
void ForLanes(Warp& w, uint32_t m, F f) {
  for (uint32_t l = 0; l < kLanes && !w.block->fault.has_value(); ++l) {
    if ((m >> l & 1) != 0) f(l);
  }
}

void Initialise(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  ForLanes(w, m, [&](uint32_t l) {
    const uint64_t address = AddressOf(w, in, s[0], l);
    const auto count = static_cast<uint32_t>(ReadLane(w, s[1], l));
    if (address % 8 != 0 || count == 0 || count > kMaxArrivals) {
      return w.block->Fail(
          "an mbarrier that is not 8-byte aligned, or of 0 or over 2^20 - 1 arrivals",
          w.first_thread + l, address);
    }
    const uint64_t bits = Bits({count, count, 0, 0});
    ++w.block->barrier_changes;
    Store(w, ModifierStateSpace(in), address, l, &bits, 8);
  });
}

void Invalidate(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  ForLanes(w, m, [&](uint32_t l) {
    const uint64_t address = AddressOf(w, in, s[0], l);
    uint64_t bits;
    if (!LoadBits(w, ModifierStateSpace(in), address, l, bits)) return;
    bits = ~uint64_t{0};
    Store(w, ModifierStateSpace(in), address, l, &bits, 8);
  });
}

// state, [barrier], arrivals: 1 where they are left out. cp.async.mbarrier.arrive has no state; its
// copies are done.
void ArriveLanes(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const bool has_state = in.slot_count > 1;
  ForLanes(w, m, [&](uint32_t l) {
    const uint64_t address = AddressOf(w, in, s[has_state ? 1 : 0], l);
    const uint32_t count =
        has_state && s[2].present() ? static_cast<uint32_t>(ReadLane(w, s[2], l)) : 1;
    uint64_t before = 0;
    Change(w, ModifierStateSpace(in), address, l, before,
           [&](Barrier& b) { return Take(b, count); });
    if (has_state) WriteLane(w, s[0], l, before);
  });
}

// arrive_drop: later phases wait for so many arrivals less. With expect_tx the count is of bytes.
void DropArrivals(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const bool expects = in.operation == Operation::kBarrierDropExpect;
  ForLanes(w, m, [&](uint32_t l) {
    const auto given = s[2].present() ? static_cast<uint32_t>(ReadLane(w, s[2], l)) : 1;
    const uint32_t count = expects ? 1 : given;
    uint64_t before = 0;
    Change(w, ModifierStateSpace(in), AddressOf(w, in, s[1], l), l, before, [&](Barrier& b) {
      const char* wrong = expects ? AddBytes(b, given) : nullptr;
      if (wrong == nullptr) wrong = Take(b, count);
      if (wrong == nullptr) b.arrivals -= count;
      return wrong;
    });
    WriteLane(w, s[0], l, before);
  });
}

// How many arrivals were missing before the one that gave the state.
void CountPending(Warp& w, const Instruction&, const Slot* s, uint32_t m) {
  ForLanes(w, m,
           [&](uint32_t l) { WriteLane(w, s[0], l, BarrierOf(ReadLane(w, s[1], l)).missing); });
}

void ArriveExpecting(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  ForLanes(w, m, [&](uint32_t l) {
    const auto bytes = static_cast<uint32_t>(ReadLane(w, s[2], l));
    uint64_t before = 0;
    Change(w, ModifierStateSpace(in), AddressOf(w, in, s[1], l), l, before, [&](Barrier& b) {
      const char* wrong = AddBytes(b, bytes);
      return wrong != nullptr ? wrong : Take(b, 1);
    });
    WriteLane(w, s[0], l, before);
  });
}

// cp.async.mbarrier.arrive: one arrival more is expected, and comes when the lane's copies are
// done, which they are.
void ArriveForCopies(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  ForLanes(w, m, [&](uint32_t l) {
    uint64_t before = 0;
    Change(w, ModifierStateSpace(in), AddressOf(w, in, s[0], l), l, before,
           [](Barrier&) -> const char* { return nullptr; });
  });
}

void ChangeBytes(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const int64_t sign = in.operation == Operation::kBarrierComplete ? -1 : 1;
  ForLanes(w, m, [&](uint32_t l) {
    const auto bytes = static_cast<uint32_t>(ReadLane(w, s[1], l));
    uint64_t before = 0;
    Change(w, ModifierStateSpace(in), AddressOf(w, in, s[0], l), l, before,
           [&](Barrier& b) { return AddBytes(b, sign * int64_t{bytes}); });
  });
}

// What tcgen05.mma was issued before has been done: it arrives at once.
// Triton 3.5 names no state space and gives an offset in shared memory, which is no generic
// address; devices run that.
void Commit(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const StateSpace named = ModifierStateSpace(in);
  ForLanes(w, m, [&](uint32_t l) {
    const uint64_t address = AddressOf(w, in, s[0], l);
    const bool is_offset = named == StateSpace::kNone && address >> kWindowShift == 0;
    const StateSpace space = is_offset ? StateSpace::kShared : named;
    (void)ForTargets(w, in, s, 1, l, [&](std::optional<uint32_t> rank) {
      return Arrive(w, space, AddressIn(address, rank), l);
    });
  });
}

}  // namespace

bool CompleteBytes(Warp& warp, StateSpace space, uint64_t address, uint32_t lane, uint32_t bytes) {
  uint64_t before;
  return Change(warp, space, address, lane, before,
                [&](Barrier& b) { return AddBytes(b, -int64_t{bytes}); });
}

bool Arrive(Warp& warp, StateSpace space, uint64_t address, uint32_t lane) {
  uint64_t before;
  return Change(warp, space, address, lane, before, [](Barrier& b) { return Take(b, 1); });
}

uint32_t TestBarriers(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const bool by_parity = in.operation == Operation::kBarrierWaitParity;
  uint32_t complete = 0;
  ForLanes(w, m, [&](uint32_t l) {
    uint64_t bits;
    if (!LoadBits(w, ModifierStateSpace(in), AddressOf(w, in, s[1], l), l, bits)) return;
    const uint64_t phase = ReadLane(w, s[2], l);
    const uint32_t waited = by_parity ? static_cast<uint32_t>(phase & 1) : ParityOf(phase);
    if (ParityOf(bits) != waited) complete |= 1u << l;
  });
  WriteMask(w, s[0], complete, m);
  return m & ~complete;
}

Step BarrierStep(const Instruction& i) {
  switch (i.operation) {
    case Operation::kBarrierInit:
      return Initialise;
    case Operation::kBarrierInvalidate:
      return Invalidate;
    case Operation::kBarrierArrive:
      return ArriveLanes;
    case Operation::kBarrierDrop:
    case Operation::kBarrierDropExpect:
      return DropArrivals;
    case Operation::kBarrierPending:
      return CountPending;
    case Operation::kBarrierArriveExpect:
      return ArriveExpecting;
    case Operation::kBarrierCopied:
      return ArriveForCopies;
    case Operation::kBarrierExpect:
    case Operation::kBarrierComplete:
      return ChangeBytes;
    case Operation::kTensorCommit:
      return Commit;
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx
