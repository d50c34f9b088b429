// cp.async.bulk.tensor between global and shared memory, what it is told of an array, and the
// changes that kernels make to that. They are done when they are issued; a load then tells its
// mbarrier how many bytes have come.
#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "core/ptx/machine/access.h"
#include "core/ptx/machine/atomic.h"
#include "core/ptx/machine/barrier.h"
#include "core/ptx/machine/bulk.h"
#include "core/ptx/machine/steps.h"
#include "core/ptx/tensor/tensor_map.h"

namespace hloscope::ptx {
namespace {

// nullopt: there are no reductions of them, or the map does not say what they are.
std::optional<Type> ReducedType(MapElement element) {
  switch (element) {
    case MapElement::kU32:
      return Type::kU32;
    case MapElement::kS32:
      return Type::kS32;
    case MapElement::kU64:
      return Type::kU64;
    case MapElement::kS64:
      return Type::kS64;
    case MapElement::kF16:
      return Type::kF16;
    case MapElement::kF32:
      return Type::kF32;
    case MapElement::kF64:
      return Type::kF64;
    case MapElement::kBf16:
      return Type::kBf16;
    default:
      return std::nullopt;
  }
}

// As cp.reduce.async.bulk has them (PTX ISA).
bool CanReduce(Atomic atomic, Type type) {
  const bool is_float = RowOf(type).kind == TypeKind::kFloat;
  const bool is_half = is_float && BytesOf(type) == 2;
  switch (atomic) {
    case Atomic::kAdd:
      return type != Type::kS64;
    case Atomic::kMin:
    case Atomic::kMax:
      return !is_float || is_half;
    case Atomic::kInc:
    case Atomic::kDec:
      return type == Type::kU32;
    case Atomic::kExch:
      return false;
    default:
      return !is_float;
  }
}

// Why a field cannot have this value; null where it was replaced.
const char* Replace(TensorMapFields& fields, MapField field, uint32_t dimension, uint64_t value) {
  const bool by_dimension = field == MapField::kBox || field == MapField::kSize ||
                            field == MapField::kStride || field == MapField::kStep;
  const uint32_t dimensions = kMaxTensorDimensions - (field == MapField::kStride ? 1 : 0);
  if (by_dimension && dimension >= dimensions) {
    return "a field of a tensor map is replaced in a dimension that it does not have";
  }
  switch (field) {
    case MapField::kAddress:
      fields.address = value;
      return nullptr;
    case MapField::kRank:
      if (value >= kMaxTensorDimensions) return "a tensor map of more than 5 dimensions";
      fields.dimensions = static_cast<uint8_t>(value + 1);
      return nullptr;
    case MapField::kBox:
      fields.box[dimension] = static_cast<uint16_t>(std::min<uint64_t>(value, UINT16_MAX));
      return nullptr;
    case MapField::kSize:
      fields.sizes[dimension] = static_cast<uint32_t>(value);
      return nullptr;
    case MapField::kStride:
      fields.strides[dimension] = value;
      return nullptr;
    case MapField::kStep:
      fields.steps[dimension] = static_cast<uint8_t>(std::min<uint64_t>(value, UINT8_MAX));
      return nullptr;
    case MapField::kElement: {
      const auto element = static_cast<MapElement>(value);
      if (value > UINT8_MAX || BytesOf(element) == 0) {
        return "a tensor map of packed elements of 4 or 6 bits";
      }
      fields.element = element;
      fields.element_bytes = static_cast<uint8_t>(BytesOf(element));
      return nullptr;
    }
    case MapField::kInterleave:
      return value == 0 ? nullptr : "a tensor map with interleaving";
    case MapField::kSwizzle:
      if (value > static_cast<uint64_t>(Swizzle::k128))
        return "a tensor map with a swizzle that is not executed";
      fields.swizzle = static_cast<uint8_t>(value);
      return nullptr;
    case MapField::kFill:
      return value == 0 ? nullptr : "a tensor map that fills with NaN";
    default:
      return "an unknown field of a tensor map is replaced";
  }
}

// One copy of a box of a tensor map by one lane.
class BoxCopy {
 public:
  BoxCopy(Warp& w, uint32_t lane, StateSpace shared_space, uint64_t shared)
      : w_(w), lane_(lane), space_(shared_space), shared_(shared) {}

  // Reads the map and `coordinates` (slots); false and a fault where there is none, or one of
  // another number of dimensions.
  bool Prepare(const Instruction& in, uint64_t map_address, const Slot* coordinates) {
    const uint32_t dimensions = in.value;
    TensorMapBytes bytes;
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
    if (ModifierChosenRows(in) != ChosenRows::kNone) {
      if (map_.box[1] != 1)
        return Fail("chosen rows by a map whose box has more than one", map_address);
      for (uint32_t i = 1; i < TensorCoordinates(in); ++i) {
        chosen_.push_back(static_cast<int32_t>(ReadLane(w_, coordinates[i], lane_)));
      }
      rows_ = chosen_.size();
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

  // `reduce`: what is done to the elements that are there; null: they are replaced.
  bool ToGlobal(const Instruction* reduce) {
    for (uint64_t r = 0; r < rows_; ++r) {
      const auto to = GlobalRow(r);
      if (!to.has_value()) continue;
      for (uint32_t c = 0; c < row_bytes_; c += kChunk) {
        if (!Load(w_, space_, SharedChunk(r, c), lane_, row_.data() + c, kChunk)) return false;
      }
      if (reduce != nullptr && !Reduce(*reduce, *to)) return false;
      if (!Store(w_, StateSpace::kNone, *to, lane_, InRow(), Bytes())) return false;
      CountAccess(w_, AccessMode::kRead, space_, shared_, Bytes());
      CountAccess(w_, reduce != nullptr ? AccessMode::kUpdate : AccessMode::kWrite,
                  StateSpace::kGlobal, *to, Bytes());
    }
    return true;
  }

  // The instruction with the type of the map's elements, where it may be done to them.
  std::optional<Instruction> Reducing(const Instruction& in, uint64_t map_address) {
    Instruction typed = in;
    const auto type = ReducedType(map_.element);
    if (!type.has_value()) {
      Fail("a reduction by a tensor map whose elements have no type that is reduced", map_address);
      return std::nullopt;
    }
    typed.type = *type;
    if (CanReduce(ModifierAtomic(in), *type)) return typed;
    Fail("a reduction that the type of the tensor map's elements does not have", map_address);
    return std::nullopt;
  }

 private:
  bool Fail(const char* what, uint64_t address) {
    w_.block->Fail(what, w_.first_thread + lane_, address);
    return false;
  }

  // What the elements from `to` on become, in the row.
  bool Reduce(const Instruction& in, uint64_t to) {
    const uint32_t each = map_.element_bytes;
    for (uint32_t at = 0; at < Bytes(); at += each) {
      uint64_t value = 0, old = 0;
      std::memcpy(&value, InRow() + at, each);
      if (!Load(w_, StateSpace::kNone, to + at, lane_, &old, each)) return false;
      const uint64_t changed = AtomicResult(in, old, value, 0);
      std::memcpy(InRow() + at, &changed, each);
    }
    return true;
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
      const int64_t at = chosen_.empty() ? first_[i] + taken * map_.steps[i] : chosen_[r];
      r /= map_.Taken(i);
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
  std::vector<int64_t> chosen_;  // rows of an array of two dimensions; empty: those of the box
  uint64_t rows_ = 1;
  uint32_t row_bytes_ = 0;
  uint32_t begin_ = 0, end_ = 0;  // elements of a row that lie in the array
  std::vector<std::byte> row_;
};

// to, map, coordinates, barrier.
void LoadBox(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const StateSpace space = ModifierStateSpace(in);
  const uint32_t count = TensorCoordinates(in);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    bool reads = true;
    const bool done = ForTargets(w, in, s, 3 + count, l, [&](std::optional<uint32_t> rank) {
      const uint64_t barrier = AddressOf(w, in, s[2 + count], l, 1);
      BoxCopy copy(w, l, space, AddressIn(AddressOf(w, in, s[0], l), rank));
      return copy.Prepare(in, ReadLane(w, s[1], l), s + 2) &&
             copy.ToShared(std::exchange(reads, false)) &&
             CompleteBytes(w, space, AddressIn(barrier, rank), l, copy.bytes());
    });
    if (!done) return;
  }
}

// map, coordinates, from.
void StoreBox(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const uint32_t count = TensorCoordinates(in);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const uint64_t map = ReadLane(w, s[0], l);
    BoxCopy copy(w, l, StateSpace::kSharedCta, AddressOf(w, in, s[1 + count], l));
    if (!copy.Prepare(in, map, s + 1)) return;
    if (in.operation == Operation::kTensorMapStore) {
      if (!copy.ToGlobal(nullptr)) return;
      continue;
    }
    const std::optional<Instruction> reduce = copy.Reducing(in, map);
    if (!reduce || !copy.ToGlobal(&*reduce)) return;
  }
}

// tensormap.replace: address of a map, the dimension where the field has one of each (operand 1 is
// absent else), the new value.
void ReplaceField(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const StateSpace space = ModifierStateSpace(in);
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) == 0) continue;
    const uint64_t address = AddressOf(w, in, s[0], l), value = ReadLane(w, s[1], l);
    const auto fail = [&](const char* what) { w.block->Fail(what, w.first_thread + l, address); };
    TensorMapBytes bytes;
    if (!Load(w, space, address, l, bytes.data(), kTensorMapBytes)) return;
    std::optional<TensorMapFields> fields = FieldsOf(bytes);
    if (!fields) return fail("a field of a tensor map is replaced where there is none");
    if (const char* const why = Replace(*fields, ModifierMapField(in), in.value, value)) {
      return fail(why);
    }
    bytes = BytesOf(*fields);
    if (!Store(w, space, address, l, bytes.data(), kTensorMapBytes)) return;
  }
}

// tensormap.cp_fenceproxy: to, from, 128. All lanes name the same.
void CopyMap(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  const auto l = static_cast<uint32_t>(std::countr_zero(m));
  TensorMapBytes bytes;
  if (Load(w, StateSpace::kSharedCta, AddressOf(w, in, s[1], l, 1), l, bytes.data(),
           kTensorMapBytes)) {
    Store(w, StateSpace::kGlobal, AddressOf(w, in, s[0], l), l, bytes.data(), kTensorMapBytes);
  }
}

}  // namespace

Step TensorMapStep(const Instruction& i) {
  const bool is_box = i.operation == Operation::kTensorMapLoad ||
                      i.operation == Operation::kTensorMapStore ||
                      i.operation == Operation::kTensorMapReduce;
  if (is_box && i.value > kMaxTensorDimensions) return nullptr;
  if (ModifierChosenRows(i) != ChosenRows::kNone && i.value != 2) return nullptr;
  switch (i.operation) {
    case Operation::kTensorMapLoad:
      return IsShared(ModifierStateSpace(i)) ? LoadBox : nullptr;
    case Operation::kTensorMapStore:
    case Operation::kTensorMapReduce:
      return StoreBox;
    case Operation::kTensorMapReplace:
      return ReplaceField;
    case Operation::kTensorMapCopy:
      return i.value == kTensorMapBytes ? CopyMap : nullptr;
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx
