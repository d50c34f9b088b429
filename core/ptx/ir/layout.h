// Where registers, constants and variables of a kernel lie.
#pragma once

#include <map>
#include <optional>

#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

class Layout {
 public:
  // Lays out the registers, parameters and variables of `entry` into `kernel`.
  Layout(const Syntax& syntax, const Entry& entry, Kernel& kernel);

  Slot RegisterSlot(uint32_t index) const { return registers_[index]; }
  // 32 equal values of `bytes`; for a predicate (0 bytes) a mask.
  Slot ConstantSlot(uint64_t value, uint32_t bytes);
  // A special register by its text; nullopt for one that is not known.
  std::optional<Slot> SpecialSlot(std::string_view text);
  // The address that the name of a variable or parameter stands for, in its own state space.
  uint64_t AddressOf(const Operand& operand) const;
  const Variable& VariableOf(const Operand& operand) const;

 private:
  void PlaceParameters();
  void PlaceVariables();

  const Syntax& syntax_;
  const Entry& entry_;
  Kernel& kernel_;
  std::vector<Slot> registers_;
  std::vector<uint64_t> entry_addresses_;
  std::vector<uint64_t> module_addresses_;
  std::map<std::pair<uint64_t, uint32_t>, Slot> constants_;
  std::map<std::string_view, Slot> specials_;
};

}  // namespace hloscope::ptx
