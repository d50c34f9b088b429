// cp.async.bulk between global and shared memory, without a tensor map. They are done when they are
// issued; a load then tells its mbarrier how many bytes have come.
#include <algorithm>
#include <cstring>
#include <optional>

#include "core/ptx/machine/access.h"
#include "core/ptx/machine/atomic.h"
#include "core/ptx/machine/barrier.h"
#include "core/ptx/machine/bulk.h"
#include "core/ptx/machine/steps.h"

namespace hloscope::ptx {
namespace {

bool IsMultiple(Warp& w, uint32_t lane, uint64_t address, uint64_t bytes) {
  if (address % bytes == 0) return true;
  w.block->Fail("an asynchronous copy at an address that is not a multiple of " +
                    std::to_string(bytes) + " bytes",
                w.first_thread + lane, address);
  return false;
}

bool CopyPlain(Warp& w, uint32_t lane, StateSpace from_space, uint64_t from, StateSpace to_space,
               uint64_t to, uint32_t bytes) {
  if (!IsMultiple(w, lane, from, kChunk) || !IsMultiple(w, lane, to, kChunk) ||
      !IsMultiple(w, lane, bytes, kChunk)) {
    return false;
  }
  std::byte chunk[4096];
  for (uint32_t done = 0; done < bytes; done += sizeof chunk) {
    const auto count = std::min<uint32_t>(sizeof chunk, bytes - done);
    if (!Load(w, from_space, from + done, lane, chunk, count) ||
        !Store(w, to_space, to + done, lane, chunk, count)) {
      return false;
    }
  }
  return true;
}

// to, from, bytes, barrier. What is written and the barrier lie in one block. A multicast reads
// once.
void LoadBulk(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const StateSpace space = ModifierStateSpace(in);
  const StateSpace from_space =
      in.operation == Operation::kBulkShared ? StateSpace::kSharedCta : StateSpace::kGlobal;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const auto bytes = static_cast<uint32_t>(ReadLane(w, s[2], l));
    const uint64_t from = AddressOf(w, in, s[1], l, 1);
    const bool done = ForTargets(w, in, s, 4, l, [&](std::optional<uint32_t> rank) {
      const uint64_t to = AddressIn(AddressOf(w, in, s[0], l), rank);
      CountAccess(w, AccessMode::kWrite, space, to, bytes);
      return CopyPlain(w, l, from_space, from, space, to, bytes) &&
             CompleteBytes(w, space, AddressIn(AddressOf(w, in, s[3], l, 2), rank), l, bytes);
    });
    if (!done) return;
    CountAccess(w, AccessMode::kRead, from_space, from, bytes);
  }
}

// st.async: address, values, barrier, which is told of the bytes.
void StoreAsync(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const StateSpace space =
      ModifierStateSpace(in) == StateSpace::kNone ? StateSpace::kNone : StateSpace::kSharedCluster;
  const uint32_t width = in.vector_width(), bytes = BytesOf(in.type);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    std::byte values[64];
    for (uint32_t v = 0; v < width; ++v) {
      const uint64_t bits = ReadLane(w, s[1 + v], l);
      std::memcpy(values + v * bytes, &bits, bytes);
    }
    const uint64_t address = AddressOf(w, in, s[0], l);
    if (!IsMultiple(w, l, address, bytes * width) ||
        !Store(w, space, address, l, values, bytes * width) ||
        !CompleteBytes(w, space, AddressOf(w, in, s[1 + width], l, 1), l, bytes * width))
      return;
  }
}

void StoreBulk(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const auto bytes = static_cast<uint32_t>(ReadLane(w, s[2], l));
    const uint64_t to = AddressOf(w, in, s[0], l), from = AddressOf(w, in, s[1], l, 1);
    if (!CopyPlain(w, l, StateSpace::kSharedCta, from, StateSpace::kGlobal, to, bytes)) return;
    CountAccess(w, AccessMode::kRead, StateSpace::kSharedCta, from, bytes);
    CountAccess(w, AccessMode::kWrite, StateSpace::kGlobal, to, bytes);
  }
}

// cp.reduce.async.bulk: to, from, bytes and, to shared memory, a barrier. Element by element.
void ReduceBulk(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const StateSpace space = ModifierStateSpace(in);
  const bool is_global = space == StateSpace::kGlobal;
  const uint32_t each = BytesOf(in.type);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const uint64_t to = AddressOf(w, in, s[0], l), from = AddressOf(w, in, s[1], l, 1);
    const auto bytes = static_cast<uint32_t>(ReadLane(w, s[2], l));
    if (!IsMultiple(w, l, from, kChunk) || !IsMultiple(w, l, to, kChunk) ||
        !IsMultiple(w, l, bytes, kChunk))
      return;
    for (uint32_t at = 0; at < bytes; at += each) {
      uint64_t value = 0, old = 0;
      if (!Load(w, StateSpace::kSharedCta, from + at, l, &value, each) ||
          !Load(w, space, to + at, l, &old, each))
        return;
      const uint64_t changed = AtomicResult(in, old, value, 0);
      if (!Store(w, space, to + at, l, &changed, each)) return;
    }
    CountAccess(w, AccessMode::kRead, StateSpace::kSharedCta, from, bytes);
    CountAccess(w, AccessMode::kUpdate, space, to, bytes);
    if (!is_global && !CompleteBytes(w, space, AddressOf(w, in, s[3], l, 2), l, bytes)) return;
  }
}

// clusterlaunchcontrol.try_cancel: where the answer goes, barrier. No cluster is canceled, as where
// none is left to start: sixteen zeros.
void TryCancel(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const StateSpace space =
      ModifierStateSpace(in) == StateSpace::kNone ? StateSpace::kNone : StateSpace::kSharedCluster;
  const std::byte answer[kChunk] = {};
  const bool all = in.operation == Operation::kTryCancelAll;
  const auto blocks = static_cast<uint32_t>(w.block->cluster->blocks.size());
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const uint64_t to = AddressOf(w, in, s[0], l), barrier = AddressOf(w, in, s[1], l, 1);
    if (!IsMultiple(w, l, to, kChunk)) return;
    for (uint32_t rank = 0; rank < (all ? blocks : 1); ++rank) {
      const auto target = all ? std::optional(rank) : std::nullopt;
      CountAccess(w, AccessMode::kWrite, StateSpace::kShared, to, kChunk);
      if (!Store(w, space, AddressIn(to, target), l, answer, kChunk) ||
          !CompleteBytes(w, space, AddressIn(barrier, target), l, kChunk))
        return;
    }
  }
}

// query_cancel: whether a cluster was canceled, and its first block.
void QueryCancel(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  for (uint32_t i = 0; i < in.slot_count && s[i].written; ++i) {
    if (s[i].bytes == 0) WriteMask(w, s[i], 0, m);
    for (uint32_t l = 0; l < kLanes && s[i].bytes != 0; ++l) {
      if ((m >> l & 1) != 0) WriteLane(w, s[i], l, 0);
    }
  }
}

// st.bulk: address, bytes, and the number 0, which is known.
void StoreZeros(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const StateSpace space =
      ModifierStateSpace(in) == StateSpace::kNone ? StateSpace::kNone : StateSpace::kSharedCta;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const uint64_t address = AddressOf(w, in, s[0], l), bytes = ReadLane(w, s[1], l), zero = 0;
    if (!IsMultiple(w, l, address, 8) || !IsMultiple(w, l, bytes, 8)) return;
    CountAccess(w, AccessMode::kWrite, StateSpace::kShared, address, bytes);
    for (uint64_t at = 0; at < bytes; at += 8) {
      if (!Store(w, space, address + at, l, &zero, 8)) return;
    }
  }
}

}  // namespace

Step BulkStep(const Instruction& i) {
  const bool loads = i.operation == Operation::kBulkLoad || i.operation == Operation::kBulkShared;
  if (loads && !IsShared(ModifierStateSpace(i))) return nullptr;
  switch (i.operation) {
    case Operation::kBulkLoad:
    case Operation::kBulkShared:
      return LoadBulk;
    case Operation::kStoreAsync:
      return StoreAsync;
    case Operation::kBulkReduce:
      return ReduceBulk;
    case Operation::kTryCancel:
    case Operation::kTryCancelAll:
      return TryCancel;
    case Operation::kQueryCancel:
      return QueryCancel;
    case Operation::kStoreZeros:
      return i.value == 0 ? StoreZeros : nullptr;
    case Operation::kBulkStore:
      return StoreBulk;
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx
