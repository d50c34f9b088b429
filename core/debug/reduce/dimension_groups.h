// DimensionGroups: which dimensions of a module's arrays can only go together. A dimension of a sum
// is that of both its operands, one of a call that of what it calls; one that a broadcast adds is
// on its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/sets/union_find.h"
#include "core/hlo/module.h"

namespace hloscope::debug {

class DimensionGroups {
 public:
  explicit DimensionGroups(const hlo::Module& module);

  // Groups whose dimensions have one element everywhere and which nothing has to keep, in order of
  // the first dimension of each.
  const std::vector<uint32_t>& droppable() const { return droppable_; }
  // The group of dimension `d` of a leaf of an instruction's value, by number of the leaf.
  uint32_t GroupOf(hlo::InstructionId id, size_t leaf, size_t d) const;

 private:
  void Number();
  // Its number; 0, which stays, where there is none.
  uint32_t Dimension(hlo::InstructionId id, size_t leaf, size_t d) const;
  size_t LeafCount(hlo::InstructionId id) const { return leaves_[id.index].size(); }
  size_t Rank(hlo::InstructionId id, size_t leaf) const { return leaves_[id.index][leaf].rank; }
  void Join(uint32_t a, uint32_t b);
  void Keep(uint32_t dimension) { kept_[sets_.Find(dimension)] = true; }
  void KeepAll(hlo::InstructionId id);
  void KeepTouched(hlo::InstructionId id);
  void JoinLeaves(hlo::InstructionId a, size_t leaf_a, hlo::InstructionId b, size_t leaf_b);
  void JoinValues(hlo::InstructionId a, hlo::InstructionId b);

  void Visit(hlo::InstructionId id);
  void VisitNothing(hlo::InstructionId) {}
  void VisitConstant(hlo::InstructionId id);
  void VisitIota(hlo::InstructionId id);
  void VisitElements(hlo::InstructionId id);
  void VisitCall(hlo::InstructionId id);
  void VisitBody(hlo::ComputationId callee, hlo::InstructionId result,
                 std::span<const hlo::InstructionId> arguments);
  void VisitArrays(hlo::InstructionId id);
  void VisitTuple(hlo::InstructionId id);
  void VisitDot(hlo::InstructionId id);
  void VisitReduce(hlo::InstructionId id);
  void VisitWindow(hlo::InstructionId id);
  void VisitPad(hlo::InstructionId id);

  struct Leaf {
    uint32_t first = 0;  // its first dimension's number
    size_t rank = 0;
  };
  const hlo::Module& module_;
  std::vector<std::vector<Leaf>> leaves_;  // by instruction
  UnionFind sets_;                         // of numbers of dimensions
  std::vector<bool> kept_;                 // by number, of the first of each set
  std::vector<uint32_t> droppable_;
};

}  // namespace hloscope::debug
