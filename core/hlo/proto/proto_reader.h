// The parts of reading an HloModuleProto into a module: what is shared while one module is read,
// the reader of instructions, and the reader of the module around them.
#pragma once

#include <array>
#include <bitset>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/limits.h"
#include "core/base/result.h"
#include "core/hlo/module_builder.h"
#include "core/hlo/proto/proto_fields.h"
#include "core/hlo/proto/wire_reader.h"

namespace hloscope::hlo {

// Values already read, found again by the bytes they were read from. The bytes must stay alive.
template <typename T>
class BytesCache {
 public:
  BytesCache() : slots_(256, 0) {}
  // The value of equal bytes, or null.
  const T* Find(std::string_view bytes) const {
    const uint32_t slot = slots_[SlotOf(bytes, HashBytes(bytes))];
    return slot == 0 ? nullptr : &entries_[slot - 1].value;
  }
  const T& Add(std::string_view bytes, T value) {
    if ((entries_.size() + 1) * 2 > slots_.size()) Grow();
    uint64_t hash = HashBytes(bytes);
    entries_.push_back({bytes, hash, std::move(value)});
    slots_[SlotOf(bytes, hash)] = static_cast<uint32_t>(entries_.size());
    return entries_.back().value;
  }

 private:
  struct Entry {
    std::string_view bytes;
    uint64_t hash;
    T value;
  };
  size_t SlotOf(std::string_view bytes, uint64_t hash) const {
    size_t mask = slots_.size() - 1;
    size_t slot = hash & mask;
    while (slots_[slot] != 0) {
      const Entry& e = entries_[slots_[slot] - 1];
      if (e.hash == hash && e.bytes == bytes) break;
      slot = (slot + 1) & mask;
    }
    return slot;
  }
  void Grow() {
    std::vector<uint32_t> larger(slots_.size() * 2, 0);
    slots_.swap(larger);
    size_t mask = slots_.size() - 1;
    for (size_t i = 0; i < entries_.size(); ++i) {
      size_t slot = entries_[i].hash & mask;
      while (slots_[slot] != 0) slot = (slot + 1) & mask;
      slots_[slot] = static_cast<uint32_t>(i + 1);
    }
  }

  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;  // entry index + 1, 0 is empty; size a power of two
};

// What is shared while one module is read.
struct ReadScope {
  const Limits& limits;
  std::shared_ptr<const void> owner;  // of the bytes; may be null
  int64_t depth = 0;                  // modules this one is inside of
  ModuleBuilder builder = {};
  std::vector<std::string_view> payloads = {};
  std::unordered_map<int64_t, ComputationId> computations = {};
  BytesCache<ShapeId> shapes = {};

  // The id of the shape in a ShapeProto.
  Result<ShapeId> ShapeOf(std::string_view bytes);
  // The computation of that 64-bit id; an input error if there is none.
  Result<ComputationId> ComputationOf(int64_t id) const;
};

// An instruction as read, before the ids of its operands are looked up. The lists are ranges of the
// lists of its batch.
struct ReadInstruction {
  struct Range {
    uint32_t first = 0, count = 0;
  };
  int64_t id = 0;
  StringId name;
  ShapeId shape;
  Opcode opcode = Opcode::kParameter;
  Range operands, controls, attributes;
  int32_t unknown = -1;  // index of unknown fields
};

// The instructions of one computation as read.
struct InstructionBatch {
  std::vector<ReadInstruction> instructions;
  std::vector<int64_t> operands, controls;  // 64-bit ids
  std::vector<Attribute> attributes;
  std::vector<std::string> unknown;
  void Clear();
};

// The fields of one message, by number. Earlier occurrences of a field that comes more than once
// are kept aside, in order.
class FieldTable {
 public:
  static constexpr uint32_t kSize = 128;

  // Takes the fields of `bytes`; those that are not known go to `unknown`. False if malformed.
  bool Read(std::string_view bytes, std::string& unknown);
  // Takes the number and length-delimited fields of a message inside an instruction.
  bool ReadInner(std::string_view bytes);

  bool Has(uint32_t number) const { return present_[number]; }
  // Marks the field as understood.
  const WireField* Take(uint32_t number) {
    taken_[number] = true;
    return present_[number] ? &fields_[number] : nullptr;
  }
  std::string_view TakeBytes(uint32_t number) {
    const WireField* field = Take(number);
    return field == nullptr ? std::string_view() : field->bytes;
  }
  // The contents of a message field; occurrences are put together, as protobuf does.
  std::string_view TakeMessage(uint32_t number);
  // Every occurrence of a repeated field, in order.
  template <typename F>
  void ForEach(uint32_t number, F visit) {
    taken_[number] = true;
    if (!present_[number]) return;
    for (const WireField& field : earlier_) {
      if (field.number() == number) visit(field);
    }
    visit(fields_[number]);
  }
  // The values of a repeated integer field; false if malformed.
  bool TakeInts(uint32_t number, std::vector<int64_t>& values);
  // Appends every field nobody took.
  void AppendRest(std::string& unknown) const;

 private:
  void Clear();
  void Keep(const WireField& field) {
    uint32_t number = field.number();
    if (present_[number]) earlier_.push_back(fields_[number]);
    fields_[number] = field;
    present_[number] = true;
  }

  std::array<WireField, kSize> fields_;
  std::bitset<kSize> present_, taken_;
  std::vector<WireField> earlier_;
  std::deque<std::string> merged_;  // kept as long as the table: values are cached by their bytes
};

class InstructionReader {
 public:
  explicit InstructionReader(ReadScope& scope) : scope_(scope) {}
  // Appends the instruction in a HloInstructionProto to `batch`.
  Status Read(std::string_view bytes, InstructionBatch& batch);

 private:
  Status ReadCore(ReadInstruction& instruction);
  Status ReadCommon(const ReadInstruction& instruction);
  Status ReadMetadataField();
  Status ReadFrontendAttributes();
  Status ReadBackendConfig();
  Status ReadControls(InstructionBatch& batch, ReadInstruction& instruction);
  Status ReadCalled(Opcode opcode);
  Status AddCalled(Opcode opcode);  // the computations in ids_
  Status ReadAttribute(Opcode opcode, const AttributeField& field);
  Status ReadNumber(const AttributeField& field, const WireField* value);
  Status ReadEnum(const AttributeField& field, const WireField* value);
  Status ReadList(Opcode opcode, const AttributeField& field);
  Status ReadStructure(Opcode opcode, const AttributeField& field);
  Status ReadDeviceListField();
  Status ReadShapes(const AttributeField& field);
  Status ReadDomain();
  Status ReadAliasing();
  Status ReadSlices();
  Status ReadPairs();
  // The field at the end of a path, or null.
  const WireField* Find(const AttributeField& field);
  void Add(Attribute attribute) { attributes_->push_back(attribute); }

  ReadScope& scope_;
  FieldTable fields_;
  // The inner message that was opened last.
  std::string_view inner_bytes_;
  FieldTable inner_;
  std::vector<Attribute>* attributes_ = nullptr;
  std::vector<int64_t> ints_;
  std::vector<uint32_t> ids_;
  std::string unknown_;
  struct CachedMetadata {
    Attribute attribute;
    bool empty = false;
    std::string unknown;
  };
  BytesCache<CachedMetadata> metadata_;
};

Result<FrontendAttributes> ReadFrontendAttributesProto(std::string_view bytes,
                                                       ModuleBuilder& builder);

// The name XLA makes of `name`; `buffer` holds it where it is another.
std::string_view SanitizedName(std::string_view name, std::string& buffer);

// Reads the module in a HloModuleProto; `depth` counts the modules it is inside of.
Result<std::shared_ptr<const Module>> ReadModuleProto(std::string_view bytes, const Limits& limits,
                                                      std::shared_ptr<const void> owner,
                                                      int64_t depth = 0);

}  // namespace hloscope::hlo
