// cp.async.bulk between global and shared memory, with and without a tensor map. They are done when
// they are issued; a load then tells its mbarrier how many bytes have come.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "core/ptx/machine/access.h"
#include "core/ptx/machine/atomic.h"
#include "core/ptx/machine/barrier.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/tensor/tensor_map.h"

namespace hloscope::ptx {
namespace {

constexpr uint32_t kChunk = 16;

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

// .multicast::cluster has a mask of blocks as operand `number`: f(rank) for each that is in it.
// Else f(nullopt) once; false where one of them gave false or there is no such block.
template <typename F>
bool ForTargets(Warp& w, const Instruction& in, const Slot* s, uint32_t number, uint32_t lane,
                F f) {
  if (in.slot_count <= number || s[number].bytes != 2) return f(std::optional<uint32_t>());
  const uint64_t mask = ReadLane(w, s[number], lane);
  if (mask >> w.block->cluster->blocks.size() != 0) {
    w.block->Fail("a multicast to a block that its cluster does not have", w.first_thread + lane);
    return false;
  }
  for (uint32_t rank = 0; mask >> rank != 0; ++rank) {
    if ((mask >> rank & 1) != 0 && !f(std::optional(rank))) return false;
  }
  return true;
}

uint64_t AddressIn(uint64_t address, std::optional<uint32_t> rank) {
  return rank ? InBlock(address, *rank) : address;
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

// One copy of a box of a tensor map by one lane.
class BoxCopy {
 public:
  BoxCopy(Warp& w, uint32_t lane, StateSpace shared_space, uint64_t shared)
      : w_(w), lane_(lane), space_(shared_space), shared_(shared) {}

  // Reads the map and `coordinates` (slots, one for each dimension); false and a fault where there
  // is none, or one of another number of dimensions.
  bool Prepare(uint64_t map_address, const Slot* coordinates, uint32_t dimensions) {
    std::array<std::byte, kTensorMapBytes> bytes;
    if (!Load(w_, StateSpace::kNone, map_address, lane_, bytes.data(), kTensorMapBytes))
      return false;
    auto placed = DecodeTensorMap(bytes);
    if (!placed.has_value() || placed->map.sizes.size() != dimensions)
      return Fail("there is no tensor map with this rank", map_address);
    map_ = std::move(placed->map);
    base_ = placed->address;
    for (uint32_t i = 0; i < dimensions; ++i) {
      first_[i] = static_cast<int32_t>(ReadLane(w_, coordinates[i], lane_));
      if (i > 0) rows_ *= map_.Taken(i);
    }
    row_bytes_ = map_.box[0] * map_.element_bytes;
    row_.resize(row_bytes_);
    const int64_t inside = static_cast<int64_t>(map_.sizes[0]) - first_[0];
    begin_ = static_cast<uint32_t>(std::clamp<int64_t>(-first_[0], 0, map_.box[0]));
    end_ = static_cast<uint32_t>(std::clamp<int64_t>(inside, begin_, map_.box[0]));
    // Addresses in shared memory are offsets, generic ones carry their window.
    if (shared_ % 128 != 0) return Fail("a box that is not 128-byte aligned", shared_);
    return true;
  }

  uint32_t bytes() const { return static_cast<uint32_t>(rows_ * row_bytes_); }

  // `reads`: it is the one of a multicast that reads global memory.
  bool ToShared(bool reads) {
    CountAccess(w_, AccessMode::kWrite, space_, shared_, bytes());
    for (uint64_t r = 0; r < rows_; ++r) {
      std::ranges::fill(row_, std::byte{0});
      const auto from = GlobalRow(r);
      if (from.has_value() && !Load(w_, StateSpace::kNone, *from, lane_, InRow(), Bytes()))
        return false;
      if (from.has_value() && reads)
        CountAccess(w_, AccessMode::kRead, StateSpace::kGlobal, *from, Bytes());
      for (uint32_t c = 0; c < row_bytes_; c += kChunk) {
        if (!Store(w_, space_, SharedChunk(r, c), lane_, row_.data() + c, kChunk)) return false;
      }
    }
    return true;
  }

  bool ToGlobal() {
    for (uint64_t r = 0; r < rows_; ++r) {
      const auto to = GlobalRow(r);
      if (!to.has_value()) continue;
      for (uint32_t c = 0; c < row_bytes_; c += kChunk) {
        if (!Load(w_, space_, SharedChunk(r, c), lane_, row_.data() + c, kChunk)) return false;
      }
      if (!Store(w_, StateSpace::kNone, *to, lane_, InRow(), Bytes())) return false;
      CountAccess(w_, AccessMode::kRead, space_, shared_, Bytes());
      CountAccess(w_, AccessMode::kWrite, StateSpace::kGlobal, *to, Bytes());
    }
    return true;
  }

 private:
  bool Fail(const char* what, uint64_t address) {
    w_.block->Fail(what, w_.first_thread + lane_, address);
    return false;
  }

  // The part of a row that lies in the array.
  std::byte* InRow() { return row_.data() + begin_ * map_.element_bytes; }
  uint32_t Bytes() const { return (end_ - begin_) * map_.element_bytes; }

  uint64_t SharedChunk(uint64_t row, uint32_t at) const {
    return Swizzled(shared_ + row * row_bytes_ + at, map_.swizzle);
  }

  // The address of the part of row `r` that lies in the array; nullopt where none does.
  std::optional<uint64_t> GlobalRow(uint64_t r) const {
    if (begin_ == end_) return std::nullopt;
    uint64_t address = base_ + static_cast<uint64_t>(first_[0] + begin_) * map_.element_bytes;
    for (size_t i = 1; i < map_.sizes.size(); ++i) {
      const auto taken = static_cast<int64_t>(r % map_.Taken(i));
      r /= map_.Taken(i);
      const int64_t at = first_[i] + taken * map_.steps[i];
      if (at < 0 || at >= static_cast<int64_t>(map_.sizes[i])) return std::nullopt;
      address += static_cast<uint64_t>(at) * map_.strides[i - 1];
    }
    return address;
  }

  Warp& w_;
  uint32_t lane_;
  StateSpace space_;
  uint64_t shared_;
  TensorMap map_;
  uint64_t base_ = 0;
  int64_t first_[kMaxTensorDimensions] = {};
  uint64_t rows_ = 1;
  uint32_t row_bytes_ = 0;
  uint32_t begin_ = 0, end_ = 0;  // elements of a row that lie in the array
  std::vector<std::byte> row_;
};

// to, map, coordinates, barrier.
void LoadBox(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const StateSpace space = ModifierStateSpace(in);
  const uint32_t dimensions = in.value;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    bool reads = true;
    const bool done = ForTargets(w, in, s, 3 + dimensions, l, [&](std::optional<uint32_t> rank) {
      const uint64_t barrier = AddressOf(w, in, s[2 + dimensions], l, 1);
      BoxCopy copy(w, l, space, AddressIn(AddressOf(w, in, s[0], l), rank));
      return copy.Prepare(ReadLane(w, s[1], l), s + 2, dimensions) &&
             copy.ToShared(std::exchange(reads, false)) &&
             CompleteBytes(w, space, AddressIn(barrier, rank), l, copy.bytes());
    });
    if (!done) return;
  }
}

// map, coordinates, from.
void StoreBox(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const uint32_t dimensions = in.value;
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    BoxCopy copy(w, l, StateSpace::kSharedCta, AddressOf(w, in, s[1 + dimensions], l));
    if (!copy.Prepare(ReadLane(w, s[0], l), s + 1, dimensions) || !copy.ToGlobal()) return;
  }
}

}  // namespace

Step BulkStep(const Instruction& i) {
  const bool loads = i.operation == Operation::kBulkLoad ||
                     i.operation == Operation::kTensorMapLoad ||
                     i.operation == Operation::kBulkShared;
  if (loads && !IsShared(ModifierStateSpace(i))) return nullptr;
  const bool has_map =
      i.operation == Operation::kTensorMapLoad || i.operation == Operation::kTensorMapStore;
  if (has_map && i.value > kMaxTensorDimensions) return nullptr;
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
    case Operation::kTensorMapLoad:
      return LoadBox;
    case Operation::kTensorMapStore:
      return StoreBox;
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx
