// Groups by scopes of op_name, and what becomes of groups that are too large: see also repeats.cc.
#include "core/graph/grouper.h"

#include <algorithm>

#include "core/base/quick_hash.h"
#include "core/graph/user_words.h"
#include "core/hlo/analysis/source_line.h"
#include "core/hlo/opcode_traits.h"
#include "core/hlo/string_pool.h"

namespace hloscope::graph {
namespace {

constexpr size_t kDeepestScope = 12;

// The length of the first segment of an op_name: up to a slash outside parentheses.
size_t SegmentLength(std::string_view text) {
  int depth = 0;
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '(' || text[k] == '[') ++depth;
    if (text[k] == ')' || text[k] == ']') --depth;
    if (text[k] == '/' && depth <= 0) return k;
  }
  return text.size();
}

bool LeadsThrough(hlo::Opcode opcode) {
  return opcode == hlo::Opcode::kParameter || opcode == hlo::Opcode::kTuple ||
         opcode == hlo::Opcode::kGetTupleElement;
}

}  // namespace

void Grouper::Run() {
  for (NodeId leaf : leaves_) tree_.nodes_[leaf.index].parent = owner_;
  scopes_.push_back({});
  scopes_[0].key = tree_[owner_].key;
  std::vector<Entity> entities;
  const TreeOptions& options = tree_.options_;
  folds_ = leaves_.size() > options.flat_limit;
  const bool grouped = options.groups && (folds_ || leaves_.size() > options.scope_limit);
  if (grouped && CollectScopes()) {
    InheritScopes();
    DropSmallScopes();
    entities = BuildScopes();
  } else {
    for (uint32_t k = 0; k < leaves_.size(); ++k) entities.push_back({leaves_[k], k, 0});
    if (grouped) entities = Finish(std::move(entities), scopes_[0].key);
  }
  std::vector<NodeId> children;
  for (const Entity& entity : entities) children.push_back(entity.node);
  tree_.SetChildren(owner_, children);
  // Depths from the top: parents were made after their children.
  std::vector<NodeId> open(children);
  while (!open.empty()) {
    NodeId id = open.back();
    open.pop_back();
    Node& node = tree_.nodes_[id.index];
    node.depth = static_cast<uint16_t>(
        std::min<uint32_t>(tree_.nodes_[node.parent.index].depth + 1u, UINT16_MAX));
    for (NodeId child : tree_.children(id)) open.push_back(child);
  }
}

uint32_t Grouper::Inside(uint32_t scope, std::string_view segment) {
  const uint64_t key = MixKeys(scopes_[scope].key, hlo::HashBytes(segment));
  auto [at, added] = inside_.try_emplace(key, static_cast<uint32_t>(scopes_.size()));
  if (added) {
    Scope made;
    made.parent = scope;
    made.segment = segment;
    made.key = key;
    scopes_.push_back(made);
  }
  return at->second;
}

uint32_t Grouper::ScopeOfName(std::string_view op_name) {
  uint32_t scope = 0;
  for (size_t depth = 0; depth < kDeepestScope; ++depth) {
    const size_t length = SegmentLength(op_name);
    if (length == op_name.size()) break;  // the last segment is the operation itself
    const std::string_view segment = op_name.substr(0, length);
    // What all of a small program is in says nothing.
    const bool is_program = !folds_ && depth == 0 && segment.starts_with("jit(");
    if (length > 0 && !is_program) scope = Inside(scope, segment);
    op_name.remove_prefix(length + 1);
  }
  return scope;
}

uint32_t Grouper::ScopeOf(hlo::InstructionId id) {
  const hlo::Module& module = tree_.module();
  const auto* metadata = module.Get<hlo::OpMetadata>(module[id], hlo::AttributeKey::kMetadata);
  if (metadata == nullptr || !metadata->op_name.valid()) return 0;
  auto [at, added] = scope_of_name_.try_emplace(metadata->op_name.index, 0);
  if (!added) return at->second;
  // Of several names what they have in common; one without scopes tells none.
  std::optional<uint32_t> common;
  for (const std::string_view name : hlo::NamesIn(module[metadata->op_name])) {
    if (!name.contains('/')) continue;
    uint32_t scope = ScopeOfName(name);
    // Scopes are made after their parents.
    while (common && scope != *common) {
      uint32_t& inner = scope > *common ? scope : *common;
      inner = scopes_[inner].parent;
    }
    common = scope;
  }
  at->second = common.value_or(0);
  return at->second;
}

// What has no scope goes by the function that wrote it; 0: not known.
uint32_t Grouper::FunctionOf(hlo::InstructionId id) {
  const UserPlace place = UserPlaceOf(tree_.module(), id);
  if (!place.is_function) return 0;
  auto [at, added] = function_scopes_.try_emplace(place.word, 0);
  if (added) at->second = Inside(0, tree_.Keep(std::string(place.word) + "()"));
  return at->second;
}

// False where too few instructions have a scope beyond the one that all are in. Parameters, tuples
// and bitcasts, which have none, are not counted.
bool Grouper::CollectScopes() {
  scope_of_.resize(leaves_.size());
  size_t counted = 0;
  for (uint32_t k = 0; k < leaves_.size(); ++k) {
    const hlo::InstructionId id = tree_[leaves_[k]].instruction;
    // What leads into a small program and out of it is not of one part of it.
    const bool leads = !folds_ && LeadsThrough(tree_.module()[id].opcode);
    scope_of_[k] = leads ? 0 : ScopeOf(id);
    if (!folds_ && !leads && scope_of_[k] == 0) scope_of_[k] = FunctionOf(id);
    if (scope_of_[k] == 0 && hlo::HasTrait(tree_.module()[id].opcode, hlo::kTraitNoCode)) continue;
    ++counted;
    ++scopes_[scope_of_[k]].direct;
  }
  for (Scope& scope : scopes_) scope.total = scope.direct;
  for (size_t s = scopes_.size(); s-- > 1;) scopes_[scopes_[s].parent].total += scopes_[s].total;
  const auto all = static_cast<double>(counted);
  uint32_t useful = 0;
  for (size_t s = 1; s < scopes_.size(); ++s) {
    const uint32_t total = scopes_[s].total;
    // The outermost scopes that divide anything.
    if (total < 0.9 * all && scopes_[scopes_[s].parent].total >= 0.9 * all) useful += total;
  }
  return useful >= tree_.options_.scope_coverage * all;
}

// Copies, bitcasts and tuples that compilers add have no name: they go with their first user, or
// with what they read.
void Grouper::InheritScopes() {
  const hlo::Module& module = tree_.module();
  std::vector<uint32_t> by_instruction(module[computation_].instruction_count, 0);
  const uint32_t first = module[computation_].first_instruction;
  auto scope_at = [&](hlo::InstructionId id) -> uint32_t& {
    return by_instruction[id.index - first];
  };
  for (uint32_t k = 0; k < leaves_.size(); ++k)
    scope_at(tree_[leaves_[k]].instruction) = scope_of_[k];
  auto adopt = [&](uint32_t k, std::span<const hlo::InstructionId> from) {
    if (scope_of_[k] != 0) return;
    const hlo::InstructionId itself = tree_[leaves_[k]].instruction;
    if (!folds_ && (LeadsThrough(module[itself].opcode) || !hlo::OpNameOf(module, itself).empty()))
      return;
    for (hlo::InstructionId id : from) {
      if (scope_at(id) == 0) continue;
      scope_of_[k] = scope_at(id);
      scope_at(tree_[leaves_[k]].instruction) = scope_of_[k];
      return;
    }
  };
  for (uint32_t k = static_cast<uint32_t>(leaves_.size()); k-- > 0;)
    adopt(k, tree_.users().users(tree_[leaves_[k]].instruction));
  for (uint32_t k = 0; k < leaves_.size(); ++k)
    adopt(k, module.operands(tree_[leaves_[k]].instruction));
}

void Grouper::DropSmallScopes() {
  for (Scope& scope : scopes_) scope.direct = scope.total = 0;
  for (uint32_t s : scope_of_) ++scopes_[s].direct;
  for (Scope& scope : scopes_) scope.total = scope.direct;
  for (size_t s = scopes_.size(); s-- > 1;) scopes_[scopes_[s].parent].total += scopes_[s].total;
  const uint32_t least = folds_ ? tree_.options_.least_members : 1;
  const uint32_t all = static_cast<uint32_t>(leaves_.size()) - (folds_ ? 0 : scopes_[0].direct);
  for (size_t s = 1; s < scopes_.size(); ++s)
    scopes_[s].kept = scopes_[s].total >= least && scopes_[s].total < all;
  // Scopes are made after their parents.
  std::vector<uint32_t> up(scopes_.size(), 0);
  for (uint32_t s = 1; s < scopes_.size(); ++s) up[s] = scopes_[s].kept ? s : up[scopes_[s].parent];
  for (uint32_t& s : scope_of_) s = up[s];
  for (uint32_t s = 1; s < scopes_.size(); ++s) scopes_[s].parent = up[scopes_[s].parent];
}

// Scopes with a single child and nothing else take its place: "a/b".
std::vector<Grouper::Entity> Grouper::BuildScopes() {
  std::vector<std::vector<Entity>> inside(scopes_.size());
  for (uint32_t k = 0; k < leaves_.size(); ++k)
    inside[scope_of_[k]].push_back({leaves_[k], k, Signature(leaves_[k])});
  for (size_t s = scopes_.size(); s-- > 1;) {
    if (inside[s].empty()) continue;
    auto& parent = inside[scopes_[s].parent];
    if (inside[s].size() == 1 && tree_[inside[s][0].node].kind == NodeKind::kScope) {
      Node& only = tree_.nodes_[inside[s][0].node.index];
      only.label = tree_.Keep(JoinTitles(ScopeTitle(scopes_[s].segment), only.label));
      parent.push_back(inside[s][0]);
      continue;
    }
    std::vector<Entity> members = Finish(std::move(inside[s]), scopes_[s].key);
    std::string title = ScopeTitle(scopes_[s].segment);
    const std::string_view label =
        title.empty() ? scopes_[s].segment : tree_.Keep(std::move(title));
    NodeId group = MakeGroup(NodeKind::kScope, label, scopes_[s].key, members);
    parent.push_back(EntityOf(group, members));
  }
  return Finish(std::move(inside[0]), scopes_[0].key);
}

NodeId Grouper::MakeGroup(NodeKind kind, std::string_view label, uint64_t key,
                          std::span<const Entity> members) {
  Node group;
  group.kind = kind;
  group.expanded = true;
  group.computation = computation_;
  group.label = label;
  group.key = key;
  group.instructions = 0;
  std::vector<NodeId> children;
  for (const Entity& member : members) {
    children.push_back(member.node);
    group.instructions += tree_[member.node].instructions;
  }
  NodeId id(tree_.nodes_.size());
  tree_.nodes_.push_back(group);
  tree_.SetChildren(id, children);
  tree_.nodes_[id.index].parent = owner_;
  return id;
}

// What a group looks like from outside: the sum of what is in it, so that order does not matter.
Grouper::Entity Grouper::EntityOf(NodeId group, std::span<const Entity> members) const {
  Entity entity{group, UINT32_MAX, 1};
  for (const Entity& member : members) {
    entity.position = std::min(entity.position, member.position);
    entity.signature += MixKeys(member.signature, 7);
  }
  return entity;
}

uint64_t Grouper::Signature(NodeId leaf) const {
  const hlo::Module& module = tree_.module();
  const hlo::Instruction& i = module[tree_[leaf].instruction];
  const hlo::Shape& shape = module[i.shape];
  uint64_t hash =
      MixKeys(static_cast<uint64_t>(i.opcode), static_cast<uint64_t>(shape.element_type()));
  for (int64_t d : shape.dimensions()) hash = MixKeys(hash, static_cast<uint64_t>(d));
  for (hlo::InstructionId operand : module.operands(i))
    hash = MixKeys(hash, static_cast<uint64_t>(module[operand].opcode));
  return hash;
}

// The children of one group in program order, repeats folded, and in parts where they are too many.
std::vector<Grouper::Entity> Grouper::Finish(std::vector<Entity> entities, uint64_t key) {
  std::ranges::stable_sort(entities, {}, &Entity::position);
  if (!folds_) return entities;
  entities = FoldNamedRepeats(entities);
  if (entities.size() > tree_.options_.flat_limit)
    entities = FoldStretches(std::move(entities), key);
  while (entities.size() > tree_.options_.most_children) {
    const size_t before = entities.size();
    entities = Divide(std::move(entities), key);
    if (entities.size() >= before) break;
  }
  return entities;
}

}  // namespace hloscope::graph
