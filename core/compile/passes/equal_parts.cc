// Comparing attributes by what they hold, and computations by what they do.
#include "core/compile/passes/equal_parts.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "core/base/quick_hash.h"
#include "core/hlo/analysis/call_graph.h"

namespace hloscope::compile {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Module;
using hlo::ValueKind;

namespace {

// Where it came from, and what was measured of it.
bool IsNote(AttributeKey key) {
  return key == AttributeKey::kMetadata || key == AttributeKey::kOrigin ||
         key == AttributeKey::kStatistics;
}

// The next attribute that is no note.
size_t NextOf(std::span<const Attribute> list, size_t k) {
  while (k < list.size() && IsNote(list[k].key)) ++k;
  return k;
}

uint64_t HashLiteral(const hlo::Literal& literal) {
  // Large ones are told apart by their beginning; what is equal is compared as a whole.
  const auto bytes = literal.bytes().first(std::min<size_t>(literal.bytes().size(), 256));
  return hlo::HashBytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

EqualParts::EqualParts(const Module& module)
    : module_(module), classes_(module.computations().size()) {
  for (uint32_t c = 0; c < classes_.size(); ++c) classes_[c] = c;
  // Callees first, so that what a computation calls has its class.
  std::unordered_multimap<uint64_t, ComputationId> known;
  for (const ComputationId c : CallGraphOf(module).callees_first()) {
    const uint64_t hash = HashComputation(c);
    const auto [begin, end] = known.equal_range(hash);
    const auto same = std::find_if(
        begin, end, [&](const auto& other) { return SameComputation(other.second, c); });
    if (same == end) {
      known.emplace(hash, c);
    } else {
      classes_[c.index] = classes_[same->second.index];
    }
  }
}

uint64_t EqualParts::Hash(const Attribute& a) const {
  switch (Info(a.key).kind) {
    case ValueKind::kComputation:
      return classes_[a.value];
    case ValueKind::kInt:
      return static_cast<uint64_t>(module_.IntOf(a));
    case ValueKind::kInts:
    case ValueKind::kBools:
    case ValueKind::kEnums:
    case ValueKind::kPairs:
    case ValueKind::kPadding:
    case ValueKind::kSlices: {
      uint64_t hash = 0;
      for (const int64_t value : module_.IntsOf(a))
        hash = QuickMix(hash, static_cast<uint64_t>(value));
      return hash;
    }
    case ValueKind::kLiteral:
      return HashLiteral(module_.Of<hlo::Literal>(a));
    case ValueKind::kBool:
    case ValueKind::kFloat:
    case ValueKind::kEnum:
    case ValueKind::kString:
    case ValueKind::kShape:
      return a.value;
    default:
      return 0;
  }
}

bool EqualParts::Same(const Attribute& a, const Attribute& b) const {
  if (a.key != b.key) return false;
  switch (Info(a.key).kind) {
    case ValueKind::kComputation:
      return classes_[a.value] == classes_[b.value];
    case ValueKind::kInt:
      return module_.IntOf(a) == module_.IntOf(b);
    case ValueKind::kInts:
    case ValueKind::kBools:
    case ValueKind::kEnums:
    case ValueKind::kPairs:
    case ValueKind::kPadding:
    case ValueKind::kSlices:
      return std::ranges::equal(module_.IntsOf(a), module_.IntsOf(b));
    case ValueKind::kLiteral: {
      const auto &x = module_.Of<hlo::Literal>(a), &y = module_.Of<hlo::Literal>(b);
      return !x.elided() && !y.elided() && x == y;
    }
    case ValueKind::kComputations:
      return std::ranges::equal(
          module_.IdsOf(a), module_.IdsOf(b), {}, [&](uint32_t c) { return classes_[c]; },
          [&](uint32_t c) { return classes_[c]; });
    case ValueKind::kWindow:
      return module_.Of<hlo::Window>(a) == module_.Of<hlo::Window>(b);
    case ValueKind::kDimLabels:
      return module_.Of<hlo::ConvolutionDims>(a) == module_.Of<hlo::ConvolutionDims>(b);
    case ValueKind::kFrontendAttributes:
      return module_.Of<hlo::FrontendAttributes>(a) == module_.Of<hlo::FrontendAttributes>(b);
    case ValueKind::kBackendConfig:
      return module_.Of<hlo::BackendConfig>(a) == module_.Of<hlo::BackendConfig>(b);
    case ValueKind::kResultAccuracy:
      return module_.Of<hlo::ResultAccuracy>(a) == module_.Of<hlo::ResultAccuracy>(b);
    case ValueKind::kSharding:
      return module_.Of<hlo::Sharding>(a) == module_.Of<hlo::Sharding>(b);
    default:  // the value itself, or what is rare: the same place
      return a.value == b.value;
  }
}

bool EqualParts::SameAttributes(InstructionId a, InstructionId b) const {
  const auto x = module_.attributes(module_[a]), y = module_.attributes(module_[b]);
  size_t i = NextOf(x, 0), k = NextOf(y, 0);
  while (i < x.size() && k < y.size()) {
    if (!Same(x[i], y[k])) return false;
    i = NextOf(x, i + 1);
    k = NextOf(y, k + 1);
  }
  return i == x.size() && k == y.size();
}

uint64_t EqualParts::HashAttributes(InstructionId id) const {
  uint64_t hash = 0;
  for (const Attribute& a : module_.attributes(module_[id])) {
    if (IsNote(a.key)) continue;
    hash = QuickMix(QuickMix(hash, static_cast<uint64_t>(a.key)), Hash(a));
  }
  return hash;
}

uint64_t EqualParts::HashComputation(ComputationId c) const {
  const hlo::Computation& computation = module_[c];
  uint64_t hash = QuickMix(computation.instruction_count,
                           computation.root.index - computation.first_instruction);
  for (uint32_t k = 0; k < computation.instruction_count; ++k) {
    const InstructionId id(computation.first_instruction + k);
    hash = QuickMix(hash, static_cast<uint64_t>(module_[id].opcode));
    hash = QuickMix(hash, module_[id].shape.index);
    hash = QuickMix(hash, HashAttributes(id));
    for (const InstructionId operand : module_.operands(id)) {
      hash = QuickMix(hash, operand.index - computation.first_instruction);
    }
  }
  return hash;
}

bool EqualParts::SameComputation(ComputationId a, ComputationId b) const {
  const hlo::Computation &x = module_[a], &y = module_[b];
  if (x.instruction_count != y.instruction_count || x.execution_thread != y.execution_thread ||
      x.root.index - x.first_instruction != y.root.index - y.first_instruction) {
    return false;
  }
  for (uint32_t k = 0; k < x.instruction_count; ++k) {
    const InstructionId i(x.first_instruction + k), j(y.first_instruction + k);
    if (module_[i].opcode != module_[j].opcode || module_[i].shape != module_[j].shape ||
        module_.Find(i, AttributeKey::kControlPredecessors) != nullptr || !SameAttributes(i, j)) {
      return false;
    }
    const bool same_operands = std::ranges::equal(
        module_.operands(i), module_.operands(j), {},
        [&](InstructionId id) { return id.index - x.first_instruction; },
        [&](InstructionId id) { return id.index - y.first_instruction; });
    if (!same_operands) return false;
  }
  return true;
}

}  // namespace hloscope::compile
