// Who stores nearest to a byte that nobody stores.
#include <limits>

#include "core/ptx/launch_plan.h"
#include "core/ptx/machine/access.h"
#include "core/ptx/machine/coordinates.h"
#include "core/ptx/machine/observer.h"

namespace hloscope::ptx {
namespace {

class WatchesNeighbours : public Observer {
 public:
  explicit WatchesNeighbours(const std::byte* byte, uint32_t argument, uint64_t offset)
      : byte_(byte), window_(kFirstArgumentWindow + argument), offset_(offset) {}

  void Accesses(Warp& warp, uint32_t lane, const MemoryAccess& access) override {
    if (!access.writes || access.window < kFirstArgumentWindow) return;
    if (access.window != window_ && !Meets(access)) return;
    Note(warp, lane,
         Distance(reinterpret_cast<uintptr_t>(byte_), reinterpret_cast<uintptr_t>(access.held),
                  access.bytes));
  }

  // A store that would go there, if its guard let it.
  void Skips(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) override {
    const StateSpace space = ModifierStateSpace(in);
    if (in.operation != Operation::kSt ||
        (space != StateSpace::kGlobal && space != StateSpace::kNone))
      return;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      const uint64_t address = AddressOf(warp, in, slots[0], lane);
      if (WindowOf(space, address) != window_) continue;
      Note(warp, lane,
           Distance(offset_, OffsetOf(space, address), BytesOf(in.type) * in.vector_width()));
    }
  }

  uint64_t block = 0;
  uint32_t thread = 0;

 private:
  // Another argument that holds the same memory.
  bool Meets(const MemoryAccess& access) const {
    return byte_ >= access.held && byte_ < access.held + access.bytes;
  }

  static uint64_t Distance(uint64_t at, uint64_t first, uint64_t bytes) {
    if (at < first) return first - at;
    return at < first + bytes ? 0 : at - (first + bytes) + 1;
  }

  void Note(const Warp& warp, uint32_t lane, uint64_t distance) {
    if (distance >= nearest_) return;
    nearest_ = distance;
    block = warp.block->index;
    thread = warp.first_thread + lane;
  }

  const std::byte* byte_;
  uint64_t window_, offset_;
  uint64_t nearest_ = std::numeric_limits<uint64_t>::max(), block_ = 0;
};

}  // namespace

Result<StoringThread> FindNearestStore(const Module& module, const LaunchRequest& request,
                                       uint32_t argument, uint64_t byte,
                                       const LaunchOptions& options) {
  WatchesNeighbours watch(request.arguments[argument].memory.data() + byte, argument, byte);
  LaunchOptions watched = options;
  watched.observer = &watch;
  HLOSCOPE_TRY(Launch(module, request, watched));
  return StoringThread{Unflattened(watch.block, request.grid),
                       Unflattened(watch.thread, request.block)};
}

}  // namespace hloscope::ptx
