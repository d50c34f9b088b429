// The order within rows: sweeps by barycentre, then exchanges of neighbours, keeping the best.
#include <algorithm>
#include <numeric>

#include "core/graph/layered.h"

namespace hloscope::graph {
namespace {

constexpr int kExchangePasses = 12;

// A binary indexed tree of counts.
class Counts {
 public:
  void Reset(size_t n) { tree_.assign(n + 1, 0); }
  void Add(uint32_t at) {
    for (size_t k = at + 1; k < tree_.size(); k += k & (~k + 1)) ++tree_[k];
  }
  int64_t UpTo(uint32_t at) const {  // of positions [0, at]
    int64_t sum = 0;
    for (size_t k = at + 1; k > 0; k -= k & (~k + 1)) sum += tree_[k];
    return sum;
  }

 private:
  std::vector<int32_t> tree_;
};

void Number(Rows& rows, uint32_t row) {
  for (uint32_t k = 0; k < rows.items[row].size(); ++k) rows.position[rows.items[row][k]] = k;
}

// One row sorted by the mean position of its neighbours on one side; items without any stay where
// they are, equal ones keep their order.
class Sorter {
 public:
  explicit Sorter(Rows& rows) : rows_(rows) {}
  void Sort(uint32_t row, const Lists& neighbours) {
    std::vector<uint32_t>& items = rows_.items[row];
    keyed_.clear();
    slots_.clear();
    for (uint32_t k = 0; k < items.size(); ++k) {
      auto near = neighbours[items[k]];
      if (near.empty()) continue;
      double sum = 0;
      for (uint32_t n : near) sum += rows_.position[n];
      keyed_.push_back({static_cast<float>(sum / static_cast<double>(near.size())), items[k]});
      slots_.push_back(k);
    }
    std::ranges::stable_sort(keyed_, {}, &Keyed::key);
    for (size_t k = 0; k < slots_.size(); ++k) items[slots_[k]] = keyed_[k].item;
    Number(rows_, row);
  }

 private:
  struct Keyed {
    float key;
    uint32_t item;
  };
  Rows& rows_;
  std::vector<Keyed> keyed_;
  std::vector<uint32_t> slots_;
};

// Exchanges of neighbours in a row as long as they save crossings.
class Exchanger {
 public:
  explicit Exchanger(Rows& rows) : rows_(rows) {}

  // One pass over all rows; what it saved.
  int64_t Pass(bool ties) {
    int64_t saved = 0;
    for (uint32_t r = 0; r < rows_.items.size(); ++r) saved += ExchangeIn(r, ties);
    return saved;
  }

 private:
  void Gather(const Lists& lists, std::span<const uint32_t> items,
              std::vector<std::vector<uint32_t>>& out) const {
    out.resize(items.size());
    for (size_t k = 0; k < items.size(); ++k) {
      out[k].clear();
      for (uint32_t n : lists[items[k]]) out[k].push_back(rows_.position[n]);
      std::ranges::sort(out[k]);
    }
  }
  // Crossings between the edges of a left and of a right item.
  static int64_t Crossings(const std::vector<uint32_t>& left, const std::vector<uint32_t>& right) {
    int64_t count = 0;
    size_t smaller = 0;
    for (uint32_t l : left) {
      while (smaller < right.size() && right[smaller] < l) ++smaller;
      count += static_cast<int64_t>(smaller);
    }
    return count;
  }
  int64_t ExchangeIn(uint32_t row, bool ties) {
    std::vector<uint32_t>& items = rows_.items[row];
    if (items.size() < 2) return 0;
    Gather(rows_.above, items, above_);
    Gather(rows_.below, items, below_);
    int64_t saved = 0;
    bool again = true;
    for (int pass = 0; again && pass < 8; ++pass) {
      again = false;
      for (size_t k = 0; k + 1 < items.size(); ++k) {
        int64_t now = Crossings(above_[k], above_[k + 1]) + Crossings(below_[k], below_[k + 1]);
        int64_t then = Crossings(above_[k + 1], above_[k]) + Crossings(below_[k + 1], below_[k]);
        if (then > now || (then == now && (!ties || pass > 0 || now == 0))) continue;
        std::swap(items[k], items[k + 1]);
        above_[k].swap(above_[k + 1]);
        below_[k].swap(below_[k + 1]);
        saved += now - then;
        again |= then < now;
      }
    }
    Number(rows_, row);
    return saved;
  }

  Rows& rows_;
  std::vector<std::vector<uint32_t>> above_, below_;
};

int64_t CountBetween(const Rows& rows, uint32_t upper, Counts& counts,
                     std::vector<uint32_t>& ends) {
  // From left to right, each segment crosses those before it that end further right.
  counts.Reset(rows.items[upper + 1].size());
  int64_t crossings = 0, seen = 0;
  for (uint32_t item : rows.items[upper]) {
    ends.clear();
    for (uint32_t n : rows.below[item]) ends.push_back(rows.position[n]);
    for (uint32_t end : ends) crossings += seen - counts.UpTo(end);
    for (uint32_t end : ends) counts.Add(end);
    seen += static_cast<int64_t>(ends.size());
  }
  return crossings;
}

// The best order seen so far.
struct Best {
  std::vector<std::vector<uint32_t>> items;
  int64_t crossings = -1;
  bool Take(const Rows& rows, int64_t count) {
    if (crossings >= 0 && count >= crossings) return false;
    crossings = count;
    items = rows.items;
    return true;
  }
};

void Sweep(Rows& rows, Sorter& sorter, bool down) {
  const auto count = static_cast<uint32_t>(rows.items.size());
  for (uint32_t k = 1; k < count; ++k) {
    if (down) {
      sorter.Sort(k, rows.above);
    } else {
      sorter.Sort(count - 1 - k, rows.below);
    }
  }
}

void Exchange(Rows& rows, Best& best) {
  Exchanger exchanger(rows);
  int idle = 0;
  for (int pass = 0; pass < kExchangePasses && idle < 2; ++pass) {
    idle = exchanger.Pass(pass % 2 == 1) > 0 ? 0 : idle + 1;
  }
  best.Take(rows, CountCrossings(rows));
}

}  // namespace

int64_t CountCrossings(const Rows& rows) {
  Counts counts;
  std::vector<uint32_t> ends;
  int64_t sum = 0;
  for (uint32_t r = 0; r + 1 < rows.items.size(); ++r) sum += CountBetween(rows, r, counts, ends);
  return sum;
}

int64_t Order(Rows& rows, const LayoutOptions& options) {
  for (uint32_t r = 0; r < rows.items.size(); ++r) Number(rows, r);
  const bool small = rows.row.size() <= static_cast<size_t>(options.exchange_limit);
  Sorter sorter(rows);
  Best best;
  best.Take(rows, CountCrossings(rows));
  if (small) Exchange(rows, best);
  int idle = 0;
  const bool large = rows.row.size() > static_cast<size_t>(options.large);
  const int sweeps = small ? options.sweeps * 3 : large ? options.sweeps / 2 : options.sweeps;
  for (int sweep = 0; sweep < sweeps && idle < 4 && best.crossings > 0; ++sweep) {
    Sweep(rows, sorter, sweep % 2 == 0);
    if (large && sweep % 2 == 0) continue;  // counting takes as long as sorting
    const int64_t before = best.crossings;
    best.Take(rows, CountCrossings(rows));
    if (small) Exchange(rows, best);
    idle = best.crossings < before ? 0 : idle + 1;
  }
  rows.items = best.items;
  for (uint32_t r = 0; r < rows.items.size(); ++r) Number(rows, r);
  return best.crossings;
}

}  // namespace hloscope::graph
