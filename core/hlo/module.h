// Module: an HLO module in flat arrays addressed by 32-bit ids. Immutable after
// ModuleBuilder::Build and shared as shared_ptr<const Module>; there are no pointers between
// instructions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/hlo/attribute.h"
#include "core/hlo/literal.h"
#include "core/hlo/opcode.h"
#include "core/hlo/shape.h"
#include "core/hlo/string_pool.h"

namespace hloscope::hlo {

struct Instruction {
  StringId name;  // without `%`
  ShapeId shape;
  uint32_t first_operand = 0;
  uint32_t operand_count = 0;
  uint32_t first_attribute = 0;
  uint16_t attribute_count = 0;
  Opcode opcode = Opcode::kParameter;
  uint8_t reserved = 0;
  ComputationId computation;
};

// The instructions of a computation are one contiguous range, in the order of the file: operands
// before users.
struct Computation {
  StringId name;
  uint32_t first_instruction = 0;
  uint32_t instruction_count = 0;
  InstructionId root = {};
  StringId execution_thread = {};  // invalid: the main thread
};

struct StackFrames {
  struct Location {
    int32_t file_name_id = 0, function_name_id = 0, line = 0, end_line = 0, column = 0,
            end_column = 0;
    bool operator==(const Location&) const = default;
  };
  struct Frame {
    int32_t file_location_id = 0;
    int32_t parent_frame_id = 0;  // as in the proto: 0 is none; the text prints it one higher
    bool operator==(const Frame&) const = default;
  };
  // Ids in metadata and between the tables count from 1.
  std::vector<StringId> file_names, function_names;
  std::vector<Location> locations;
  std::vector<Frame> frames;
  bool empty() const {
    return file_names.empty() && function_names.empty() && locations.empty() && frames.empty();
  }
};

struct InputOutputAlias {
  std::vector<int64_t> output_index;
  int64_t parameter = 0;
  std::vector<int64_t> parameter_index;
  bool must_alias = false;
  bool operator==(const InputOutputAlias&) const = default;
};
struct BufferDonor {
  int64_t parameter = 0;
  std::vector<int64_t> parameter_index;
  bool operator==(const BufferDonor&) const = default;
};
struct EntryLayout {
  std::vector<ShapeId> parameters;
  ShapeId result;
};

// What stands after `HloModule`, and what only protos say about a whole module.
struct ModuleHeader {
  StringId name;
  bool is_scheduled = false;
  bool alias_passthrough_params = false;
  int64_t replica_count = 1;
  int64_t num_partitions = 1;
  std::optional<EntryLayout> entry_layout;  // absent: that of the entry computation
  std::vector<InputOutputAlias> input_output_alias;
  std::vector<BufferDonor> buffer_donors;
  std::vector<bool> allow_spmd_sharding_propagation_to_parameters;
  std::vector<bool> allow_spmd_sharding_propagation_to_output;
  // What partitioning left in a proto: that it was done, and how it cut the result.
  bool is_partitioned = false;
  std::optional<Sharding> spmd_output_sharding;
  FrontendAttributes frontend_attributes;
  StringId origin_recovery_table;  // verbatim between the braces
  StringId debug_attributes;       // verbatim between the braces
  std::vector<RawAttribute> unknown;
  StackFrames stack_frames;
  int64_t proto_id = 0;
};

// A proto message whose unknown fields are kept.
enum class MessageKind : uint8_t { kModule, kComputation, kInstruction };
struct UnknownFields {
  MessageKind kind;
  uint32_t index;     // computation or instruction id
  std::string bytes;  // wire format, as read
};

class Module {
 public:
  const ModuleHeader& header() const { return header_; }
  std::string_view name() const { return strings_[header_.name]; }

  std::span<const Computation> computations() const { return computations_; }
  std::span<const Instruction> instructions() const { return instructions_; }
  const Computation& operator[](ComputationId id) const { return computations_[id.index]; }
  const Instruction& operator[](InstructionId id) const { return instructions_[id.index]; }
  const Shape& operator[](ShapeId id) const { return shapes_[id.index]; }
  std::string_view operator[](StringId id) const { return strings_[id]; }

  ComputationId entry_id() const { return entry_; }
  const Computation& entry() const { return computations_[entry_.index]; }
  // The instructions of a computation; their ids follow on from first_instruction.
  std::span<const Instruction> instructions(const Computation& c) const {
    return std::span(instructions_).subspan(c.first_instruction, c.instruction_count);
  }
  // The parameters of a computation by parameter number; invalid ids where a number is missing.
  std::vector<InstructionId> Parameters(ComputationId id) const;
  size_t shape_count() const { return shapes_.size(); }
  const StringPool& strings() const { return strings_; }

  std::span<const InstructionId> operands(const Instruction& i) const {
    return std::span(operands_).subspan(i.first_operand, i.operand_count);
  }
  std::span<const InstructionId> operands(InstructionId id) const { return operands((*this)[id]); }
  std::span<const Attribute> attributes(const Instruction& i) const {
    return std::span(attributes_).subspan(i.first_attribute, i.attribute_count);
  }
  const Shape& shape(InstructionId id) const { return (*this)[(*this)[id].shape]; }
  std::string_view name(InstructionId id) const { return (*this)[(*this)[id].name]; }

  // The attribute of that key, or null.
  const Attribute* Find(const Instruction& i, AttributeKey key) const;
  const Attribute* Find(InstructionId id, AttributeKey key) const { return Find((*this)[id], key); }

  // Values of an attribute found before; the key's ValueKind must fit.
  int64_t IntOf(const Attribute& a) const {
    return a.wide ? ints_[a.value] : static_cast<int64_t>(a.value);
  }
  double FloatOf(const Attribute& a) const;
  std::span<const int64_t> IntsOf(const Attribute& a) const {
    return std::span(ints_).subspan(a.value + 1, static_cast<size_t>(ints_[a.value]));
  }
  std::span<const uint32_t> IdsOf(const Attribute& a) const {
    return std::span(ids_).subspan(a.value + 1, ids_[a.value]);
  }
  template <typename T>
  const T& Of(const Attribute& a) const {
    return std::get<std::vector<T>>(pools_)[a.value];
  }

  // Values by key, with an answer for "absent".
  int64_t GetInt(const Instruction& i, AttributeKey key, int64_t absent = 0) const {
    const Attribute* a = Find(i, key);
    return a == nullptr ? absent : IntOf(*a);
  }
  bool GetBool(const Instruction& i, AttributeKey key, bool absent = false) const {
    const Attribute* a = Find(i, key);
    return a == nullptr ? absent : a->value != 0;
  }
  std::span<const int64_t> GetInts(const Instruction& i, AttributeKey key) const {
    const Attribute* a = Find(i, key);
    return a == nullptr ? std::span<const int64_t>() : IntsOf(*a);
  }
  std::string_view GetString(const Instruction& i, AttributeKey key) const {
    const Attribute* a = Find(i, key);
    return a == nullptr ? std::string_view() : (*this)[StringId(a->value)];
  }
  ComputationId GetComputation(const Instruction& i, AttributeKey key) const {
    const Attribute* a = Find(i, key);
    return a == nullptr ? ComputationId() : ComputationId(a->value);
  }
  template <typename T>
  const T* Get(const Instruction& i, AttributeKey key) const {
    const Attribute* a = Find(i, key);
    return a == nullptr ? nullptr : &Of<T>(*a);
  }
  // Every computation an instruction calls, in XLA's order (to_apply, calls, body before condition
  // for while, select before scatter, branches in order, called_computations).
  std::vector<ComputationId> CalledComputations(const Instruction& i) const;

  // Where an instruction begins in the text it was read from; 0 if it was not read from text.
  // Offsets from 4 GiB on are all 0xffffffff.
  uint32_t source_offset(InstructionId id) const {
    return id.index < source_offsets_.size() ? source_offsets_[id.index] : 0;
  }
  // 64-bit ids of the proto it was read from; empty if it was not.
  std::span<const int64_t> proto_instruction_ids() const { return proto_instruction_ids_; }
  std::span<const int64_t> proto_computation_ids() const { return proto_computation_ids_; }
  std::span<const UnknownFields> unknown_fields() const { return unknown_fields_; }

  // Bytes held, without the source text.
  size_t MemoryBytes() const;

 private:
  friend class ModuleBuilder;

  ModuleHeader header_;
  ComputationId entry_;
  std::vector<Computation> computations_;
  std::vector<Instruction> instructions_;
  std::vector<InstructionId> operands_;
  std::vector<Attribute> attributes_;
  std::vector<int64_t> ints_;
  std::vector<uint32_t> ids_;
  std::vector<Shape> shapes_;
  StringPool strings_;
  std::tuple<std::vector<Literal>, std::vector<Window>, std::vector<ConvolutionDims>,
             std::vector<DeviceList>, std::vector<Sharding>, std::vector<Domain>,
             std::vector<FrontendAttributes>, std::vector<OutputOperandAliasing>,
             std::vector<Statistics>, std::vector<OriginalValue>, std::vector<ResultAccuracy>,
             std::vector<OpMetadata>, std::vector<BackendConfig>, std::vector<RawAttribute>>
      pools_;
  std::vector<uint32_t> source_offsets_;
  std::vector<int64_t> proto_instruction_ids_, proto_computation_ids_;
  std::vector<UnknownFields> unknown_fields_;
};

// Users of every instruction, computed once where needed.
class UserIndex {
 public:
  explicit UserIndex(const Module& module);
  // Each user once per operand slot, in program order.
  std::span<const InstructionId> users(InstructionId id) const {
    return std::span(users_).subspan(first_[id.index], first_[id.index + 1] - first_[id.index]);
  }

 private:
  std::vector<uint32_t> first_;
  std::vector<InstructionId> users_;
};

}  // namespace hloscope::hlo
