// Statements to instructions: the first form whose modifiers and operands fit, or the reason why
// none does.
#include "core/ptx/ir/decode.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "core/ptx/ir/first_reads.h"
#include "core/ptx/ir/forms.h"
#include "core/ptx/ir/kept_addresses.h"
#include "core/ptx/ir/layout.h"

namespace hloscope::ptx {
namespace {

bool IsWarpWide(Operation operation) {
  switch (operation) {
    case Operation::kShfl:
    case Operation::kVote:
    case Operation::kBallot:
    case Operation::kMatchAny:
    case Operation::kMatchAll:
    case Operation::kMovmatrix:
    case Operation::kElect:
    case Operation::kRedux:
    case Operation::kLdmatrix:
    case Operation::kStmatrix:
    case Operation::kLdmatrixBytes:
    case Operation::kStmatrixBytes:
    case Operation::kWmmaLoad:
    case Operation::kWmmaStore:
    case Operation::kTensorMapCopy:
    case Operation::kTensorAllocate:
    case Operation::kTensorFree:
    case Operation::kTensorLoad:
    case Operation::kTensorStore:
      return true;
    case Operation::kTensorMultiply:  // one lane issues it
    case Operation::kTensorMultiplyFromMemory:
    case Operation::kTensorMultiplyScaled:
    case Operation::kTensorMultiplyScaledFromMemory:
      return false;
    default:
      return ClassOf(operation) == InstructionClass::kTensor;
  }
}

// Of alloca, for each thread.
constexpr uint64_t kStackBytes = uint64_t{16} << 10;

class Decoder {
 public:
  Decoder(const Syntax& syntax, const Entry& entry, Kernel& kernel)
      : syntax_(syntax), entry_(entry), kernel_(kernel), layout_(syntax, entry, kernel) {}

  void Decode() {
    for (const Statement& statement : entry_.statements) {
      Instruction instruction;
      if (!DecodeStatement(statement, instruction)) {
        kernel_.unsupported.push_back(
            Error{ErrorClass::kUnsupported,
                  "`" + statement.Form() + "`: " + reason_,
                  {syntax_.file, statement.position.line, statement.position.column},
                  "kernels with it are not executed"});
        instruction = {};
        instruction.operation = Operation::kTrap;
      }
      instruction.position = statement.position;
      instruction.warp_wide = IsWarpWide(instruction.operation);
      instruction.group_wide = instruction.operation == Operation::kWarpGroupMultiply ||
                               instruction.operation == Operation::kWarpGroupMultiplyRegisters;
      kernel_.instructions.push_back(instruction);
      kernel_.forms.push_back(statement.Form());
    }
    const auto allocates = [](const Instruction& in) { return in.operation == Operation::kAlloca; };
    if (std::ranges::any_of(kernel_.instructions, allocates)) {
      kernel_.stack_begin = kernel_.local_bytes;
      kernel_.local_bytes += kStackBytes;
    }
    // A branch may lead behind the last statement: there the thread ends.
    Instruction end;
    end.operation = Operation::kRet;
    end.position = entry_.statements.empty() ? entry_.position : entry_.statements.back().position;
    kernel_.instructions.push_back(end);
    kernel_.forms.emplace_back("ret");
  }

 private:
  bool Refuse(std::string reason) {
    reason_ = std::move(reason);
    return false;
  }

  bool DecodeStatement(const Statement& statement, Instruction& instruction) {
    const auto forms = FormsOf(statement.opcode);
    if (forms.empty()) return Refuse("this opcode is not executed");
    reason_ = "no form of this opcode has these modifiers and types";
    for (const Form& form : forms) {
      if (!MatchModifiers(form, statement, instruction)) continue;
      const size_t slots = kernel_.slots.size();
      instruction.first_slot = static_cast<uint32_t>(slots);
      if (MatchOperands(form, statement, instruction)) {
        instruction.slot_count = static_cast<uint32_t>(kernel_.slots.size() - slots);
        if (statement.guard >= 0) {
          instruction.guard = layout_.RegisterSlot(static_cast<uint32_t>(statement.guard)).offset;
          instruction.guard_negated = statement.guard_negated;
        }
        return true;
      }
      kernel_.slots.resize(slots);
    }
    return false;
  }

  bool MatchOperands(const Form& form, const Statement& statement, Instruction& instruction) {
    size_t next = 0;
    addresses_ = 0;
    for (const OperandPattern& pattern : form.operands) {
      if (pattern.kind == OperandPattern::Kind::kLeftOut) {
        kernel_.slots.push_back({});
        continue;
      }
      if (next == statement.operands.size()) {
        if (!pattern.optional) return Refuse("it has fewer operands than its form");
        kernel_.slots.push_back({});
        continue;
      }
      do {
        if (!MatchOperand(pattern, statement.operands[next], instruction)) return false;
        ++next;
      } while (pattern.repeated && next < statement.operands.size());
    }
    if (next < statement.operands.size()) return Refuse("it has more operands than its form");
    return true;
  }

  bool MatchOperand(const OperandPattern& pattern, const Operand& operand,
                    Instruction& instruction) {
    switch (pattern.kind) {
      case OperandPattern::Kind::kAddress:
        return MatchAddress(operand, instruction);
      case OperandPattern::Kind::kTensorAddress:
        return MatchTensorAddress(operand, instruction);
      case OperandPattern::Kind::kInteger:
        if (operand.kind != OperandKind::kInteger) return Refuse("an operand has to be a number");
        instruction.value = static_cast<uint32_t>(operand.bits);
        return true;
      case OperandPattern::Kind::kLabel:
        return MatchLabel(pattern, operand, instruction);
      case OperandPattern::Kind::kLeftOut:
        break;
      case OperandPattern::Kind::kRead:
      case OperandPattern::Kind::kWrite:
        return MatchValues(pattern, operand, instruction);
    }
    return false;
  }

  bool MatchLabel(const OperandPattern& pattern, const Operand& operand, Instruction& instruction) {
    if (operand.kind != OperandKind::kLabel) return Refuse("a branch needs a label");
    const uint32_t statement = entry_.labels[operand.index].statement;
    if (pattern.repeated) {
      auto& targets = kernel_.branch_targets;
      if (instruction.target == 0) instruction.value = static_cast<uint32_t>(targets.size());
      targets.push_back(statement);
      ++instruction.target;
      return true;
    }
    instruction.target = statement;
    const bool is_list = statement < entry_.statements.size() &&
                         entry_.statements[statement].opcode == ".branchtargets";
    if (instruction.operation == Operation::kBranchIndexed && !is_list)
      return Refuse("its label names no .branchtargets");
    return true;
  }

  // [map, {coordinates}]
  bool MatchTensorAddress(const Operand& operand, Instruction& instruction) {
    if (operand.kind != OperandKind::kAddress || operand.parts.size() != 2 || operand.offset != 0 ||
        operand.parts[1].kind != OperandKind::kVector) {
      return Refuse("it needs a [tensor map, {coordinates}]");
    }
    const Operand& base = operand.parts[0];
    if (base.kind != OperandKind::kRegister || layout_.RegisterSlot(base.index).bytes != 8)
      return Refuse("the address of a tensor map needs a register of 64 bits");
    kernel_.slots.push_back(layout_.RegisterSlot(base.index));
    const auto& coordinates = operand.parts[1].parts;
    if (const uint32_t wanted = TensorCoordinates(instruction); coordinates.size() != wanted)
      return Refuse("it needs " + std::to_string(wanted) + " coordinates");
    const OperandPattern pattern;
    return std::ranges::all_of(
        coordinates, [&](const Operand& coordinate) { return MatchValue(pattern, coordinate, 4); });
  }

  // Bytes that one value of an operand has; 0 for a predicate.
  static uint32_t WidthOf(const OperandPattern& pattern, const Instruction& instruction) {
    switch (pattern.width) {
      case OperandPattern::Width::kType:
        return BytesOf(instruction.type);
      case OperandPattern::Width::kSource:
        return BytesOf(instruction.source);
      case OperandPattern::Width::kTwiceType:
        return 2 * BytesOf(instruction.type);
      case OperandPattern::Width::kBytes:
        return pattern.bytes;
      case OperandPattern::Width::kPredicate:
        return 0;
    }
    return 0;
  }

  bool MatchValues(const OperandPattern& pattern, const Operand& operand,
                   Instruction& instruction) {
    const uint32_t width = WidthOf(pattern, instruction);
    if (pattern.with_predicate) {
      const bool is_pair = operand.kind == OperandKind::kPair;
      if (!MatchValue(pattern, is_pair ? operand.parts[0] : operand, width)) return false;
      if (!is_pair) {
        kernel_.slots.push_back({});
        return true;
      }
      return MatchValue(pattern, operand.parts[1], 0);
    }
    const bool braces = operand.kind == OperandKind::kVector;
    if (pattern.splits) {
      if (!braces || operand.parts.size() < 2 || width % operand.parts.size() != 0) {
        return Refuse("its parts do not match its type");
      }
      for (const Operand& part : operand.parts) {
        if (!MatchValue(pattern, part, width / static_cast<uint32_t>(operand.parts.size())))
          return false;
      }
      return true;
    }
    const size_t parts = pattern.per_part > 0 ? instruction.value * pattern.parts / pattern.per_part
                         : pattern.parts > 0  ? pattern.parts
                         : pattern.by_vector  ? instruction.vector_width()
                                              : 0;
    if (parts == 0 || (parts == 1 && !braces)) return MatchValue(pattern, operand, width);
    if (!braces || operand.parts.size() != parts) {
      return Refuse("an operand needs " + std::to_string(parts) + " parts in { }");
    }
    for (const Operand& part : operand.parts) {
      if (!MatchValue(pattern, part, width)) return false;
    }
    return true;
  }

  bool MatchValue(const OperandPattern& pattern, const Operand& operand, uint32_t width) {
    const bool writes = pattern.kind == OperandPattern::Kind::kWrite;
    if (operand.kind == OperandKind::kSink) {
      if (!writes) return Refuse("`_` cannot be read");
      kernel_.slots.push_back({Slot::kAbsent, static_cast<uint8_t>(width), false, true});
      return true;
    }
    if (operand.kind == OperandKind::kRegister) {
      Slot slot = layout_.RegisterSlot(operand.index);
      const bool fits =
          slot.bytes == width || (pattern.or_wider && width > 0 && slot.bytes > width);
      if (!fits) {
        return Refuse("register " + NameOf(operand.index) + " has " +
                      std::to_string(slot.bytes * 8) + " bits where its form has " +
                      std::to_string(width * 8));
      }
      if (operand.negated && (writes || width > 0))
        return Refuse("`!` is not before a predicate that is read");
      slot.negated = operand.negated;
      slot.written = writes;
      kernel_.slots.push_back(slot);
      return true;
    }
    if (writes) return Refuse("it writes to an operand that is not a register");
    return MatchConstant(operand, width);
  }

  std::string NameOf(uint32_t index) const {
    const Register& r = entry_.registers[index];
    return std::string(r.prefix) +
           (r.number == Register::kNoNumber ? "" : std::to_string(r.number));
  }

  bool MatchConstant(const Operand& operand, uint32_t width) {
    switch (operand.kind) {
      case OperandKind::kInteger:
        kernel_.slots.push_back(layout_.ConstantSlot(operand.bits, width));
        return true;
      case OperandKind::kFloat32:
      case OperandKind::kFloat64: {
        const bool is_single = operand.kind == OperandKind::kFloat32;
        if (width != 4 && width != 8)
          return Refuse("a number with fraction where its type has none");
        const double value = is_single ? std::bit_cast<float>(static_cast<uint32_t>(operand.bits))
                                       : std::bit_cast<double>(operand.bits);
        uint64_t bits = operand.bits;
        if (is_single && width == 8) bits = std::bit_cast<uint64_t>(value);
        if (!is_single && width == 4) bits = std::bit_cast<uint32_t>(static_cast<float>(value));
        kernel_.slots.push_back(layout_.ConstantSlot(bits, width));
        return true;
      }
      case OperandKind::kSpecial: {
        const auto slot = layout_.SpecialSlot(operand.name);
        if (!slot.has_value())
          return Refuse("register " + std::string(operand.name) + " is not known");
        if (width != 4) return Refuse("register " + std::string(operand.name) + " has 32 bits");
        kernel_.slots.push_back(*slot);
        return true;
      }
      case OperandKind::kVariable:
        if (width != 4 && width != 8) return Refuse("an address in fewer than 32 bits");
        kernel_.slots.push_back(layout_.ConstantSlot(layout_.AddressOf(operand), width));
        return true;
      default:
        return Refuse("an operand that its form does not have");
    }
  }

  bool MatchAddress(const Operand& operand, Instruction& instruction) {
    if (operand.kind != OperandKind::kAddress || operand.parts.size() != 1 ||
        addresses_ >= std::size(instruction.offsets)) {
      return Refuse("it needs an [address]");
    }
    instruction.offsets[addresses_++] = operand.offset;
    const Operand& base = operand.parts[0];
    if (base.kind == OperandKind::kRegister) {
      const Slot slot = layout_.RegisterSlot(base.index);
      if (slot.bytes != 4 && slot.bytes != 8)
        return Refuse("an address needs a register of 32 or 64 bits");
      kernel_.slots.push_back(slot);
      return true;
    }
    const uint64_t address =
        base.kind == OperandKind::kInteger ? base.bits : layout_.AddressOf(base);
    kernel_.slots.push_back(layout_.ConstantSlot(address, 8));
    return true;
  }

  const Syntax& syntax_;
  const Entry& entry_;
  Kernel& kernel_;
  Layout layout_;
  std::string reason_;
  size_t addresses_ = 0;
};

// Global atomics, and loads that watch what other blocks write, depend on the order of blocks.
bool WantsBlockOrder(const Kernel& kernel) {
  for (const Instruction& instruction : kernel.instructions) {
    const StateSpace space = ModifierStateSpace(instruction);
    const bool shared = IsShared(space);
    const bool atomic = instruction.operation == Operation::kAtom ||
                        instruction.operation == Operation::kAtomCas ||
                        instruction.operation == Operation::kRed ||
                        instruction.operation == Operation::kBulkReduce ||
                        instruction.operation == Operation::kTensorMapReduce;
    const Order order = ModifierOrder(instruction);
    const bool watches = order != Order::kNone && order != Order::kWeak;
    if (!shared && (atomic || watches)) return true;
  }
  return false;
}

}  // namespace

Program Decode(Syntax syntax) {
  Program program;
  program.syntax = std::move(syntax);
  for (const Entry& entry : program.syntax.entries) {
    Kernel& kernel = program.kernels.emplace_back();
    kernel.name = entry.name;
    kernel.position = entry.position;
    std::copy(std::begin(entry.required_threads), std::end(entry.required_threads),
              kernel.required_threads);
    std::copy(std::begin(entry.required_cluster), std::end(entry.required_cluster),
              kernel.required_cluster);
    Decoder(program.syntax, entry, kernel).Decode();
    kernel.wants_block_order = WantsBlockOrder(kernel);
    FirstReads reads = FindFirstReads(kernel);
    kernel.cleared = std::move(reads.cleared);
    kernel.read_first = std::move(reads.read);
    kernel.sums_first = std::move(reads.sums);
    kernel.kept_accesses = KeepAddresses(kernel);
  }
  return program;
}

}  // namespace hloscope::ptx
