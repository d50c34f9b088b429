#include "core/ptx/machine/traffic.h"

#include <algorithm>
#include <bit>

#include "core/ptx/machine/access.h"

namespace hloscope::ptx {
namespace {

constexpr uint32_t kBanks = 32;       // of shared memory, a word of 4 bytes wide each
constexpr uint32_t kTurnBytes = 128;  // what all banks give at once
constexpr uint32_t kMaxBytes = 64;    // of one lane

// Different sectors that the lanes touch.
uint64_t Sectors(const uint64_t* addresses, uint32_t lanes, uint32_t bytes) {
  bool is_even = true;  // one lane behind the other without gaps
  for (uint32_t l = 1; l < lanes; ++l) is_even &= addresses[l] == addresses[l - 1] + bytes;
  if (is_even) {
    return (addresses[lanes - 1] + bytes - 1) / kSectorBytes - addresses[0] / kSectorBytes + 1;
  }
  uint64_t sectors[kLanes * (kMaxBytes / kSectorBytes + 1)];
  size_t count = 0;
  bool is_sorted = true;
  for (uint32_t l = 0; l < lanes; ++l) {
    for (uint64_t s = addresses[l] / kSectorBytes; s <= (addresses[l] + bytes - 1) / kSectorBytes;
         ++s) {
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

void TrafficCounter::Before(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) {
  const AccessList accesses = AccessesOf(in);
  for (const Access& access : accesses) {
    if (access.lanes == kLanes) Count(warp, in, access, slots[access.operand], mask);
    if (access.lanes > 0 && access.lanes < kLanes)
      Count(warp, in, access, slots[access.operand], mask & ((1u << access.lanes) - 1));
  }
  if (in.operation == Operation::kCpAsync || in.operation == Operation::kCpAsyncIgnore)
    CountCopies(warp, in, *accesses.begin(), slots, mask);
  if (next_ != nullptr) next_->Before(warp, in, slots, mask);
}

// What cp.async reads: lanes may read less than they write, or nothing.
void TrafficCounter::CountCopies(const Warp& warp, const Instruction& in, Access read,
                                 const Slot* s, uint32_t mask) {
  if (in.operation == Operation::kCpAsyncIgnore) mask &= ~ReadMask(warp, s[2]);
  const bool has_size = in.operation == Operation::kCpAsync && s[2].present();
  for (uint32_t left = mask, same = 0; left != 0; left &= ~same) {
    same = left;
    if (has_size) {
      const uint64_t size = ReadLane(warp, s[2], static_cast<uint32_t>(std::countr_zero(left)));
      for (uint32_t l = 0; l < kLanes; ++l)
        if (ReadLane(warp, s[2], l) != size) same &= ~(1u << l);
      read.bytes = static_cast<uint32_t>(std::min<uint64_t>(size, in.value));
    }
    Count(warp, in, read, s[read.operand], same);
  }
}

void TrafficCounter::Count(const Warp& warp, const Instruction& in, const Access& access, Slot slot,
                           uint32_t mask) {
  if (access.bytes == 0 || access.bytes > kMaxBytes) return;
  if (mask == kAllLanes && CountRow(warp, in, access, slot)) return;
  uint64_t global[kLanes], shared[kLanes];
  uint32_t globals = 0, shareds = 0;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t address = AddressOf(warp, in, slot, lane, access.offset);
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
bool TrafficCounter::CountRow(const Warp& warp, const Instruction& in, const Access& access,
                              Slot slot) {
  if (slot.bytes != 8) return false;
  const auto* const lanes = LanesOf<uint64_t>(warp, slot);
  uint64_t differs = 0;
  for (uint32_t l = 0; l < kLanes; ++l) differs |= lanes[l] ^ (lanes[0] + l * access.bytes);
  if (differs != 0) return false;
  const uint64_t first = lanes[0] + static_cast<uint64_t>(in.offsets[access.offset]);
  const uint64_t last = first + (kLanes - 1) * access.bytes;
  const uint64_t window = WindowOf(access.space, first);
  if (first % access.bytes != 0 || window != WindowOf(access.space, last)) return false;
  if (window == kSharedWindow) return true;
  if (window < kFirstArgumentWindow) return false;
  traffic_.AddSectors(access.mode,
                      (last + access.bytes - 1) / kSectorBytes - first / kSectorBytes + 1);
  traffic_.AddBytes(access.mode, first, uint64_t{kLanes} * access.bytes);
  return true;
}

void TrafficCounter::CountGlobal(const uint64_t* addresses, uint32_t lanes, const Access& access) {
  traffic_.AddSectors(access.mode, Sectors(addresses, lanes, access.bytes));
  for (uint32_t l = 0; l < lanes; ++l) traffic_.AddBytes(access.mode, addresses[l], access.bytes);
}

// Lanes are served in groups that fill the banks: all 32 of up to 4 bytes, 16 of 8, 8 of 16.
void TrafficCounter::CountShared(const uint64_t* offsets, uint32_t lanes, const Access& access) {
  const uint32_t group = std::min(kLanes, std::max(1u, kTurnBytes / access.bytes));
  uint64_t conflicts = 0;
  for (uint32_t first = 0; first < lanes; first += group) {
    conflicts += Conflicts(offsets + first, std::min(group, lanes - first), access.bytes);
  }
  if (access.reads()) traffic_.shared_read_conflicts += conflicts;
  if (access.writes()) traffic_.shared_written_conflicts += conflicts;
}

}  // namespace hloscope::ptx
