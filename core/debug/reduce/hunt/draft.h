// Draft: one computation of a random program on its way. Its instructions are kept aside, because
// computations that they call have to be complete before it begins.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/eval/numbers/random_fill.h"
#include "core/hlo/module_builder.h"
#include "core/hlo/shape/shape_inference.h"

namespace hloscope::debug {

using DraftId = uint32_t;  // an instruction of a draft, by order

struct DraftNode {
  hlo::Opcode opcode = hlo::Opcode::kParameter;
  hlo::Shape shape;
  std::vector<DraftId> operands;
  std::vector<hlo::Attribute> attributes;
  // How many roundings lie behind it: two platforms may round each in their own way. Steps (floor,
  // compare, sort, …) are taken of values without any, so that a rounding never becomes more.
  int roundings = 0;
  // Its bits are known: no arithmetic that may give any NaN, or a zero of any sign.
  bool bits = true;
  bool hidden = false;  // for the node alone that it was made for
};

// The most roundings behind a value of that type that are told from a fault by the default bounds.
int MostRoundings(hlo::ElementType type);

class Draft {
 public:
  Draft(hlo::ModuleBuilder& builder, hlo::ProgramShapes& programs, int nesting)
      : builder_(builder), programs_(programs), nesting_(nesting) {}

  // 0 for the entry, one more for each computation that it lies in.
  int nesting() const { return nesting_; }
  size_t size() const { return nodes_.size(); }
  const DraftNode& operator[](DraftId id) const { return nodes_[id]; }
  const hlo::Shape& shape(DraftId id) const { return nodes_[id].shape; }

  DraftId AddParameter(hlo::Shape shape, int roundings = 0);
  size_t parameter_count() const { return parameters_; }
  DraftId AddConstant(hlo::Literal literal);
  // An instruction whose shape is inferred, or the declared one where inference takes part of it
  // from there. nullopt where shape inference refuses it, it is too large, or it would make more of
  // a rounding than a rounding.
  std::optional<DraftId> Add(hlo::Opcode opcode, std::vector<DraftId> operands,
                             std::vector<hlo::Attribute> attributes = {},
                             const hlo::Shape* declared = nullptr);
  // What is known of the value better than from its opcode.
  void SetRoundings(DraftId id, int roundings) { nodes_[id].roundings = roundings; }
  void Hide(DraftId id) { nodes_[id].hidden = true; }
  void SetBits(DraftId id, bool bits) { nodes_[id].bits = bits; }
  // What changes nothing of the value.
  void Annotate(DraftId id, hlo::Attribute attribute) {
    nodes_[id].attributes.push_back(attribute);
  }

  // Writes all of it as the next computation.
  hlo::ComputationId Emit(std::string_view name, DraftId root);

 private:
  std::optional<int> RoundingsOf(hlo::Opcode opcode, std::span<const DraftId> operands,
                                 const hlo::Shape& shape) const;
  bool HasBits(hlo::Opcode opcode, std::span<const DraftId> operands,
               const hlo::Shape& shape) const;

  hlo::ModuleBuilder& builder_;
  hlo::ProgramShapes& programs_;
  std::vector<DraftNode> nodes_;
  size_t parameters_ = 0;
  int nesting_;
};

}  // namespace hloscope::debug
