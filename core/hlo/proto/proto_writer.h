// The parts of writing a module as HloModuleProto: what the writers share, and the writer of
// instructions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/hlo/module.h"
#include "core/hlo/proto/proto.h"
#include "core/hlo/proto/proto_fields.h"
#include "core/hlo/proto/wire_writer.h"

namespace hloscope::hlo {

// What is shared while one module is written.
class WriteScope {
 public:
  WriteScope(const Module& module, ProtoIds ids);

  const Module& module() const { return module_; }
  int64_t IdOf(ComputationId id) const {
    return computation_ids_.empty() ? id.index : computation_ids_[id.index];
  }
  // The proto's own id where the module was read from one, else the computation above the position
  // in it, as XLA numbers them.
  int64_t IdOf(InstructionId id) const {
    if (in_one_row_) return id.index;
    if (!instruction_ids_.empty()) return instruction_ids_[id.index];
    const Instruction& i = module_[id];
    return IdOf(i.computation) << 32 | (id.index - module_[i.computation].first_instruction);
  }
  // The fields of a ShapeProto; encoded once.
  std::string_view BytesOf(ShapeId id);

 private:
  const Module& module_;
  bool in_one_row_;
  std::span<const int64_t> computation_ids_, instruction_ids_;
  std::vector<std::string> shapes_;  // by id; empty: not encoded yet
};

class InstructionWriter {
 public:
  InstructionWriter(WriteScope& scope, WireWriter& out) : scope_(scope), out_(out) {}
  // Writes the fields of a HloInstructionProto.
  void Write(InstructionId id);

 private:
  void WriteCommon();
  void WriteReferences(InstructionId id);
  void WriteCalled();
  void WriteAttributes();
  // Writes the attributes of `fields` inside the message their path goes through at `depth`.
  void WriteGroup(std::span<const AttributeField> fields, size_t depth);
  void WriteAttribute(const AttributeField& field, uint32_t number);
  void WriteNumber(const AttributeField& field, uint32_t number, const Attribute* attribute);
  void WriteEnum(const AttributeField& field, uint32_t number, const Attribute* attribute);
  void WriteInts(const AttributeField& field, uint32_t number, const Attribute* attribute);
  void WriteStructure(const AttributeField& field, const Attribute* attribute);
  void WriteDomain(const Attribute& attribute);
  void WriteSlices(const Attribute& attribute);
  void WriteShapes(const AttributeField& field, const Attribute* attribute);
  std::string_view ComparisonTypeText(const Attribute* attribute) const;

  const Module& module() const { return scope_.module(); }
  const Attribute* Find(AttributeKey key) const { return module().Find(*instruction_, key); }

  WriteScope& scope_;
  WireWriter& out_;
  const Instruction* instruction_ = nullptr;
};

// Writes the entries of a FrontendAttributes message.
void WriteFrontendAttributes(WireWriter& out, const Module& module,
                             const FrontendAttributes& attributes);

}  // namespace hloscope::hlo
