// ModuleBuilder: the one way to make a Module. Readers append computation by computation; Build()
// freezes the result.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/hlo/module.h"

namespace hloscope::hlo {

// Usage: for every computation BeginComputation, AddInstruction…, EndComputation (no nesting: a
// reader that meets an inline computation inside another keeps the outer one's instructions aside).
// Attributes are made first, by the Make… functions, and handed to AddInstruction in any order;
// they are kept sorted by key, first one of a key wins in Find.
class ModuleBuilder {
 public:
  ModuleBuilder();
  // Begins with everything of `base` but its computations: texts, shapes and attributes of `base`
  // have the same ids here.
  explicit ModuleBuilder(const Module& base);

  ModuleHeader& header() { return module_->header_; }
  // The module so far, for look-ups while building.
  const Module& module() const { return *module_; }

  StringId Intern(std::string_view text) { return module_->strings_.Intern(text); }
  StringPool& strings() { return module_->strings_; }
  // Equal shapes (layouts included) get equal ids.
  ShapeId InternShape(Shape shape);

  // A computation may be declared (named in an attribute) before it is defined.
  ComputationId DeclareComputation(StringId name);
  void BeginComputation(ComputationId id);
  // Operands must be ids of instructions that were or will be added to this computation (a
  // precondition checked by the readers). The first attribute list is the instruction's whole set.
  InstructionId AddInstruction(StringId name, Opcode opcode, ShapeId shape,
                               std::span<const InstructionId> operands,
                               std::span<const Attribute> attributes, uint32_t source_offset = 0);
  // Gives an instruction that was added before another value of that attribute.
  void SetAttribute(InstructionId id, Attribute attribute);
  // The id the next AddInstruction will give.
  InstructionId NextInstruction() const { return InstructionId(module_->instructions_.size()); }
  void EndComputation(InstructionId root, StringId execution_thread = {});
  void SetEntry(ComputationId id) { module_->entry_ = id; }
  Computation& computation(ComputationId id) { return module_->computations_[id.index]; }
  Instruction& instruction(InstructionId id) { return module_->instructions_[id.index]; }
  std::span<InstructionId> operands(InstructionId id);

  Attribute MakeInt(AttributeKey key, int64_t value);
  Attribute MakeBool(AttributeKey key, bool value) { return {key, false, value}; }
  Attribute MakeEnum(AttributeKey key, int32_t number) {
    return {key, false, static_cast<uint32_t>(number)};
  }
  Attribute MakeFloat(AttributeKey key, float value);
  Attribute MakeString(AttributeKey key, std::string_view text) {
    return {key, false, Intern(text).index};
  }
  Attribute MakeInts(AttributeKey key, std::span<const int64_t> values);
  Attribute MakeIds(AttributeKey key, std::span<const uint32_t> ids);
  Attribute MakeComputation(AttributeKey key, ComputationId id) { return {key, false, id.index}; }
  Attribute MakeShape(AttributeKey key, ShapeId id) { return {key, false, id.index}; }
  template <typename T>
  Attribute Make(AttributeKey key, T value) {
    auto& pool = std::get<std::vector<T>>(module_->pools_);
    pool.push_back(std::move(value));
    return {key, false, static_cast<uint32_t>(pool.size() - 1)};
  }

  void SetProtoId(InstructionId id, int64_t proto_id);
  void SetProtoId(ComputationId id, int64_t proto_id);
  void AddUnknownFields(MessageKind kind, uint32_t index, std::string bytes);

  // Capacity hints, from the size of the source.
  void Reserve(size_t instructions);
  void ReserveTexts(size_t texts) { module_->strings_.Reserve(texts); }
  // Hands over every part of a module but its texts, in one order: for copies of modules as a whole
  // (module_image.h). M is Module or const Module.
  template <typename M, typename Take>
  static void TakeParts(M& m, Take take) {
    take(m.header_, m.entry_, m.computations_, m.instructions_, m.operands_, m.attributes_, m.ints_,
         m.ids_, m.shapes_, m.pools_, m.source_offsets_, m.proto_instruction_ids_,
         m.proto_computation_ids_, m.unknown_fields_);
  }
  Module& parts() { return *module_; }

  // Freezes the module. The entry must have been set; the builder is empty afterwards.
  std::shared_ptr<const Module> Build();

 private:
  std::shared_ptr<Module> module_;
  std::unordered_multimap<uint64_t, uint32_t> shape_ids_;
  ComputationId current_;
};

}  // namespace hloscope::hlo
