// Hashing instructions by meaning, computations callees first.
#include "core/analysis/align/fingerprint.h"

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
  explicit Hasher(const Module& module)
      : module_(module), unused_(UnusedElements(module)), shapes_(module.shape_count(), 0) {
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

  uint64_t Own(const Instruction& i) {
    uint64_t h = MixKeys(static_cast<uint64_t>(i.opcode), ShapeOf(i.shape));
    for (const Attribute& a : module_.attributes(i)) {
      std::string text = AttributeKeyText(module_, i, a);
      if (!text.empty()) {
        h = MixKeys(MixKeys(h, static_cast<uint64_t>(a.key)), hlo::HashBytes(text));
      }
    }
    return h;
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
      prints_.own[id] = Own(i);
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
  std::vector<bool> unused_;
  std::vector<uint64_t> shapes_;
  Fingerprints prints_;
};

}  // namespace

namespace {

// A second get-tuple-element of the same element, for `t#1` names one however often it is written.
void MarkRepeated(const Module& module, std::vector<bool>& left_out) {
  std::unordered_set<uint64_t> seen;
  for (uint32_t k = 0; k < module.instructions().size(); ++k) {
    const Instruction& i = module.instructions()[k];
    if (i.opcode != hlo::Opcode::kGetTupleElement || i.operand_count == 0) continue;
    uint64_t index = static_cast<uint32_t>(module.GetInt(i, AttributeKey::kIndex));
    bool added = seen.insert(uint64_t{module.operands(i)[0].index} << 32 | index).second;
    bool is_root = module[i.computation].root.index == k;
    if (!added && !is_root) left_out[k] = true;
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

Fingerprints Fingerprint(const Module& module) { return Hasher(module).Run(); }

}  // namespace hloscope::analysis
