// Values of 128 bits: moved, loaded, stored, exchanged and compared.
#include <array>
#include <cstring>

#include "core/ptx/machine/access.h"
#include "core/ptx/machine/steps.h"

namespace hloscope::ptx {
namespace {

constexpr uint32_t kBytes = 16;
using Wide = std::array<std::byte, kBytes>;

Wide ReadWide(const Warp& w, Slot slot, uint32_t lane) {
  Wide value;
  std::memcpy(value.data(), SourceOf(w, slot) + lane * kBytes, kBytes);
  return value;
}

void WriteWide(Warp& w, Slot slot, uint32_t lane, const Wide& value) {
  if (slot.present()) std::memcpy(w.registers + slot.offset + lane * kBytes, value.data(), kBytes);
}

bool IsAligned(Warp& w, uint64_t address, uint32_t lane) {
  if (address % kBytes == 0) return true;
  w.block->Fail("an address that is not a multiple of the 16 bytes accessed", w.first_thread + lane,
                address);
  return false;
}

template <bool (*kEach)(Warp&, const Instruction&, const Slot*, uint32_t)>
void ForLanes(Warp& w, const Instruction& in, const Slot* s, uint32_t m) {
  for (uint32_t l = 0; l < kLanes; ++l) {
    if ((m >> l & 1) != 0 && !kEach(w, in, s, l)) return;
  }
}

bool Move(Warp& w, const Instruction&, const Slot* s, uint32_t l) {
  WriteWide(w, s[0], l, ReadWide(w, s[1], l));
  return true;
}

// d, parts from the lowest on.
bool Pack(Warp& w, const Instruction& in, const Slot* s, uint32_t l) {
  Wide value;
  const uint32_t parts = in.slot_count - 1, bytes = kBytes / parts;
  for (uint32_t p = 0; p < parts; ++p) {
    const uint64_t bits = ReadLane(w, s[1 + p], l);
    std::memcpy(value.data() + p * bytes, &bits, bytes);
  }
  WriteWide(w, s[0], l, value);
  return true;
}

bool Unpack(Warp& w, const Instruction& in, const Slot* s, uint32_t l) {
  const uint32_t parts = in.slot_count - 1, bytes = kBytes / parts;
  const Wide value = ReadWide(w, s[parts], l);
  for (uint32_t p = 0; p < parts; ++p) {
    uint64_t bits = 0;
    std::memcpy(&bits, value.data() + p * bytes, bytes);
    WriteLane(w, s[p], l, bits);
  }
  return true;
}

bool LoadWide(Warp& w, const Instruction& in, const Slot* s, uint32_t l) {
  const uint64_t address = AddressOf(w, in, s[1], l);
  Wide value;
  if (!IsAligned(w, address, l) ||
      !Load(w, ModifierStateSpace(in), address, l, value.data(), kBytes))
    return false;
  WriteWide(w, s[0], l, value);
  return true;
}

bool StoreWide(Warp& w, const Instruction& in, const Slot* s, uint32_t l) {
  const uint64_t address = AddressOf(w, in, s[0], l);
  const Wide value = ReadWide(w, s[1], l);
  return IsAligned(w, address, l) &&
         Store(w, ModifierStateSpace(in), address, l, value.data(), kBytes);
}

// d, address, what is compared or stored, what is stored where that was there.
bool Exchange(Warp& w, const Instruction& in, const Slot* s, uint32_t l) {
  const uint64_t address = AddressOf(w, in, s[1], l);
  const StateSpace space = ModifierStateSpace(in);
  const Wide value = ReadWide(w, s[2], l);
  Wide old;
  if (!IsAligned(w, address, l) || !Load(w, space, address, l, old.data(), kBytes)) return false;
  const bool compares = in.operation == Operation::kAtomCas;
  const Wide left = !compares ? value : old == value ? ReadWide(w, s[3], l) : old;
  if (!Store(w, space, address, l, left.data(), kBytes)) return false;
  WriteWide(w, s[0], l, old);
  return true;
}

}  // namespace

Step WideStep(const Instruction& i) {
  if (i.type != Type::kB128) return nullptr;
  switch (i.operation) {
    case Operation::kMov:
      return ForLanes<Move>;
    case Operation::kPack:
      return ForLanes<Pack>;
    case Operation::kUnpack:
      return ForLanes<Unpack>;
    case Operation::kLd:
      return ForLanes<LoadWide>;
    case Operation::kSt:
      return ForLanes<StoreWide>;
    case Operation::kAtom:
    case Operation::kAtomCas:
      return ForLanes<Exchange>;
    default:
      return nullptr;
  }
}

}  // namespace hloscope::ptx
