// Repeats: scopes that differ in a number only, equal stretches of the program, and parts of what
// remains too long.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "core/base/quick_hash.h"
#include "core/graph/grouper.h"
#include "core/graph/user_words.h"
#include "core/hlo/string_pool.h"

namespace hloscope::graph {
namespace {

constexpr size_t kMinRepeats = 3;
constexpr size_t kMinPeriod = 4;
constexpr size_t kPeriodsTried = 24;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// "layer_12" and "layer_3" are both "layer"; empty where there is no number.
std::string WithoutNumbers(std::string_view label) {
  std::string out;
  bool number = false;
  for (size_t k = 0; k < label.size();) {
    if (!IsDigit(label[k])) {
      out += label[k++];
      continue;
    }
    number = true;
    while (k < label.size() && IsDigit(label[k])) ++k;
    while (!out.empty() && (out.back() == '_' || out.back() == '.' || out.back() == '-'))
      out.pop_back();
  }
  return number && !out.empty() ? out : std::string();
}

// "layer_0…11" of "layer_0" to "layer_11"; of labels with several numbers or none what all share.
std::string RangeLabel(std::string_view first, std::string_view last, std::string shared) {
  const auto number_in = [](std::string_view label) {
    const size_t begin = label.find_first_of("0123456789");
    const size_t end = std::min(label.find_first_not_of("0123456789", begin), label.size());
    return std::pair(begin, end);
  };
  const auto [begin, end] = number_in(first);
  const auto [last_begin, last_end] = number_in(last);
  if (begin == std::string_view::npos || last_begin == std::string_view::npos ||
      first.find_first_of("0123456789", end) != std::string_view::npos ||
      first.substr(0, begin) != last.substr(0, last_begin) ||
      first.substr(end) != last.substr(last_end))
    return shared;
  return std::string(first.substr(0, end))
      .append("…")
      .append(last.substr(last_begin, last_end - last_begin))
      .append(first.substr(end));
}

// How much an opcode says about what a part is for.
int64_t WeightOf(hlo::Opcode opcode) {
  switch (hlo::Info(opcode).category) {
    case hlo::Category::kContraction:
    case hlo::Category::kLinearAlgebra:
    case hlo::Category::kCollective:
    case hlo::Category::kCustomCall:
    case hlo::Category::kHostTransfer:
      return 1000;
    case hlo::Category::kFusion:
    case hlo::Category::kReduction:
    case hlo::Category::kSort:
      return 30;
    case hlo::Category::kSource:
    case hlo::Category::kTuple:
      return 0;
    default:
      return 1;
  }
}

// A stretch [begin, begin + period · times) of equal blocks.
struct Stretch {
  size_t begin = 0, period = 0, times = 0;
};

// Distances between equal tokens that lie next to one another, most frequent first.
std::vector<size_t> LikelyPeriods(std::span<const uint64_t> tokens) {
  std::unordered_map<uint64_t, size_t> last;
  std::map<size_t, size_t> votes;
  for (size_t k = 0; k < tokens.size(); ++k) {
    auto [at, first] = last.try_emplace(tokens[k], k);
    if (!first && k - at->second >= kMinPeriod) ++votes[k - at->second];
    at->second = k;
  }
  std::vector<std::pair<size_t, size_t>> sorted;  // votes times period: what it would fold
  for (auto [period, count] : votes) sorted.emplace_back(count, period);
  std::ranges::stable_sort(sorted, std::greater<>());
  std::vector<size_t> periods;
  for (size_t k = 0; k < sorted.size() && k < kPeriodsTried; ++k)
    periods.push_back(sorted[k].second);
  return periods;
}

// Stretches that do not overlap, those that fold most first.
std::vector<Stretch> FindStretches(std::span<const uint64_t> tokens) {
  std::vector<Stretch> found, taken;
  for (size_t period : LikelyPeriods(tokens)) {
    size_t run = 0;
    for (size_t k = period; k <= tokens.size(); ++k) {
      if (k < tokens.size() && tokens[k] == tokens[k - period]) {
        ++run;
        continue;
      }
      if (run >= period * (kMinRepeats - 1))
        found.push_back({k - run - period, period, run / period + 1});
      run = 0;
    }
  }
  std::ranges::stable_sort(found, [](const Stretch& a, const Stretch& b) {
    return a.period * a.times > b.period * b.times;
  });
  for (const Stretch& s : found) {
    auto overlaps = [&](const Stretch& t) {
      return s.begin < t.begin + t.period * t.times && t.begin < s.begin + s.period * s.times;
    };
    if (std::ranges::none_of(taken, overlaps)) taken.push_back(s);
    if (taken.size() >= 64) break;
  }
  std::ranges::sort(taken, {}, &Stretch::begin);
  return taken;
}

// As many of a group's leaves are asked for their words; more would say the same.
constexpr size_t kMaxAsked = 2000;

// The word that at least `share` of the leaves have; empty where there is none.
std::string_view MostCommonWord(const hlo::Module& module,
                                std::span<const hlo::InstructionId> leaves, double share) {
  std::unordered_map<std::string_view, int64_t> counts;
  const size_t step = leaves.size() / kMaxAsked + 1;
  int64_t all = 0;
  for (size_t k = 0; k < leaves.size(); k += step) {
    ++all;
    if (const std::string_view word = UserWordOf(module, leaves[k]); !word.empty()) ++counts[word];
  }
  std::string_view best;
  int64_t most = 0;
  for (const auto& [word, count] : counts) {
    if (count < most || (count == most && word > best)) continue;
    most = count;
    best = word;
  }
  return static_cast<double>(most) >= share * static_cast<double>(all) ? best : std::string_view();
}

// ":54–61", the lines of what has that word.
std::string LinesOf(const hlo::Module& module, std::span<const hlo::InstructionId> leaves,
                    std::string_view word) {
  int32_t first = INT32_MAX, last = 0;
  const size_t step = leaves.size() / kMaxAsked + 1;
  for (size_t k = 0; k < leaves.size(); k += step) {
    const UserPlace place = UserPlaceOf(module, leaves[k]);
    if (place.word != word || place.line <= 0) continue;
    first = std::min(first, place.line);
    last = std::max(last, place.line);
  }
  if (last == 0) return {};
  return first == last ? fmt::format(":{}", last) : fmt::format(":{}–{}", first, last);
}

}  // namespace

// Sibling scopes of one name but for a number, and of one content, become one group.
std::vector<Grouper::Entity> Grouper::FoldNamedRepeats(std::span<const Entity> entities) {
  struct Family {
    std::string label;
    std::vector<Entity> members;
  };
  std::map<std::pair<std::string, uint64_t>, Family> families;
  for (const Entity& entity : entities) {
    const Node& node = tree_[entity.node];
    if (node.kind != NodeKind::kScope) continue;
    std::string label = WithoutNumbers(node.label);
    if (label.empty()) continue;
    Family& family = families[{label, entity.signature}];
    family.label = label;
    family.members.push_back(entity);
  }
  std::vector<Entity> out;
  std::unordered_set<uint32_t> gone;
  for (auto& [key, family] : families) {
    if (family.members.size() < kMinRepeats) continue;
    for (const Entity& member : family.members) gone.insert(member.node.index);
    std::string label = RangeLabel(tree_[family.members.front().node].label,
                                   tree_[family.members.back().node].label, family.label);
    const uint64_t group_key = MixKeys(MixKeys(tree_[owner_].key, hlo::HashBytes(family.label)),
                                       family.members[0].signature);
    NodeId group =
        MakeGroup(NodeKind::kRepeat, tree_.Keep(std::move(label)), group_key, family.members);
    tree_.nodes_[group.index].repeats = static_cast<uint32_t>(family.members.size());
    out.push_back(EntityOf(group, family.members));
  }
  for (const Entity& entity : entities) {
    if (!gone.contains(entity.node.index)) out.push_back(entity);
  }
  std::ranges::stable_sort(out, {}, &Entity::position);
  return out;
}

// Equal blocks one after another in the program, without any metadata.
std::vector<Grouper::Entity> Grouper::FoldStretches(std::vector<Entity> entities, uint64_t key) {
  std::vector<uint64_t> tokens;
  for (const Entity& entity : entities) {
    const bool leaf = tree_[entity.node].kind == NodeKind::kInstruction;
    tokens.push_back(entity.signature == 0 && leaf ? Signature(entity.node) : entity.signature);
  }
  std::vector<Entity> out;
  size_t done = 0;
  for (const Stretch& stretch : FindStretches(tokens)) {
    out.insert(out.end(), entities.begin() + static_cast<ptrdiff_t>(done),
               entities.begin() + static_cast<ptrdiff_t>(stretch.begin));
    std::vector<Entity> blocks;
    for (size_t t = 0; t < stretch.times; ++t) {
      auto members =
          std::span(entities).subspan(stretch.begin + t * stretch.period, stretch.period);
      const uint64_t block_key = MixKeys(key, tree_[members[0].node].key);
      NodeId block = MakeGroup(NodeKind::kPart, PartLabel(members), block_key, members);
      blocks.push_back(EntityOf(block, members));
    }
    std::string_view label = tree_[blocks[0].node].label;
    NodeId repeat =
        MakeGroup(NodeKind::kRepeat, label, MixKeys(tree_[blocks[0].node].key, 3), blocks);
    tree_.nodes_[repeat.index].repeats = static_cast<uint32_t>(stretch.times);
    out.push_back(EntityOf(repeat, blocks));
    done = stretch.begin + stretch.period * stretch.times;
  }
  out.insert(out.end(), entities.begin() + static_cast<ptrdiff_t>(done), entities.end());
  return out;
}

// After each entity: how many values made so far are still needed by later ones.
std::vector<uint32_t> Grouper::LiveAfter(std::span<const Entity> entities) {
  const hlo::Module& module = tree_.module();
  const hlo::Computation& c = module[computation_];
  entity_of_.resize(c.instruction_count, UINT32_MAX);
  std::vector<uint32_t> inside, last(entities.size(), 0);
  for (uint32_t k = 0; k < entities.size(); ++k) {
    tree_.ForEachInstruction(entities[k].node, [&](hlo::InstructionId id) {
      inside.push_back(id.index - c.first_instruction);
      entity_of_[inside.back()] = k;
    });
  }
  for (uint32_t i : inside) {
    for (hlo::InstructionId operand :
         module.operands(hlo::InstructionId(c.first_instruction + i))) {
      const uint32_t from = entity_of_[operand.index - c.first_instruction];
      if (from != UINT32_MAX && from < entity_of_[i])
        last[from] = std::max(last[from], entity_of_[i]);
    }
  }
  for (uint32_t i : inside) entity_of_[i] = UINT32_MAX;
  std::vector<int32_t> change(entities.size() + 1, 0);
  for (uint32_t k = 0; k < entities.size(); ++k) {
    if (last[k] <= k) continue;
    ++change[k];
    --change[last[k]];
  }
  std::vector<uint32_t> live;
  int32_t now = 0;
  for (size_t k = 0; k < entities.size(); ++k)
    live.push_back(static_cast<uint32_t>(now += change[k]));
  return live;
}

// Parts of about equal size, cut where fewest values are carried over.
std::vector<Grouper::Entity> Grouper::Divide(std::vector<Entity> entities, uint64_t key) {
  const std::vector<uint32_t> live = LiveAfter(entities);
  const size_t most = tree_.options_.most_children;
  const size_t target = std::clamp<size_t>(entities.size() / (most / 2), most / 3, most * 2 / 3);
  std::vector<Entity> out;
  std::unordered_map<std::string_view, size_t> labels;  // how many parts have each
  for (size_t begin = 0; begin < entities.size();) {
    size_t end = entities.size();
    if (end - begin > target * 3 / 2) {
      end = begin + target;
      for (size_t k = begin + target / 2; k < begin + target * 3 / 2; ++k) {
        // Of cuts that are as good, the one nearest to the size wanted.
        const size_t off = k + 1 > begin + target ? k + 1 - begin - target : begin + target - k - 1;
        const size_t best = end > begin + target ? end - begin - target : begin + target - end;
        if (live[k] < live[end - 1] || (live[k] == live[end - 1] && off < best)) end = k + 1;
      }
    }
    auto members = std::span(entities).subspan(begin, end - begin);
    if (members.size() == 1) {
      out.push_back(members[0]);
    } else {
      const uint64_t part_key = MixKeys(key, tree_[members[0].node].key);
      std::string_view label = PartLabel(members);
      const size_t before = ++labels[label];
      if (before > 1) label = tree_.Keep(fmt::format("{} ({})", label, before));
      NodeId part = MakeGroup(NodeKind::kPart, label, part_key, members);
      out.push_back(EntityOf(part, members));
    }
    begin = end;
  }
  return out;
}

// What the user calls most of a part; empty where that is what all of the program is called.
std::string_view Grouper::WordOf(std::span<const hlo::InstructionId> leaves) {
  if (!common_word_) {
    std::vector<hlo::InstructionId> all;
    for (NodeId leaf : leaves_) all.push_back(tree_[leaf].instruction);
    common_word_ = MostCommonWord(tree_.module(), all, 0.8);
  }
  const std::string_view word = MostCommonWord(tree_.module(), leaves, 0.5);
  return word == *common_word_ ? std::string_view() : word;
}

// What the user calls most of a part with the lines that it is of, else its first and last
// instruction: "attention:54–61", "dot.12 … add.20".
std::string_view Grouper::PartLabel(std::span<const Entity> members) {
  const hlo::Module& module = tree_.module();
  std::vector<hlo::InstructionId> leaves;
  for (const Entity& member : members)
    tree_.ForEachInstruction(member.node, [&](hlo::InstructionId id) { leaves.push_back(id); });
  if (const std::string_view word = WordOf(leaves); !word.empty())
    return tree_.Keep(std::string(word).append(LinesOf(module, leaves, word)));
  // Names of what matters most say more than those of what comes first.
  const auto most = std::ranges::max(
      leaves, {}, [&](hlo::InstructionId id) { return WeightOf(module[id].opcode); });
  std::erase_if(leaves, [&](hlo::InstructionId id) {
    return WeightOf(module[id].opcode) < WeightOf(module[most].opcode);
  });
  const auto [first, last] = std::ranges::minmax(leaves, {}, &hlo::InstructionId::index);
  std::string label(module.name(first));
  if (last != first) label.append(" … ").append(module.name(last));
  return tree_.Keep(std::move(label));
}

}  // namespace hloscope::graph
