// Pairing in rounds, from what is most alike to what is least.
#include "core/analysis/memory/compare_memory.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>

namespace hloscope::analysis {
namespace {

using Key = std::tuple<std::string, std::string, std::string>;

Key KeyOf(const MemoryHolder& holder, int round) {
  if (round == 2 || holder.op_name.empty()) return {holder.opcode, "", holder.shape};
  return {holder.opcode, holder.op_name, round == 0 ? holder.shape : ""};
}

}  // namespace

MemoryComparison CompareMemory(const MemoryReport& a, const MemoryReport& b) {
  MemoryComparison out;
  std::vector<const MemoryHolder*> left_a, left_b;
  for (const MemoryHolder& holder : a.holders) {
    left_a.push_back(&holder);
    out.bytes_a += holder.bytes;
  }
  for (const MemoryHolder& holder : b.holders) {
    left_b.push_back(&holder);
    out.bytes_b += holder.bytes;
  }
  for (int round = 0; round < 3; ++round) {
    std::map<Key, std::vector<const MemoryHolder*>> by_key;  // the first last
    std::set<const MemoryHolder*> taken;
    for (auto at = left_b.rbegin(); at != left_b.rend(); ++at)
      by_key[KeyOf(**at, round)].push_back(*at);
    std::erase_if(left_a, [&](const MemoryHolder* holder) {
      const auto at = by_key.find(KeyOf(*holder, round));
      if (at == by_key.end() || at->second.empty()) return false;
      const MemoryHolder* other = at->second.back();
      at->second.pop_back();
      taken.insert(other);
      if (holder->bytes != other->bytes) out.differences.push_back({*holder, *other});
      return true;
    });
    std::erase_if(left_b, [&](const MemoryHolder* holder) { return taken.contains(holder); });
  }
  for (const MemoryHolder* holder : left_a) out.differences.push_back({*holder, std::nullopt});
  for (const MemoryHolder* holder : left_b) out.differences.push_back({std::nullopt, *holder});
  std::ranges::stable_sort(out.differences, std::greater(),
                           [](const MemoryDifference& d) { return std::abs(d.bytes()); });
  for (size_t k = kShownDifferences; k < out.differences.size(); ++k) {
    ++out.left_out;
    out.left_out_bytes += out.differences[k].bytes();
  }
  if (out.left_out > 0) out.differences.resize(kShownDifferences);
  return out;
}

}  // namespace hloscope::analysis
