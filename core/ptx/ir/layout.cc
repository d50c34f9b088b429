// Where registers, constants and variables of a kernel lie.
#include "core/ptx/ir/layout.h"

#include <cstring>

namespace hloscope::ptx {
namespace {

struct SpecialRow {
  std::string_view text;
  Special special;
};
constexpr SpecialRow kSpecials[] = {
#define SPECIAL(enumerator, text) {text, Special::enumerator},
#include "core/ptx/ir/special_registers.def"
#undef SPECIAL
};

constexpr uint64_t kLanes = 32;

uint64_t RoundUp(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

}  // namespace

Layout::Layout(const Syntax& syntax, const Entry& entry, Kernel& kernel)
    : syntax_(syntax), entry_(entry), kernel_(kernel) {
  PlaceParameters();
  PlaceVariables();
  // Predicates first, so that everything wider starts at a multiple of 64 bytes.
  uint32_t at = 0;
  registers_.resize(entry.registers.size());
  for (size_t i = 0; i < registers_.size(); ++i) {
    if (entry.registers[i].type != Type::kPred) continue;
    registers_[i].offset = at;
    at += 4;
  }
  at = static_cast<uint32_t>(RoundUp(at, 64));
  for (size_t i = 0; i < registers_.size(); ++i) {
    if (entry.registers[i].type == Type::kPred) continue;
    const uint32_t bytes = BytesOf(entry.registers[i].type);
    registers_[i] = {at, static_cast<uint8_t>(bytes), false};
    at += static_cast<uint32_t>(RoundUp(bytes * kLanes, 64));
  }
  kernel.register_bytes = at;
}

void Layout::PlaceParameters() {
  uint64_t at = 0;
  for (const Variable& variable : entry_.parameters) {
    at = RoundUp(at, variable.align);
    kernel_.parameters.push_back({std::string(variable.name), at, variable.bytes,
                                  variable.is_pointer, variable.pointer_align});
    at += variable.bytes;
  }
  kernel_.parameter_bytes = at;
}

// Shared variables of the module and of the kernel, then dynamic shared memory, which starts where
// they end.
void Layout::PlaceVariables() {
  uint64_t shared = 0;
  const auto place = [](uint64_t& at, const Variable& variable) {
    at = RoundUp(at, variable.align);
    const uint64_t address = at;
    at += variable.bytes;
    return address;
  };
  for (size_t i = 0; i < syntax_.variables.size(); ++i) {
    const Variable& variable = syntax_.variables[i];
    const bool is_shared = variable.space == Space::kShared;
    module_addresses_.push_back(is_shared && !variable.is_extern
                                    ? place(shared, variable)
                                    : (kFirstVariableWindow + i) << kWindowShift);
  }
  for (const Variable& variable : entry_.variables) {
    const bool is_local = variable.space == Space::kLocal;
    entry_addresses_.push_back(place(is_local ? kernel_.local_bytes : shared, variable));
  }
  kernel_.local_bytes = RoundUp(kernel_.local_bytes, 16);
  for (size_t i = 0; i < syntax_.variables.size(); ++i) {
    const Variable& variable = syntax_.variables[i];
    if (variable.space != Space::kShared || !variable.is_extern) continue;
    shared = RoundUp(shared, variable.align);
  }
  kernel_.static_shared_bytes = shared;
  for (size_t i = 0; i < syntax_.variables.size(); ++i) {
    const Variable& variable = syntax_.variables[i];
    if (variable.space == Space::kShared && variable.is_extern) module_addresses_[i] = shared;
  }
}

Slot Layout::ConstantSlot(uint64_t value, uint32_t bytes) {
  const auto [found, is_new] = constants_.try_emplace({value, bytes});
  if (!is_new) return found->second;
  const size_t at = RoundUp(kernel_.constants.size(), 64);
  kernel_.constants.resize(at + std::max<size_t>(bytes * kLanes, 4));
  if (bytes == 0) {
    const uint32_t mask = value != 0 ? 0xffffffffu : 0;
    std::memcpy(kernel_.constants.data() + at, &mask, 4);
  }
  for (size_t lane = 0; lane < kLanes && bytes > 0; ++lane) {
    std::memcpy(kernel_.constants.data() + at + lane * bytes, &value, std::min(bytes, 8u));
  }
  found->second = {static_cast<uint32_t>(at) | Slot::kConstant, static_cast<uint8_t>(bytes), false};
  return found->second;
}

std::optional<Slot> Layout::SpecialSlot(std::string_view text) {
  if (text == "WARP_SZ") return ConstantSlot(kLanes, 4);
  for (const SpecialRow& row : kSpecials) {
    if (row.text != text) continue;
    const auto [found, is_new] = specials_.try_emplace(text);
    if (is_new) {
      found->second = {static_cast<uint32_t>(kernel_.register_bytes), 4, false};
      kernel_.specials.emplace_back(row.special, found->second.offset);
      kernel_.register_bytes += 4 * kLanes;
    }
    return found->second;
  }
  return std::nullopt;
}

const Variable& Layout::VariableOf(const Operand& operand) const {
  if (operand.bits == 1) return entry_.parameters[operand.index];
  return operand.is_module ? syntax_.variables[operand.index] : entry_.variables[operand.index];
}

uint64_t Layout::AddressOf(const Operand& operand) const {
  if (operand.bits == 1) return kernel_.parameters[operand.index].offset;
  return operand.is_module ? module_addresses_[operand.index] : entry_addresses_[operand.index];
}

}  // namespace hloscope::ptx
