#include "core/hlo/module_builder.h"

#include <bit>
#include <limits>
#include <utility>

#include "core/hlo/kept_analyses.h"

namespace hloscope::hlo {
namespace {

// Insertion: an instruction has few attributes, mostly in order. Stable, and without allocation.
void SortByKey(std::span<Attribute> attributes) {
  for (size_t i = 1; i < attributes.size(); ++i) {
    for (size_t k = i; k > 0 && attributes[k].key < attributes[k - 1].key; --k) {
      std::swap(attributes[k], attributes[k - 1]);
    }
  }
}

// Gives back what growing left over, where it is worth a copy.
template <typename T>
void Shrink(std::vector<T>& v) {
  if (v.capacity() - v.size() > v.size() / 4) v.shrink_to_fit();
}

}  // namespace

ModuleBuilder::ModuleBuilder() : module_(std::make_shared<KeptModule>()) {}

ModuleBuilder::ModuleBuilder(const Module& base) : ModuleBuilder() {
  Module& m = *module_;
  m.header_ = base.header_;
  m.ints_ = base.ints_;
  m.ids_ = base.ids_;
  m.shapes_ = base.shapes_;
  m.pools_ = base.pools_;
  for (size_t id = m.strings_.size(); id < base.strings_.size(); ++id) {
    m.strings_.Intern(base.strings_[StringId(id)]);
  }
  for (uint32_t id = 0; id < m.shapes_.size(); ++id) shape_ids_.emplace(m.shapes_[id].Hash(), id);
}

ShapeId ModuleBuilder::InternShape(Shape shape) {
  uint64_t hash = shape.Hash();
  auto [begin, end] = shape_ids_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (module_->shapes_[it->second] == shape) return ShapeId(it->second);
  }
  ShapeId id(module_->shapes_.size());
  module_->shapes_.push_back(std::move(shape));
  shape_ids_.emplace(hash, id.index);
  return id;
}

ComputationId ModuleBuilder::DeclareComputation(StringId name) {
  ComputationId id(module_->computations_.size());
  module_->computations_.push_back({.name = name});
  return id;
}

void ModuleBuilder::BeginComputation(ComputationId id) {
  current_ = id;
  computation(id).first_instruction = static_cast<uint32_t>(module_->instructions_.size());
}

InstructionId ModuleBuilder::AddInstruction(StringId name, Opcode opcode, ShapeId shape,
                                            std::span<const InstructionId> operands,
                                            std::span<const Attribute> attributes,
                                            uint32_t source_offset) {
  Module& m = *module_;
  InstructionId id = NextInstruction();
  m.instructions_.push_back({.name = name,
                             .shape = shape,
                             .first_operand = static_cast<uint32_t>(m.operands_.size()),
                             .operand_count = static_cast<uint32_t>(operands.size()),
                             .first_attribute = static_cast<uint32_t>(m.attributes_.size()),
                             .attribute_count = static_cast<uint16_t>(attributes.size()),
                             .opcode = opcode,
                             .computation = current_});
  // Most lists are of one or two: a loop is faster than a copy.
  for (InstructionId operand : operands) m.operands_.push_back(operand);
  for (const Attribute& attribute : attributes) m.attributes_.push_back(attribute);
  SortByKey(std::span(m.attributes_).last(attributes.size()));
  m.source_offsets_.push_back(source_offset);
  return id;
}

void ModuleBuilder::SetAttribute(InstructionId id, Attribute attribute) {
  Module& m = *module_;
  Instruction& i = instruction(id);
  std::vector<Attribute> list;
  for (const Attribute& a : m.attributes(i)) {
    if (a.key != attribute.key) list.push_back(a);
  }
  list.push_back(attribute);
  i.first_attribute = static_cast<uint32_t>(m.attributes_.size());
  i.attribute_count = static_cast<uint16_t>(list.size());
  m.attributes_.insert(m.attributes_.end(), list.begin(), list.end());
  SortByKey(std::span(m.attributes_).last(list.size()));
}

void ModuleBuilder::EndComputation(InstructionId root, StringId execution_thread) {
  Computation& c = computation(current_);
  c.instruction_count = static_cast<uint32_t>(module_->instructions_.size()) - c.first_instruction;
  c.root = root;
  c.execution_thread = execution_thread;
}

std::span<InstructionId> ModuleBuilder::operands(InstructionId id) {
  const Instruction& i = instruction(id);
  return std::span(module_->operands_).subspan(i.first_operand, i.operand_count);
}

Attribute ModuleBuilder::MakeInt(AttributeKey key, int64_t value) {
  if (value >= 0 && value <= std::numeric_limits<uint32_t>::max()) {
    return {key, false, static_cast<uint32_t>(value)};
  }
  module_->ints_.push_back(value);
  return {key, true, static_cast<uint32_t>(module_->ints_.size() - 1)};
}

Attribute ModuleBuilder::MakeFloat(AttributeKey key, float value) {
  return {key, false, std::bit_cast<uint32_t>(value)};
}

Attribute ModuleBuilder::MakeInts(AttributeKey key, std::span<const int64_t> values) {
  auto& ints = module_->ints_;
  auto start = static_cast<uint32_t>(ints.size());
  ints.push_back(static_cast<int64_t>(values.size()));
  ints.insert(ints.end(), values.begin(), values.end());
  return {key, false, start};
}

Attribute ModuleBuilder::MakeIds(AttributeKey key, std::span<const uint32_t> ids) {
  auto& pool = module_->ids_;
  auto start = static_cast<uint32_t>(pool.size());
  pool.push_back(static_cast<uint32_t>(ids.size()));
  pool.insert(pool.end(), ids.begin(), ids.end());
  return {key, false, start};
}

void ModuleBuilder::SetProtoId(InstructionId id, int64_t proto_id) {
  auto& ids = module_->proto_instruction_ids_;
  if (ids.size() <= id.index) ids.resize(id.index + 1, 0);
  ids[id.index] = proto_id;
}

void ModuleBuilder::SetProtoId(ComputationId id, int64_t proto_id) {
  auto& ids = module_->proto_computation_ids_;
  if (ids.size() <= id.index) ids.resize(id.index + 1, 0);
  ids[id.index] = proto_id;
}

void ModuleBuilder::AddUnknownFields(MessageKind kind, uint32_t index, std::string bytes) {
  module_->unknown_fields_.push_back({kind, index, std::move(bytes)});
}

void ModuleBuilder::Reserve(size_t instructions) {
  Module& m = *module_;
  m.instructions_.reserve(instructions);
  m.operands_.reserve(instructions * 2);
  m.attributes_.reserve(instructions * 2);
  m.source_offsets_.reserve(instructions);
  m.strings_.Reserve(instructions);
}

std::shared_ptr<const Module> ModuleBuilder::Build() {
  shape_ids_.clear();
  Module& m = *module_;
  Shrink(m.computations_);
  Shrink(m.instructions_);
  Shrink(m.operands_);
  Shrink(m.attributes_);
  Shrink(m.ints_);
  Shrink(m.ids_);
  Shrink(m.shapes_);
  Shrink(m.source_offsets_);
  std::apply([](auto&... pool) { (Shrink(pool), ...); }, m.pools_);
  m.strings_.ShrinkToFit();
  return std::exchange(module_, std::make_shared<KeptModule>());
}

}  // namespace hloscope::hlo
