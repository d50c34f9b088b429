// Changes to modules, and whether they are sound.
#include "core/debug/reduce/hunt/mutant.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/debug/reduce/literals.h"
#include "core/debug/reduce/resize.h"
#include "core/eval/numbers/random_fill.h"
#include "core/hlo/rewrite/rewriter.h"
#include "core/hlo/shape/shape_inference.h"
#include "core/hlo/verify/verifier.h"

namespace hloscope::debug {
namespace {

using hlo::Attribute;
using hlo::AttributeKey;
using hlo::InstructionId;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

// One mutant on its way.
class Mutation {
 public:
  Mutation(std::shared_ptr<const Module> module, uint64_t seed)
      : module_(std::move(module)), rewriter_(module_), random_(seed) {}

  uint64_t Below(uint64_t end) { return end == 0 ? 0 : random_.Next() % end; }
  const Module& module() const { return *module_; }
  hlo::Rewriter& rewriter() { return rewriter_; }
  eval::RandomBits& random() { return random_; }

  InstructionId Any() {
    return InstructionId(static_cast<uint32_t>(Below(module_->instructions().size())));
  }
  std::vector<Attribute> AttributesOf(InstructionId id) const {
    const auto all = module_->attributes((*module_)[id]);
    return {all.begin(), all.end()};
  }
  // A new instruction in the place of `id`.
  void Replace(InstructionId id, Opcode opcode, std::span<const InstructionId> operands,
               std::span<const Attribute> attributes) {
    const InstructionId added = rewriter_.Add((*module_)[id].computation, FreshName(), opcode,
                                              module_->shape(id), operands, attributes);
    rewriter_.ReplaceAllUses(id, added);
    if (rewriter_.root((*module_)[id].computation) == id) {
      rewriter_.SetRoot((*module_)[id].computation, added);
    }
    rewriter_.Remove(id);
  }
  std::string FreshName() { return fmt::format("mutated.{}", ++names_); }

 private:
  std::shared_ptr<const Module> module_;
  hlo::Rewriter rewriter_;
  eval::RandomBits random_;
  int names_ = 0;
};

bool TakesNothingElse(const hlo::OpcodeInfo& info) {
  return std::ranges::none_of(info.attributes, &hlo::AttributeUse::required);
}

// Another opcode that works element by element and gives the same shape of the same operands.
bool ChangeOpcode(Mutation& m) {
  const InstructionId id = m.Any();
  if (m.rewriter().removed(id)) return false;
  const hlo::OpcodeInfo& info = Info(m.module()[id].opcode);
  const bool is_plain = (info.flags & hlo::kFlagElementwise) != 0 && TakesNothingElse(info);
  if (!is_plain || info.arity < 1) return false;
  const auto opcode = static_cast<Opcode>(m.Below(hlo::kOpcodeCount));
  const hlo::OpcodeInfo& other = Info(opcode);
  if (other.arity != info.arity || (other.flags & hlo::kFlagElementwise) == 0) return false;
  if (!TakesNothingElse(other) || opcode == m.module()[id].opcode) return false;
  const auto operands = m.rewriter().operands(id);
  std::vector<const Shape*> shapes;
  for (const InstructionId operand : operands) {
    if (operand.index >= m.module().instructions().size()) return false;
    shapes.push_back(&m.module().shape(operand));
  }
  const auto shape = hlo::InferShape({.module = m.module(),
                                      .opcode = opcode,
                                      .operands = shapes,
                                      .attributes = {},
                                      .declared = &m.module().shape(id)});
  if (!shape || !hlo::Compatible(*shape, m.module().shape(id))) return false;
  m.Replace(id, opcode, operands, {});
  return true;
}

// An instruction of the same shape that comes before it.
bool ChangeOperand(Mutation& m) {
  const InstructionId id = m.Any();
  if (m.rewriter().removed(id)) return false;
  const auto operands = m.rewriter().operands(id);
  if (operands.empty()) return false;
  const auto slot = static_cast<uint32_t>(m.Below(operands.size()));
  if (operands[slot].index >= m.module().instructions().size()) return false;
  const Shape& shape = m.module().shape(operands[slot]);
  const uint32_t first = m.module()[m.module()[id].computation].first_instruction;
  std::vector<InstructionId> fitting;
  for (uint32_t i = first; i < id.index; ++i) {
    const InstructionId other(i);
    if (!m.rewriter().removed(other) && other != operands[slot] &&
        hlo::Compatible(m.module().shape(other), shape)) {
      fitting.push_back(other);
    }
  }
  if (fitting.empty()) return false;
  m.rewriter().SetOperand(id, slot, fitting[m.Below(fitting.size())]);
  return true;
}

// Other elements: zeros, ones, simpler ones, or any.
bool ChangeConstant(Mutation& m) {
  const InstructionId id = m.Any();
  if (m.rewriter().removed(id) || m.module()[id].opcode != Opcode::kConstant) return false;
  const auto* literal = m.module().Get<hlo::Literal>(m.module()[id], AttributeKey::kConstantValue);
  if (literal == nullptr || literal->elided() || !literal->shape().IsArray()) return false;
  const hlo::ElementType type = literal->shape().element_type();
  std::optional<hlo::Literal> changed;
  constexpr int kWays = 6;
  if (const auto how = m.Below(kWays + 2); how < kWays) {
    changed = Simplified(*literal, static_cast<Simpler>(how));
  } else {
    std::vector<std::byte> bytes(literal->bytes().size());
    const auto width = static_cast<size_t>(hlo::StorageBytes(type));
    eval::FillRandom(type, m.random().Next(), bytes.data(),
                     static_cast<int64_t>(bytes.size() / width));
    changed = hlo::Literal::Dense(literal->shape(), std::move(bytes));
  }
  if (!changed) return false;
  const Attribute value[] = {
      m.rewriter().builder().Make(AttributeKey::kConstantValue, *std::move(changed))};
  m.Replace(id, Opcode::kConstant, {}, value);
  return true;
}

// A number or a flag of an attribute; the verifier says whether the shape still fits.
bool ChangeNumbers(Mutation& m) {
  const InstructionId id = m.Any();
  if (m.rewriter().removed(id)) return false;
  const Opcode opcode = m.module()[id].opcode;
  if (opcode == Opcode::kParameter || opcode == Opcode::kConstant) return false;
  std::vector<Attribute> attributes = m.AttributesOf(id);
  std::erase_if(attributes, [](const Attribute& a) { return hlo::IsCommon(a.key); });
  if (attributes.empty()) return false;
  Attribute& attribute = attributes[m.Below(attributes.size())];
  hlo::ModuleBuilder& builder = m.rewriter().builder();
  switch (Info(attribute.key).kind) {
    case hlo::ValueKind::kBool:
      attribute = builder.MakeBool(attribute.key, attribute.value == 0);
      break;
    case hlo::ValueKind::kEnum: {
      const auto values = hlo::EnumTable(attribute.key);
      attribute = builder.MakeEnum(attribute.key, values[m.Below(values.size())].number);
      break;
    }
    case hlo::ValueKind::kInts:
    case hlo::ValueKind::kPadding:
    case hlo::ValueKind::kSlices: {
      const auto old = m.module().IntsOf(attribute);
      std::vector<int64_t> numbers(old.begin(), old.end());
      if (numbers.empty()) return false;
      const size_t at = m.Below(numbers.size());
      if (m.Below(2) == 0) {
        std::swap(numbers[at], numbers[m.Below(numbers.size())]);
      } else {
        numbers[at] += m.Below(2) == 0 ? 1 : -1;
      }
      attribute = builder.MakeInts(attribute.key, numbers);
      break;
    }
    default:
      return false;
  }
  const auto operands = m.rewriter().operands(id);
  m.Replace(id, opcode, operands, attributes);
  return true;
}

// Behind an array, something that gives the same shape.
bool InsertUnary(Mutation& m) {
  constexpr Opcode kUnary[] = {Opcode::kNegate,
                               Opcode::kAbs,
                               Opcode::kNot,
                               Opcode::kSign,
                               Opcode::kCopy,
                               Opcode::kReverse,
                               Opcode::kOptimizationBarrier};
  const InstructionId id = m.Any();
  if (m.rewriter().removed(id) || !m.module().shape(id).IsArray()) return false;
  const Opcode opcode = kUnary[m.Below(std::size(kUnary))];
  std::vector<Attribute> attributes;
  if (opcode == Opcode::kReverse) {
    if (m.module().shape(id).rank() == 0) return false;
    attributes.push_back(m.rewriter().builder().MakeInts(
        AttributeKey::kDimensions,
        std::vector{static_cast<int64_t>(m.Below(m.module().shape(id).rank()))}));
  }
  const InstructionId operand[] = {id};
  const InstructionId added = m.rewriter().Add(m.module()[id].computation, m.FreshName(), opcode,
                                               m.module().shape(id), operand, attributes);
  m.rewriter().ReplaceAllUses(id, added);
  return true;
}

// Behind an array, a conversion to another type and back.
bool InsertRoundTrip(Mutation& m) {
  using enum hlo::ElementType;
  constexpr hlo::ElementType kTypes[] = {kF32, kF64, kF16, kBF16, kS32, kS8, kU8, kS64, kU64};
  const InstructionId id = m.Any();
  if (m.rewriter().removed(id) || !m.module().shape(id).IsArray()) return false;
  Shape other = m.module().shape(id);
  other.set_element_type(kTypes[m.Below(std::size(kTypes))]);
  const hlo::ComputationId where = m.module()[id].computation;
  const InstructionId operand[] = {id};
  const InstructionId there =
      m.rewriter().Add(where, m.FreshName(), Opcode::kConvert, other, operand);
  const InstructionId middle[] = {there};
  const InstructionId back =
      m.rewriter().Add(where, m.FreshName(), Opcode::kConvert, m.module().shape(id), middle);
  for (const InstructionId user : m.rewriter().users(id)) {
    const auto operands = m.rewriter().operands(user);
    for (uint32_t slot = 0; slot < operands.size() && user != there; ++slot) {
      if (operands[slot] == id) m.rewriter().SetOperand(user, slot, back);
    }
  }
  if (m.rewriter().root(where) == id) m.rewriter().SetRoot(where, back);
  return true;
}

struct MutationRow {
  bool (*change)(Mutation&);
  uint64_t weight;  // how often against the others
};
constexpr MutationRow kMutations[] = {
    {ChangeOpcode, 6},  {ChangeOperand, 5}, {ChangeConstant, 4},
    {ChangeNumbers, 4}, {InsertUnary, 3},   {InsertRoundTrip, 2},
};

bool ChangeOnce(Mutation& m) {
  uint64_t total = 0;
  for (const MutationRow& row : kMutations) total += row.weight;
  uint64_t draw = m.Below(total);
  for (const MutationRow& row : kMutations) {
    if (draw < row.weight) return row.change(m);
    draw -= row.weight;
  }
  return false;
}

// A type or a size that stands in the module.
template <typename T, typename Of>
std::optional<T> AnyOfLeaves(const Module& module, uint64_t draw, const Of& of) {
  std::set<T> all;
  for (const hlo::Instruction& i : module.instructions()) {
    for (const hlo::Shape* leaf : module[i.shape].LeafShapes()) of(*leaf, all);
  }
  if (all.empty()) return std::nullopt;
  return *std::next(all.begin(), static_cast<std::ptrdiff_t>(draw % all.size()));
}

// In a third of the mutants: another element type, or another size, wherever one stands. Null: not
// in this one.
std::shared_ptr<const Module> ChangeAll(const std::shared_ptr<const Module>& module,
                                        uint64_t seed) {
  using enum hlo::ElementType;
  constexpr hlo::ElementType kTypes[] = {kF32, kF64, kF16, kBF16, kS32, kS8, kU8, kS64, kU32};
  constexpr int64_t kSizes[] = {0, 1, 2, 3, 5, 17};
  constexpr int64_t kMaxBytes = int64_t{1} << 28;
  eval::RandomBits random(seed ^ 0x5851f42d4c957f2du);
  const uint64_t draw = random.Next() >> 8;
  if (draw % 3 != 0) return nullptr;
  const Candidate whole{module, {}};
  std::optional<Candidate> changed;
  if (draw / 3 % 2 == 0) {
    const auto from = AnyOfLeaves<hlo::ElementType>(
        *module, random.Next() >> 8, [&](const Shape& leaf, auto& all) {
          if (std::ranges::count(kTypes, leaf.element_type()) > 0) all.insert(leaf.element_type());
        });
    const hlo::ElementType to = kTypes[(random.Next() >> 8) % std::size(kTypes)];
    if (from && *from != to) changed = Retyped(whole, *from, to);
  } else {
    const auto from =
        AnyOfLeaves<int64_t>(*module, random.Next() >> 8, [&](const Shape& leaf, auto& all) {
          all.insert(leaf.dimensions().begin(), leaf.dimensions().end());
        });
    const int64_t to = kSizes[(random.Next() >> 8) % std::size(kSizes)];
    if (from && *from != to) changed = Resized(whole, {{*from, to}});
  }
  if (!changed || SizeOf(*changed).bytes > kMaxBytes) return nullptr;
  const auto found = hlo::Verify(*changed->module, {});
  const bool is_sound = std::ranges::none_of(found, [](const hlo::Diagnostic& diagnostic) {
    return diagnostic.severity == hlo::Severity::kError;
  });
  // What is only doubtful, the module itself may be.
  const bool is_as_before = found.empty() || found.size() <= hlo::Verify(*whole.module, {}).size();
  return is_sound && is_as_before ? changed->module : nullptr;
}

// Errors of strict verification by their rule: types that only some backends take are among them.
std::map<std::string, size_t> StrictErrors(const Module& module, const Limits& limits) {
  std::map<std::string, size_t> out;
  for (const hlo::Diagnostic& diagnostic : hlo::Verify(module, {true, limits})) {
    if (diagnostic.severity == hlo::Severity::kError) ++out[diagnostic.rule];
  }
  return out;
}

}  // namespace

Result<std::shared_ptr<const Module>> MutantOf(const std::shared_ptr<const Module>& module,
                                               uint64_t seed, const Limits& limits) {
  constexpr int kMaxTries = 400;
  const std::shared_ptr<const Module> other = ChangeAll(module, seed);
  Mutation mutation(other == nullptr ? module : other, seed);
  const uint64_t wanted = 1 + mutation.Below(3);
  uint64_t made = other == nullptr ? 0 : 1;
  for (int i = 0; i < kMaxTries && made < wanted; ++i) made += ChangeOnce(mutation) ? 1 : 0;
  if (made == 0) return InputError("nothing of the module could be changed");
  HLOSCOPE_ASSIGN_OR_RETURN(hlo::RewriteResult result, mutation.rewriter().Finish());
  for (const hlo::Diagnostic& diagnostic : hlo::Verify(*result.module, {false, limits})) {
    if (diagnostic.severity == hlo::Severity::kError) return InputError(diagnostic.message);
  }
  // What a platform may refuse of a mutant, it refuses of the module itself.
  std::map<std::string, size_t> of_module = StrictErrors(*module, limits);
  for (const auto& [rule, count] : StrictErrors(*result.module, limits)) {
    if (count > of_module[rule]) return InputError("strict verification refuses it: " + rule);
  }
  return result.module;
}

}  // namespace hloscope::debug
