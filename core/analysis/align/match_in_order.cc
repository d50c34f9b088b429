#include "core/analysis/align/match_in_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>

namespace hloscope::analysis {

using hlo::InstructionId;
using hlo::Module;

namespace {

// Instructions by a key, of which each is taken once.
class Index {
 public:
  // In reverse order: the last one that was added is taken first.
  void Add(std::string key, InstructionId id) { by_key_[std::move(key)].push_back(id); }

  InstructionId First(const std::string& key, const std::set<InstructionId>& used) {
    const auto at = by_key_.find(key);
    if (at == by_key_.end()) return {};
    std::vector<InstructionId>& ids = at->second;
    while (!ids.empty() && used.contains(ids.back())) ids.pop_back();
    return ids.empty() ? InstructionId() : ids.back();
  }

 private:
  std::unordered_map<std::string, std::vector<InstructionId>> by_key_;
};

std::string With(std::string_view key, uint64_t what_it_does) {
  return fmt::format("{} {:x}", key, what_it_does);
}

std::string With(std::string_view key, std::string_view name) {
  return fmt::format("{} %{}", key, name);
}

}  // namespace

std::string OperandKey(const Module& module, InstructionId id, const Partners* partners) {
  if (module.operands(id).empty()) return {};
  std::string key = fmt::format("{} {} {}", hlo::ToString(module[id].opcode),
                                hlo::ToString(module.shape(id).WithDefaultLayouts()),
                                module.GetString(module[id], hlo::AttributeKey::kCustomCallTarget));
  for (InstructionId operand : module.operands(id)) {
    if (partners != nullptr) {
      const auto partner = partners->find(operand);
      if (partner == partners->end()) return {};
      operand = partner->second;
    }
    key += fmt::format(" {}", operand.index);
  }
  return key;
}

std::vector<std::pair<InstructionId, InstructionId>> MatchInOrder(MatchSide a, MatchSide b,
                                                                  Partners& partners) {
  std::vector<std::pair<InstructionId, InstructionId>> pairs;
  if (a.left.empty() || b.left.empty()) return pairs;
  Index by_operands_and_name, by_operands, by_name;
  for (const InstructionId id : b.left | std::views::reverse) {
    const std::string_view name = b.module.name(id);
    const uint64_t does = b.prints.local[id.index];
    by_name.Add(With(name, does), id);
    const std::string key = OperandKey(b.module, id);
    if (key.empty()) continue;
    by_operands_and_name.Add(With(key, name), id);
    by_operands.Add(With(key, does), id);
  }
  std::set<InstructionId> used;
  std::erase_if(a.left, [&](InstructionId id) {
    const std::string_view name = a.module.name(id);
    const uint64_t does = a.prints.local[id.index];
    const std::string key = OperandKey(a.module, id, &partners);
    InstructionId found;
    if (!key.empty()) {
      found = by_operands_and_name.First(With(key, name), used);
      if (!found.valid()) found = by_operands.First(With(key, does), used);
    }
    if (!found.valid()) found = by_name.First(With(name, does), used);
    if (!found.valid()) return false;
    used.insert(found);
    partners[id] = found;
    pairs.emplace_back(id, found);
    return true;
  });
  std::erase_if(b.left, [&](InstructionId id) { return used.contains(id); });
  return pairs;
}

}  // namespace hloscope::analysis
