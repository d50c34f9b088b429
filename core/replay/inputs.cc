// GenerateInputs: constraints are followed from each parameter leaf forwards to its uses.
#include "core/replay/inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/eval/random_fill.h"
#include "core/eval/wide.h"

namespace hloscope::replay {

using hlo::AttributeKey;
using hlo::ComputationId;
using hlo::InstructionId;
using hlo::Literal;
using hlo::Module;
using hlo::Opcode;
using hlo::Shape;

namespace {

// What the uses of a value ask of its elements.
struct Constraint {
  std::optional<int64_t> highest_index;  // elements in [0, highest_index]
  std::optional<int64_t> constant;       // all elements are this
  bool sorted = false;

  void BoundIndex(int64_t high) {
    high = std::max<int64_t>(high, 0);
    highest_index = highest_index ? std::min(*highest_index, high) : high;
  }
};

// Follows one leaf through instructions that keep its elements.
class Flow {
 public:
  Flow(const Module& module, const hlo::UserIndex& users) : module_(module), users_(users) {}

  // From a value: an instruction and, if it is a tuple, the element of it that is followed.
  Constraint Follow(InstructionId start, std::span<const int64_t> index) {
    Push(start, {index.begin(), index.end()});
    while (!pending_.empty()) {
      auto [id, path] = std::move(pending_.back());
      pending_.pop_back();
      for (InstructionId user : users_.users(id)) Use(id, path, user);
    }
    return constraint_;
  }

 private:
  using Path = std::vector<int64_t>;

  void Push(InstructionId id, Path path) {
    if (!id.valid() || !seen_.emplace(id.index, path).second) return;
    pending_.emplace_back(id, std::move(path));
  }

  void Use(InstructionId id, const Path& path, InstructionId user) {
    const auto operands = module_.operands(user);
    for (size_t slot = 0; slot < operands.size(); ++slot) {
      if (operands[slot] == id) UseAt(user, slot, path);
    }
  }

  void UseAt(InstructionId user, size_t slot, const Path& path) {
    const hlo::Instruction& instruction = module_[user];
    switch (instruction.opcode) {
      case Opcode::kReshape:
      case Opcode::kTranspose:
      case Opcode::kCopy:
      case Opcode::kSlice:
      case Opcode::kConvert:
      case Opcode::kBitcast:
      case Opcode::kReducePrecision:
      case Opcode::kBroadcast:
      case Opcode::kConcatenate:
        return Push(user, path);
      case Opcode::kGetTupleElement:
        if (!path.empty() && path[0] == module_.GetInt(instruction, AttributeKey::kIndex)) {
          Push(user, {path.begin() + 1, path.end()});
        }
        return;
      case Opcode::kCall:
        return Enter(module_.GetComputation(instruction, AttributeKey::kToApply), slot, path);
      case Opcode::kFusion:
        return Enter(module_.GetComputation(instruction, AttributeKey::kCalls), slot, path);
      case Opcode::kDynamicSlice:
        if (slot >= 1) IndexInto(user, 0, module_.shape(user), slot - 1);
        return;
      case Opcode::kDynamicUpdateSlice:
        if (slot >= 2) IndexInto(user, 0, OperandShape(user, 1), slot - 2);
        return;
      case Opcode::kGather:
        if (slot == 1) GatherIndices(instruction, user, AttributeKey::kStartIndexMap);
        return;
      case Opcode::kScatter:
        if (slot == operands(user) / 2) {
          GatherIndices(instruction, user, AttributeKey::kScatterDimsToOperandDims);
        }
        return;
      case Opcode::kReduce:
      case Opcode::kReduceWindow:
        if (slot >= operands(user) / 2) Initial(instruction, AttributeKey::kToApply);
        return;
      case Opcode::kSelectAndScatter:
        if (slot == 2) Initial(instruction, AttributeKey::kScatterComputation);
        return;
      default:
        return;
    }
  }

  size_t operands(InstructionId id) const { return module_[id].operand_count; }
  const Shape& OperandShape(InstructionId id, size_t slot) const {
    return module_.shape(module_.operands(id)[slot]);
  }

  void Enter(ComputationId callee, size_t slot, const Path& path) {
    const auto parameters = module_.Parameters(callee);
    if (slot < parameters.size()) Push(parameters[slot], path);
  }

  // Index number `d` (of all, for one vector of indices) of a block of `block`'s sizes.
  void IndexInto(InstructionId user, size_t array, const Shape& block, size_t d) {
    const Shape& shape = OperandShape(user, array);
    const bool is_vector = OperandShape(user, module_[user].operand_count - 1).rank() == 1;
    for (size_t i = 0; i < shape.rank(); ++i) {
      if (is_vector || i == d) constraint_.BoundIndex(shape.dimension(i) - block.dimension(i));
    }
  }

  void GatherIndices(const hlo::Instruction& instruction, InstructionId user, AttributeKey map) {
    for (int64_t d : module_.GetInts(instruction, map)) {
      constraint_.BoundIndex(OperandShape(user, 0).dimension(static_cast<size_t>(d)) - 1);
    }
    constraint_.sorted |= module_.GetBool(instruction, AttributeKey::kIndicesAreSorted);
  }

  // A neutral initial value, where the reducer is one operation of its two parameters.
  void Initial(const hlo::Instruction& instruction, AttributeKey key) {
    const ComputationId reducer = module_.GetComputation(instruction, key);
    const hlo::Instruction& root = module_[module_[reducer].root];
    if (root.opcode == Opcode::kAdd) constraint_.constant = 0;
    if (root.opcode == Opcode::kMultiply) constraint_.constant = 1;
  }

  const Module& module_;
  const hlo::UserIndex& users_;
  Constraint constraint_;
  std::vector<std::pair<InstructionId, Path>> pending_;
  std::set<std::pair<uint32_t, Path>> seen_;
};

Literal MakeLeaf(const Shape& shape, const Constraint& constraint, uint64_t seed) {
  const hlo::ElementType type = shape.element_type();
  const int64_t count = shape.ElementCount().value_or(0);
  std::vector<std::byte> bytes(static_cast<size_t>(shape.ByteSize().value_or(0)));
  if (constraint.constant || (constraint.highest_index && hlo::IsInteger(type))) {
    eval::RandomBits random(seed);
    std::vector<int64_t> values(static_cast<size_t>(count));
    for (int64_t& v : values) {
      v = constraint.constant ? *constraint.constant
                              : random.NextBetween(0, *constraint.highest_index);
    }
    if (constraint.sorted) std::ranges::sort(values);
    eval::StoreFrom<int64_t>(type, values.data(), bytes.data(), count);
  } else {
    eval::FillRandom(type, seed, bytes.data(), count);
  }
  return Literal::Dense(shape, std::move(bytes));
}

class Generator {
 public:
  Generator(const Module& module, uint64_t seed, const Limits& limits)
      : module_(module), users_(module), seed_(seed), limits_(limits) {}

  // Parameter `id`, or the element of it at `path`. Shapes nest no deeper than the reader's limit.
  Result<Literal> Make(InstructionId id, const Shape& shape, std::vector<int64_t>& path) {
    if (shape.IsToken()) return Literal::Token();
    if (shape.IsTuple()) {
      std::vector<Literal> elements;
      for (size_t i = 0; i < shape.elements().size(); ++i) {
        path.push_back(static_cast<int64_t>(i));
        HLOSCOPE_ASSIGN_OR_RETURN(Literal element, Make(id, shape.elements()[i], path));
        path.pop_back();
        elements.push_back(std::move(element));
      }
      return Literal::Tuple(std::move(elements));
    }
    const auto bytes = shape.ByteSize();
    if (!shape.IsArray() || !bytes) {
      return UnsupportedError(fmt::format("{}: no value can be made up for {}", module_.name(id),
                                          hlo::ToString(shape, false)));
    }
    if ((total_ += *bytes) > limits_.archive_bytes || *bytes > limits_.tensor_bytes) {
      return EnvironmentError(
          fmt::format("the inputs need more than {} bytes", limits_.archive_bytes),
          "give smaller inputs, or raise the limit archive");
    }
    eval::RandomBits mix(seed_ * 0x100000001b3u + leaf_++);
    return MakeLeaf(shape, Flow(module_, users_).Follow(id, path), mix.Next());
  }

 private:
  const Module& module_;
  const hlo::UserIndex users_;
  uint64_t seed_;
  const Limits& limits_;
  uint64_t leaf_ = 0;
  int64_t total_ = 0;
};

}  // namespace

Result<std::vector<Literal>> GenerateInputs(const Module& module, uint64_t seed,
                                            const Limits& limits) {
  Generator generator(module, seed, limits);
  std::vector<Literal> inputs;
  for (InstructionId parameter : module.Parameters(module.entry_id())) {
    if (!parameter.valid()) return InputError("a parameter number is missing");
    std::vector<int64_t> path;
    HLOSCOPE_ASSIGN_OR_RETURN(Literal literal,
                              generator.Make(parameter, module.shape(parameter), path));
    inputs.push_back(std::move(literal));
  }
  return inputs;
}

}  // namespace hloscope::replay
