// PossibleTilings: the devices as a mesh with one axis per prime factor, and its axes dealt out.
#include "core/replay/possible_tilings.h"

#include <algorithm>
#include <numeric>

namespace hloscope::replay {

using hlo::Tiling;

namespace {

constexpr size_t kMax = 300;

std::vector<int64_t> PrimeFactors(int64_t number) {
  std::vector<int64_t> factors;
  for (int64_t p = 2; p * p <= number; ++p) {
    for (; number % p == 0; number /= p) factors.push_back(p);
  }
  if (number > 1) factors.push_back(number);
  return factors;
}

// Deals the axes of one mesh out to tile dimensions, in every order; a loop over a stack of
// choices.
class Dealer {
 public:
  Dealer(std::span<const int64_t> tiles, const std::vector<int64_t>& order,
         std::vector<Tiling>& found)
      : tiles_(tiles), order_(order), axes_(PrimeFactors(std::ssize(order))), found_(found) {}

  void Deal() {
    // A state: the axes taken so far, in order, each for the first dimension not yet full.
    std::vector<std::vector<size_t>> pending = {{}};
    while (!pending.empty() && found_.size() < kMax) {
      const std::vector<size_t> taken = std::move(pending.back());
      pending.pop_back();
      const int64_t missing = Missing(taken);
      if (missing == 1) {
        Add(taken);
        continue;
      }
      for (size_t axis = axes_.size(); axis-- > 0;) {  // the first axis is tried first
        if (missing % axes_[axis] != 0 || std::ranges::find(taken, axis) != taken.end()) continue;
        pending.push_back(taken);
        pending.back().push_back(axis);
      }
    }
  }

 private:
  // What the first dimension that is not full still needs; 1 where all are full.
  int64_t Missing(const std::vector<size_t>& taken) const {
    size_t next = 0;
    for (int64_t missing : tiles_) {
      while (missing != 1 && next < taken.size()) missing /= axes_[taken[next++]];
      if (missing != 1) return missing;
    }
    return 1;
  }

  void Add(const std::vector<size_t>& taken) {
    Tiling tiling{{tiles_.begin(), tiles_.end()}, std::vector<int64_t>(order_.size(), -1)};
    for (size_t i = 0; i < order_.size(); ++i) {
      std::vector<int64_t> coordinates(axes_.size());
      auto rest = static_cast<int64_t>(i);
      for (size_t a = axes_.size(); a-- > 0;) {
        coordinates[a] = rest % axes_[a];
        rest /= axes_[a];
      }
      int64_t tile = 0;
      for (size_t a : taken) tile = tile * axes_[a] + coordinates[a];
      tiling.tile_of[static_cast<size_t>(order_[i])] = tile;
    }
    const bool is_new = std::ranges::none_of(
        found_, [&](const Tiling& other) { return other.tile_of == tiling.tile_of; });
    if (is_new) found_.push_back(std::move(tiling));
  }

  std::span<const int64_t> tiles_;
  const std::vector<int64_t>& order_;
  std::vector<int64_t> axes_;
  std::vector<Tiling>& found_;
};

}  // namespace

std::vector<Tiling> PossibleTilings(std::span<const int64_t> tiles, int64_t devices,
                                    std::span<const Tiling> known) {
  std::vector<Tiling> found;
  for (const Tiling& tiling : known) {
    if (std::ranges::equal(tiling.tiles, tiles)) found.push_back(tiling);
  }
  std::vector<int64_t> order(static_cast<size_t>(devices));
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::vector<int64_t>> orders = {order};
  for (const Tiling& tiling : known) {
    std::ranges::stable_sort(order, {},
                             [&](int64_t d) { return tiling.tile_of[static_cast<size_t>(d)]; });
    if (std::ranges::find(orders, order) == orders.end()) orders.push_back(order);
    std::ranges::sort(order);
  }
  for (const auto& each : orders) Dealer(tiles, each, found).Deal();
  return found;
}

}  // namespace hloscope::replay
