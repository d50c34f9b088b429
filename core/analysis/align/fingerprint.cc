// Hashing instructions by meaning, computations callees first.
#include "core/analysis/align/fingerprint.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "core/base/quick_hash.h"
#include "core/hlo/analysis/call_graph.h"
#include "core/hlo/string_pool.h"

namespace hloscope::analysis {
namespace {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::Instruction;
using hlo::Module;

class Hasher {
 public:
  Hasher(const Module& module, const FingerprintOptions& options)
      : module_(module),
        options_(options),
        unused_(UnusedElements(module)),
        shapes_(module.shape_count(), 0) {
    prints_.own.resize(module.instructions().size());
    prints_.local.resize(module.instructions().size());
    prints_.full.resize(module.instructions().size());
    prints_.computations.resize(module.computations().size());
  }

  Fingerprints Run() {
    for (hlo::ComputationId c : hlo::CallGraphOf(module_).callees_first()) HashComputation(c.index);
    return std::move(prints_);
  }

 private:
  uint64_t ShapeOf(hlo::ShapeId id) {
    if (shapes_[id.index] == 0) shapes_[id.index] = module_[id].WithDefaultLayouts().Hash() | 1;
    return shapes_[id.index];
  }

  uint64_t Own(hlo::InstructionId id) {
    const Instruction& i = module_[id];
    uint64_t h = MixKeys(static_cast<uint64_t>(i.opcode), ShapeOf(i.shape));
    for (const Attribute& a : module_.attributes(i)) {
      if (IsLeftOut(module_, id, a, options_)) continue;
      if (const std::optional<uint64_t> value = ValueHash(i, a))
        h = MixKeys(MixKeys(h, static_cast<uint64_t>(a.key)), *value);
    }
    return h;
  }

  // Nullopt where the value is what an absent attribute means.
  std::optional<uint64_t> ValueHash(const Instruction& i, const Attribute& a) {
    const hlo::ValueKind kind = hlo::Info(a.key).kind;
    if (kind == hlo::ValueKind::kLiteral && options_.constants == ConstantValues::kAll)
      return LiteralHash(module_.Of<hlo::Literal>(a));
    if (kind != hlo::ValueKind::kBackendConfig) return TextHash(i, a);
    // Many instructions have one configuration, whose JSON is read once.
    const uint32_t text = module_.Of<hlo::BackendConfig>(a).text.index;
    const auto [known, is_new] = configurations_.try_emplace(text);
    if (is_new) known->second = TextHash(i, a);
    return known->second;
  }

  std::optional<uint64_t> TextHash(const Instruction& i, const Attribute& a) const {
    const std::string text = AttributeKeyText(module_, i, a);
    return text.empty() ? std::nullopt : std::optional(hlo::HashBytes(text));
  }

  uint64_t Local(const Instruction& i, uint64_t own) const {
    uint64_t h = own;
    if (i.attribute_count == 0) return h;
    for (hlo::ComputationId called : module_.CalledComputations(i))
      h = MixKeys(h, prints_.computations[called.index]);
    return h;
  }

  void HashComputation(uint32_t c) {
    const hlo::Computation& computation = module_.computations()[c];
    uint64_t sum = 0;
    for (uint32_t k = 0; k < computation.instruction_count; ++k) {
      uint32_t id = computation.first_instruction + k;
      const Instruction& i = module_.instructions()[id];
      prints_.own[id] = Own(hlo::InstructionId(id));
      uint64_t h = prints_.local[id] = Local(i, prints_.own[id]);
      for (hlo::InstructionId operand : module_.operands(i))
        h = MixKeys(h, prints_.full[operand.index]);
      if (const Attribute* control = module_.Find(i, AttributeKey::kControlPredecessors)) {
        uint64_t before = 0;  // a set
        for (uint32_t p : module_.IdsOf(*control)) before += prints_.full[p];
        h = MixKeys(h, before);
      }
      prints_.full[id] = h;
      if (!unused_[id]) sum += MixKeys(h, 7);  // order does not matter
    }
    // Its execution thread is that of the asynchronous instruction that starts it.
    prints_.computations[c] = MixKeys(sum, prints_.full[computation.root.index]);
  }

  const Module& module_;
  FingerprintOptions options_;
  std::vector<bool> unused_;
  std::vector<uint64_t> shapes_;
  std::unordered_map<uint32_t, std::optional<uint64_t>> configurations_;  // by StringId
  Fingerprints prints_;
};

}  // namespace

namespace {

// A second get-tuple-element of the same element, for `t#1` names one however often it is written.
// Roots and those that are left out already do not count: texts and protos have another order.
void MarkRepeated(const Module& module, std::vector<bool>& left_out) {
  std::unordered_set<uint64_t> seen;
  for (uint32_t k = 0; k < module.instructions().size(); ++k) {
    const Instruction& i = module.instructions()[k];
    if (i.opcode != hlo::Opcode::kGetTupleElement || i.operand_count == 0) continue;
    if (left_out[k] || module[i.computation].root.index == k) continue;
    const uint64_t index = static_cast<uint32_t>(module.GetInt(i, AttributeKey::kIndex));
    if (!seen.insert(uint64_t{module.operands(i)[0].index} << 32 | index).second)
      left_out[k] = true;
  }
}

}  // namespace

std::vector<bool> UnusedElements(const Module& module) {
  std::vector<bool> unused(module.instructions().size());
  for (size_t i = 0; i < unused.size(); ++i) {
    unused[i] = module.instructions()[i].opcode == hlo::Opcode::kGetTupleElement;
  }
  for (const Instruction& i : module.instructions()) {
    for (hlo::InstructionId operand : module.operands(i)) unused[operand.index] = false;
    const Attribute* control = module.Find(i, AttributeKey::kControlPredecessors);
    if (control == nullptr) continue;
    for (uint32_t before : module.IdsOf(*control)) unused[before] = false;
  }
  for (const hlo::Computation& c : module.computations()) unused[c.root.index] = false;
  MarkRepeated(module, unused);
  return unused;
}

bool HasCompactOperands(const Module& module) {
  if (!module.proto_instruction_ids().empty()) return false;
  for (uint32_t k = 0; k < module.instructions().size(); ++k) {
    const Instruction& i = module.instructions()[k];
    if (i.opcode != hlo::Opcode::kGetTupleElement || i.operand_count == 0) continue;
    if (i.attribute_count > 1) continue;
    const std::string_view name = module.name(hlo::InstructionId(k)),
                           tuple = module.name(module.operands(i)[0]);
    const std::string index = std::to_string(module.GetInt(i, AttributeKey::kIndex));
    if (name.size() == tuple.size() + 1 + index.size() && name.starts_with(tuple) &&
        name.ends_with(index) && name[tuple.size()] == '_')
      return true;
  }
  return false;
}

bool IsLeftOut(const Module& module, hlo::InstructionId instruction, const Attribute& attribute,
               const FingerprintOptions& options) {
  const Instruction& i = module[instruction];
  return !options.element_attributes && i.opcode == hlo::Opcode::kGetTupleElement &&
         attribute.key != AttributeKey::kIndex && module[i.computation].root != instruction;
}

Fingerprints Fingerprint(const Module& module, const FingerprintOptions& options) {
  return Hasher(module, options).Run();
}

}  // namespace hloscope::analysis
