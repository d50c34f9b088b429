// Groups the leaves of one computation; used by Tree alone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/graph/tree.h"

namespace hloscope::graph {

class Grouper {
 public:
  // `leaves` are those to group, in program order; groups are made as nodes of `tree` below
  // `owner`.
  Grouper(Tree& tree, NodeId owner, hlo::ComputationId computation, std::span<const NodeId> leaves)
      : tree_(tree), owner_(owner), computation_(computation), leaves_(leaves) {}
  void Run();

 private:
  // A scope while scopes are collected; 0 is the computation itself.
  struct Scope {
    uint32_t parent = 0;
    std::string_view segment;
    uint32_t direct = 0, total = 0;  // leaves of its own, and with those of scopes inside
    uint64_t key = 0;
    bool kept = true;  // false: too small, its leaves belong to the parent
  };
  // A child of a group to be: a leaf or a finished group, with where it begins in the program.
  struct Entity {
    NodeId node;
    uint32_t position = 0;
    uint64_t signature = 0;
  };

  uint32_t ScopeOf(hlo::InstructionId id);
  uint32_t ScopeOfName(std::string_view op_name);
  uint32_t FunctionOf(hlo::InstructionId id);
  uint32_t Inside(uint32_t scope, std::string_view segment);
  bool CollectScopes();
  void InheritScopes();
  void DropSmallScopes();
  std::vector<Entity> BuildScopes();
  NodeId MakeGroup(NodeKind kind, std::string_view label, uint64_t key,
                   std::span<const Entity> members);
  std::vector<Entity> Finish(std::vector<Entity> entities, uint64_t key);
  std::vector<Entity> FoldNamedRepeats(std::span<const Entity> entities);
  std::vector<Entity> FoldStretches(std::vector<Entity> entities, uint64_t key);
  std::vector<Entity> Divide(std::vector<Entity> entities, uint64_t key);
  std::vector<uint32_t> LiveAfter(std::span<const Entity> entities);
  std::string_view PartLabel(std::span<const Entity> members);
  std::string_view WordOf(std::span<const hlo::InstructionId> leaves);
  Entity EntityOf(NodeId group, std::span<const Entity> members) const;
  uint64_t Signature(NodeId leaf) const;

  Tree& tree_;
  NodeId owner_;
  hlo::ComputationId computation_;
  std::span<const NodeId> leaves_;
  std::vector<uint32_t> scope_of_;  // by position in leaves_
  std::vector<Scope> scopes_;
  std::unordered_map<uint64_t, uint32_t> inside_;                   // parent and segment → scope
  std::unordered_map<std::string_view, uint32_t> function_scopes_;  // of small programs
  std::unordered_map<uint32_t, uint32_t> scope_of_name_;            // op_name's StringId → scope
  bool folds_ = true;                                               // repeats and long stretches
  std::optional<std::string_view> common_word_;  // of nearly all leaves; empty: none
  std::vector<uint32_t> entity_of_;  // by instruction, while LiveAfter works; else UINT32_MAX
};

}  // namespace hloscope::graph
