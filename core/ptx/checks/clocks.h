// Clocks: what of the other warps of its block each warp knows to be done.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "core/ptx/machine/state.h"

namespace hloscope::ptx {

// Time is cut into intervals, numbered over all blocks of a run. A warp is in one interval from one
// barrier to the next. Who acts are the warps and, kLanes numbers above each, the copies that it
// started (cp.async), which go on beside it until it waits for them.
class Clocks {
 public:
  static constexpr uint32_t kAgents = 2 * kLanes;

  // A block begins. `interval` is the last that was given out; it is counted on.
  void Start(uint32_t warps, uint32_t& interval);
  // The warps of `participants` (a bit for each) have met.
  void Meet(uint32_t participants, uint32_t& interval);
  // The copies that a warp has started and not yet closed are a group of its own.
  void Commit(uint32_t warp, uint32_t& interval);
  // A warp has waited until no more than `left` of its groups go on.
  void Wait(uint32_t warp, uint32_t left);

  // mbarriers, by their address. An agent arrives: who waits for the phase to end knows of all that
  // it did until then; what it does from Advance on is later.
  void MakeBarrier(uint64_t barrier) { barriers_.try_emplace(barrier); }
  bool IsBarrier(uint64_t address) const { return barriers_.contains(address); }
  void Arrive(uint32_t agent, uint64_t barrier);
  void Advance(uint32_t agent, uint32_t& interval) { now_[agent] = ++interval; }
  // All have arrived; a warp has seen that.
  void EndPhase(uint64_t barrier);
  void Leave(uint32_t warp, uint64_t barrier);

  uint32_t first() const { return first_; }  // interval of the block
  uint32_t Now(uint32_t agent) const { return now_[agent]; }
  // What `warp` knows of every other warp of the block; of itself it knows all.
  uint32_t KnownOfAll(uint32_t warp) const { return known_of_all_[warp]; }
  // By agent: the last of its intervals that `warp` knows to be done; of itself all are.
  const uint32_t* KnownTo(uint32_t warp) const { return known_[warp].data(); }

 private:
  using Row = std::array<uint32_t, kAgents>;
  static constexpr uint32_t kAll = ~uint32_t{0};
  // A warp learns what is behind a barrier.
  void Learn(uint32_t warp, const Row& row);

  uint32_t warps_ = 0;
  uint32_t first_ = 0;
  std::array<uint32_t, kAgents> now_{};
  std::array<Row, kLanes> known_{};
  std::array<uint32_t, kLanes> known_of_all_{};
  std::array<std::deque<uint32_t>, kLanes> groups_;  // the last interval of each
  struct Barrier {
    Row arrived{}, ended{};  // what is known to those that arrived, and behind the last phase's end
  };
  std::unordered_map<uint64_t, Barrier> barriers_;
};

}  // namespace hloscope::ptx
