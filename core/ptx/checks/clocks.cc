// Clocks: intervals of warps and of their copies, and what each warp knows of the others.
#include "core/ptx/checks/clocks.h"

#include <algorithm>

namespace hloscope::ptx {

void Clocks::Start(uint32_t warps, uint32_t& interval) {
  warps_ = warps;
  first_ = ++interval;
  now_.fill(interval);
  barriers_.clear();
  for (uint32_t w = 0; w < warps; ++w) {
    known_[w].fill(interval - 1);
    known_[w][w] = kAll;
    known_of_all_[w] = interval - 1;
    groups_[w].clear();
  }
}

void Clocks::Meet(uint32_t participants, uint32_t& interval) {
  Row all{};
  for (uint32_t w = 0; w < kLanes; ++w) {
    if ((participants >> w & 1) == 0) continue;
    for (const uint32_t first : {0u, kLanes}) {
      for (uint32_t a = first; a < first + warps_; ++a)
        all[a] = std::max(all[a], a == w ? now_[w] : known_[w][a]);
    }
  }
  ++interval;
  for (uint32_t w = 0; w < kLanes; ++w) {
    if ((participants >> w & 1) == 0) continue;
    now_[w] = interval;
    Learn(w, all);
  }
}

void Clocks::Commit(uint32_t warp, uint32_t& interval) {
  groups_[warp].push_back(now_[kLanes + warp]);
  now_[kLanes + warp] = ++interval;
}

void Clocks::Wait(uint32_t warp, uint32_t left) {
  std::deque<uint32_t>& groups = groups_[warp];
  while (groups.size() > left) {
    uint32_t& known = known_[warp][kLanes + warp];
    known = std::max(known, groups.front());
    groups.pop_front();
  }
}

// Copies bring what they wrote, not what the warp that started them knows.
void Clocks::Arrive(uint32_t agent, uint64_t barrier) {
  Row& row = barriers_[barrier].arrived;
  row[agent] = std::max(row[agent], now_[agent]);
  if (agent >= kLanes) return;
  for (uint32_t a = 0; a < kAgents; ++a)
    if (a != agent) row[a] = std::max(row[a], known_[agent][a]);
}

void Clocks::EndPhase(uint64_t barrier) {
  if (const auto found = barriers_.find(barrier); found != barriers_.end())
    found->second.ended = found->second.arrived;
}

void Clocks::Leave(uint32_t warp, uint64_t barrier) {
  if (const auto found = barriers_.find(barrier); found != barriers_.end())
    Learn(warp, found->second.ended);
}

void Clocks::Learn(uint32_t warp, const Row& row) {
  for (const uint32_t first : {0u, kLanes}) {
    for (uint32_t a = first; a < first + warps_; ++a)
      known_[warp][a] = std::max(known_[warp][a], row[a]);
  }
  uint32_t least = kAll;
  for (uint32_t w = 0; w < warps_; ++w) least = std::min(least, known_[warp][w]);
  known_of_all_[warp] = least;
}

}  // namespace hloscope::ptx
