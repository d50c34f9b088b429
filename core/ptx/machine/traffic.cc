#include "core/ptx/machine/traffic.h"

#include <algorithm>
#include <bit>

#include "core/ptx/machine/access.h"

namespace hloscope::ptx {
namespace {

constexpr uint64_t kSector = 32;
constexpr uint32_t kBanks = 32;       // of shared memory, a word of 4 bytes wide each
constexpr uint32_t kTurnBytes = 128;  // what all banks give at once
constexpr uint32_t kMaxBytes = 64;    // of one lane

// Different sectors that the lanes touch.
uint64_t Sectors(const uint64_t* addresses, uint32_t lanes, uint32_t bytes) {
  bool is_even = true;  // one lane behind the other without gaps
  for (uint32_t l = 1; l < lanes; ++l) is_even &= addresses[l] == addresses[l - 1] + bytes;
  if (is_even) {
    return (addresses[lanes - 1] + bytes - 1) / kSector - addresses[0] / kSector + 1;
  }
  uint64_t sectors[kLanes * (kMaxBytes / kSector + 1)];
  size_t count = 0;
  bool is_sorted = true;
  for (uint32_t l = 0; l < lanes; ++l) {
    for (uint64_t s = addresses[l] / kSector; s <= (addresses[l] + bytes - 1) / kSector; ++s) {
      if (count > 0 && sectors[count - 1] == s) continue;
      is_sorted &= count == 0 || sectors[count - 1] < s;
      sectors[count++] = s;
    }
  }
  if (is_sorted) return count;
  std::sort(sectors, sectors + count);
  return static_cast<uint64_t>(std::unique(sectors, sectors + count) - sectors);
}

// Turns beyond the first that the banks need for lanes that are served together: the most different
// words of one bank.
uint64_t Conflicts(const uint64_t* offsets, uint32_t lanes, uint32_t bytes) {
  uint64_t words[kBanks][kTurnBytes / 4];
  uint32_t counts[kBanks] = {};
  uint32_t most = 1;
  for (uint32_t l = 0; l < lanes; ++l) {
    for (uint64_t word = offsets[l] / 4; word <= (offsets[l] + bytes - 1) / 4; ++word) {
      uint64_t* const own = words[word % kBanks];
      uint32_t& count = counts[word % kBanks];
      if (std::find(own, own + count, word) != own + count) continue;
      own[count++] = word;
      most = std::max(most, count);
    }
  }
  return most - 1;
}

}  // namespace

void Traffic::Add(const Traffic& other) {
  global_read_sectors += other.global_read_sectors;
  global_written_sectors += other.global_written_sectors;
  shared_read_conflicts += other.shared_read_conflicts;
  shared_written_conflicts += other.shared_written_conflicts;
  for (size_t i = 0; i < std::min(read_bytes.size(), other.read_bytes.size()); ++i) {
    read_bytes[i] += other.read_bytes[i];
    written_bytes[i] += other.written_bytes[i];
  }
}

void TrafficCounter::Before(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) {
  if (ClassOf(in.operation) == InstructionClass::kMemory) CountAccesses(warp, in, slots, mask);
  if (next_ != nullptr) next_->Before(warp, in, slots, mask);
}

void TrafficCounter::CountAccesses(const Warp& warp, const Instruction& in, const Slot* s,
                                   uint32_t mask) {
  const uint32_t width = in.vector_width(), bytes = BytesOf(in.type) * width;
  const StateSpace space = ModifierStateSpace(in);
  switch (in.operation) {
    case Operation::kLd:
      return Count(warp, in, {space, s[width], 0, bytes, true, false}, mask);
    case Operation::kSt:
      return Count(warp, in, {space, s[0], 0, bytes, false, true}, mask);
    case Operation::kAtom:
    case Operation::kAtomCas:
      return Count(warp, in, {space, s[width], 0, bytes, true, true}, mask);
    case Operation::kRed:
      return Count(warp, in, {space, s[0], 0, bytes, true, true}, mask);
    case Operation::kCpAsync:
    case Operation::kCpAsyncIgnore:
      Count(warp, in, {StateSpace::kGlobal, s[1], 1, in.value, true, false}, mask);
      return Count(warp, in, {StateSpace::kShared, s[0], 0, in.value, false, true}, mask);
    case Operation::kLdmatrix:
    case Operation::kStmatrix: {
      // A row of 16 bytes for each of the first lanes, eight of them to a matrix.
      const uint32_t matrices = in.slot_count - 1;
      const bool loads = in.operation == Operation::kLdmatrix;
      const uint32_t rows = matrices == 4 ? kAllLanes : (1u << 8 * matrices) - 1;
      return Count(warp, in, {space, s[loads ? matrices : 0], 0, 16, loads, !loads}, mask & rows);
    }
    default:
      return;
  }
}

void TrafficCounter::Count(const Warp& warp, const Instruction& in, const Access& access,
                           uint32_t mask) {
  if (access.bytes == 0 || access.bytes > kMaxBytes) return;
  if (mask == kAllLanes && CountRow(warp, in, access)) return;
  uint64_t global[kLanes], shared[kLanes];
  uint32_t globals = 0, shareds = 0;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t address = AddressOf(warp, in, access.slot, lane, access.which);
    const uint64_t window = WindowOf(access.space, address);
    if (window == kSharedWindow) {
      shared[shareds++] = OffsetOf(access.space, address);
    } else if (window >= kFirstArgumentWindow) {
      global[globals++] = address;
    }
  }
  if (globals > 0) CountGlobal(global, globals, access);
  if (shareds > 0) CountShared(shared, shareds, access);
}

// All lanes one behind the other in one argument or variable, or in shared memory, where they are
// in nobody's way.
bool TrafficCounter::CountRow(const Warp& warp, const Instruction& in, const Access& access) {
  if (access.slot.bytes != 8) return false;
  const auto* const lanes = LanesOf<uint64_t>(warp, access.slot);
  uint64_t differs = 0;
  for (uint32_t l = 0; l < kLanes; ++l) differs |= lanes[l] ^ (lanes[0] + l * access.bytes);
  if (differs != 0) return false;
  const uint64_t first = lanes[0] + static_cast<uint64_t>(in.offsets[access.which]);
  const uint64_t last = first + (kLanes - 1) * access.bytes;
  const uint64_t window = WindowOf(access.space, first);
  if (first % access.bytes != 0 || window != WindowOf(access.space, last)) return false;
  if (window == kSharedWindow) return true;
  if (window < kFirstArgumentWindow) return false;
  NoteGlobal((last + access.bytes - 1) / kSector - first / kSector + 1, access);
  NoteBytes(first, kLanes * access.bytes, access);
  return true;
}

void TrafficCounter::NoteGlobal(uint64_t sectors, const Access& access) {
  if (access.reads) traffic_.global_read_sectors += sectors;
  if (access.writes) traffic_.global_written_sectors += sectors;
}

void TrafficCounter::NoteBytes(uint64_t address, uint64_t bytes, const Access& access) {
  const uint64_t argument = (address >> kWindowShift) - kFirstArgumentWindow;
  if (argument >= traffic_.read_bytes.size()) return;
  if (access.reads) traffic_.read_bytes[argument] += bytes;
  if (access.writes) traffic_.written_bytes[argument] += bytes;
}

void TrafficCounter::CountGlobal(const uint64_t* addresses, uint32_t lanes, const Access& access) {
  NoteGlobal(Sectors(addresses, lanes, access.bytes), access);
  for (uint32_t l = 0; l < lanes; ++l) NoteBytes(addresses[l], access.bytes, access);
}

// Lanes are served in groups that fill the banks: all 32 of up to 4 bytes, 16 of 8, 8 of 16.
void TrafficCounter::CountShared(const uint64_t* offsets, uint32_t lanes, const Access& access) {
  const uint32_t group = std::min(kLanes, std::max(1u, kTurnBytes / access.bytes));
  uint64_t conflicts = 0;
  for (uint32_t first = 0; first < lanes; first += group) {
    conflicts += Conflicts(offsets + first, std::min(group, lanes - first), access.bytes);
  }
  if (access.reads) traffic_.shared_read_conflicts += conflicts;
  if (access.writes) traffic_.shared_written_conflicts += conflicts;
}

}  // namespace hloscope::ptx
