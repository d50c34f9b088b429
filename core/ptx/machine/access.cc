#include "core/ptx/machine/access.h"

#include <algorithm>

#include "core/ptx/machine/observer.h"

namespace hloscope::ptx {
namespace {

std::string_view NameOf(uint64_t window) {
  if (window == kSharedWindow) return "shared memory";
  if (window == kLocalWindow) return "local memory";
  if (window == kParamWindow) return "the parameters";
  if (window >= kFirstVariableWindow) return "a variable of the module";
  return "argument";
}

bool Refuse(Warp& warp, const char* verb, const WindowPlace& place, uint64_t window,
            uint64_t address, uint32_t lane, uint32_t bytes) {
  std::string what = std::string(verb) + " " + std::to_string(bytes) + " bytes ";
  const uint64_t rank = RankOf(*warp.block, address);
  const bool is_shared = window == kSharedWindow && rank < warp.block->cluster->blocks.size();
  if (place.window == nullptr && is_shared) {
    what += "of the shared memory of block " + std::to_string(rank) + " of its cluster, which " +
            (warp.block->cluster->blocks[rank]->live_threads == 0
                 ? "has ended"
                 : "only .shared::cluster and generic addresses reach");
  } else if (place.window == nullptr) {
    what += "at an address that belongs to no argument, variable or memory of the block";
  } else {
    what += "at byte " + std::to_string(place.offset) + " of " + std::string(NameOf(window));
    if (window >= kFirstArgumentWindow && window < kFirstVariableWindow)
      what += " " + std::to_string(window - kFirstArgumentWindow);
    what += ", which has " + std::to_string(place.window->bytes);
  }
  warp.block->Fail(std::move(what), warp.first_thread + lane, address);
  return false;
}

}  // namespace

WindowPlace Locate(Warp& warp, StateSpace space, uint64_t address, uint32_t lane, Window& scratch) {
  const uint64_t window = WindowOf(space, address);
  const uint64_t offset = OffsetOf(space, address);
  Block& block = *warp.block;
  const LaunchMemory& memory = *block.memory;
  if (space == StateSpace::kGlobal && window < kFirstArgumentWindow) return {};
  if (window == kSharedWindow) {
    Block* owner = &block;
    if ((offset & kRankMask) != 0) {
      // .shared and .shared::cta are the block's own; what has ended has no memory.
      const uint64_t rank = RankOf(block, offset);
      const bool own = space == StateSpace::kShared || space == StateSpace::kSharedCta;
      if (rank >= block.cluster->blocks.size() || (own && rank != block.rank)) return {};
      owner = block.cluster->blocks[rank];
      if (owner->live_threads == 0) return {};
    }
    scratch = {owner->shared.data(), owner->shared.size(), owner->shared.size(), true};
    return {&scratch, offset & ~kRankMask, owner};
  }
  if (window == kLocalWindow) {
    scratch = {block.local + block.local_bytes * (warp.first_thread + lane), block.local_bytes,
               block.local_bytes, true};
    return {&scratch, offset};
  }
  if (window == kParamWindow) return {&memory.parameters, offset};
  if (window >= kFirstVariableWindow && window - kFirstVariableWindow < memory.variables.size()) {
    return {&memory.variables[window - kFirstVariableWindow], offset};
  }
  if (window >= kFirstArgumentWindow && window - kFirstArgumentWindow < memory.arguments.size()) {
    return {&memory.arguments[window - kFirstArgumentWindow], offset};
  }
  return {};
}

bool Load(Warp& warp, StateSpace space, uint64_t address, uint32_t lane, void* into,
          uint32_t bytes) {
  Window scratch;
  const WindowPlace place = Locate(warp, space, address, lane, scratch);
  if (place.window == nullptr || place.offset > place.window->padded ||
      bytes > place.window->padded - place.offset) {
    return Refuse(warp, "reads", place, WindowOf(space, address), address, lane, bytes);
  }
  const uint64_t held = place.offset >= place.window->bytes
                            ? 0
                            : std::min<uint64_t>(bytes, place.window->bytes - place.offset);
  const std::byte* from = place.window->data + place.offset;
  if (Observer* observer = warp.block->observer)
    observer->Accesses(
        warp, lane,
        {WindowOf(space, address), place.offset, bytes, false, from, from, place.owner});
  std::memcpy(into, from, held);
  if (held < bytes) {
    std::memset(static_cast<std::byte*>(into) + held, 0xff, bytes - held);
    warp.block->padding_reads += bytes - held;
  }
  return true;
}

bool Store(Warp& warp, StateSpace space, uint64_t address, uint32_t lane, const void* from,
           uint32_t bytes) {
  Window scratch;
  const WindowPlace place = Locate(warp, space, address, lane, scratch);
  if (place.window == nullptr || !place.window->writable || place.offset > place.window->bytes ||
      bytes > place.window->bytes - place.offset) {
    return Refuse(warp, "writes", place, WindowOf(space, address), address, lane, bytes);
  }
  std::byte* to = place.window->data + place.offset;
  NoteStore(place, place.offset + bytes);
  if (Observer* observer = warp.block->observer) {
    const auto* value = static_cast<const std::byte*>(from);
    observer->Accesses(
        warp, lane, {WindowOf(space, address), place.offset, bytes, true, value, to, place.owner});
  }
  std::memcpy(to, from, bytes);
  return true;
}

void CountAccess(Warp& warp, AccessMode mode, StateSpace space, uint64_t address, uint64_t bytes) {
  RunCounts& counts = warp.block->counts;
  const uint64_t window = WindowOf(space, address);
  const bool reads = mode != AccessMode::kWrite, writes = mode != AccessMode::kRead;
  if (bytes == 0) return;
  if (window == kSharedWindow) {
    if (reads) counts.shared_read_bytes += bytes;
    if (writes) counts.shared_written_bytes += bytes;
  } else if (window == kLocalWindow) {
    counts.local_bytes += bytes;
  } else if (window >= kFirstArgumentWindow) {
    if (reads) counts.global_read_bytes += bytes;
    if (writes) counts.global_written_bytes += bytes;
    counts.traffic.AddSectors(mode,
                              (address + bytes - 1) / kSectorBytes - address / kSectorBytes + 1);
    counts.traffic.AddBytes(mode, address, bytes);
  }
}

}  // namespace hloscope::ptx
