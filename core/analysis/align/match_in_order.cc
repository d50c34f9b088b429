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

std::string ShapeText(const Module& module, InstructionId id) {
  return hlo::ToString(module.shape(id).WithDefaultLayouts());
}

// `begin`, then the operands, as the partners that they have; empty where one has none.
std::string WithOperands(std::string begin, const Module& module, InstructionId id,
                         const Partners* partners) {
  for (InstructionId operand : module.operands(id)) {
    if (partners != nullptr) {
      const auto partner = partners->find(operand);
      if (partner == partners->end()) return {};
      operand = partner->second;
    }
    begin += fmt::format(" {}", operand.index);
  }
  return begin;
}

// What an instruction stands for whatever its opcode is: shape, operands, and what reads it. An
// instruction that was inserted before another has the same operands, but is read by that one.
class OperandPlaces {
 public:
  explicit OperandPlaces(const MatchSide& side) : module_(side.module) {
    for (const InstructionId id : side.left) {
      const uint64_t reader = hlo::HashBytes(
          fmt::format("{} {}", hlo::ToString(module_[id].opcode), ShapeText(module_, id)));
      uint64_t slot = 0;
      for (const InstructionId operand : module_.operands(id))
        readers_[operand] += reader * (2 * slot++ + 1);
      const std::string key = Key(id);
      if (!key.empty()) at_[key].push_back(id);
    }
  }

  // Empty without operands, and where one of them has no partner.
  std::string Key(InstructionId id, const Partners* partners = nullptr) const {
    if (module_.operands(id).empty()) return {};
    return WithOperands(ShapeText(module_, id), module_, id, partners);
  }
  // The one at `key`; none where there are several.
  InstructionId Only(const std::string& key) const {
    const auto at = at_.find(key);
    return at == at_.end() || at->second.size() != 1 ? InstructionId() : at->second.front();
  }
  // Of its readers' opcodes and shapes; 0 if nothing reads it.
  uint64_t readers(InstructionId id) const {
    const auto at = readers_.find(id);
    return at == readers_.end() ? 0 : at->second;
  }

 private:
  const Module& module_;
  std::unordered_map<std::string, std::vector<InstructionId>> at_;
  std::unordered_map<InstructionId, uint64_t> readers_;
};

}  // namespace

std::string OperandKey(const Module& module, InstructionId id, const Partners* partners) {
  if (module.operands(id).empty()) return {};
  return WithOperands(
      fmt::format("{} {} {}", hlo::ToString(module[id].opcode), ShapeText(module, id),
                  module.GetString(module[id], hlo::AttributeKey::kCustomCallTarget)),
      module, id, partners);
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
  const OperandPlaces places_a(a), places_b(b);
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
    // Another operation in its place: found by its name, a renumbered one would take what belongs
    // to another, and all that reads it would have no operands in common any more.
    if (!found.valid() && !key.empty() && places_a.Only(places_a.Key(id)).valid()) {
      const InstructionId other = places_b.Only(places_a.Key(id, &partners));
      if (other.valid() && a.module[id].opcode != b.module[other].opcode && !used.contains(other) &&
          places_a.readers(id) == places_b.readers(other)) {
        found = other;
      }
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
