// Tables by opcode that are made while compiling: a look-up is one read.
#pragma once

#include <array>
#include <initializer_list>

#include "core/hlo/opcode.h"

namespace hloscope::hlo {

/// A value for each opcode: those of the rows, and `otherwise` for all others. A second row for an
/// opcode does not compile.
template <typename T>
class OpcodeTable {
 public:
  struct Row {
    Opcode opcode;
    T value;
  };
  consteval OpcodeTable(std::initializer_list<Row> rows, T otherwise = T()) {
    values_.fill(otherwise);
    std::array<bool, kOpcodeCount> is_set{};
    for (const Row& row : rows) {
      const auto at = static_cast<size_t>(row.opcode);
      if (is_set[at]) throw "two rows for one opcode";
      is_set[at] = true;
      values_[at] = row.value;
    }
  }
  constexpr const T& operator[](Opcode opcode) const {
    return values_[static_cast<size_t>(opcode)];
  }

 private:
  std::array<T, kOpcodeCount> values_;
};

class OpcodeSet {
 public:
  consteval OpcodeSet(std::initializer_list<Opcode> opcodes) {
    for (const Opcode opcode : opcodes) is_in_[static_cast<size_t>(opcode)] = true;
  }
  constexpr bool Has(Opcode opcode) const { return is_in_[static_cast<size_t>(opcode)]; }

 private:
  std::array<bool, kOpcodeCount> is_in_{};
};

}  // namespace hloscope::hlo
