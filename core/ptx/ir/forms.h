// The rows of opcodes.def, split into what they ask of modifiers and operands.
#pragma once

#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/ptx/ir/program.h"

namespace hloscope::ptx {

struct ModifierPattern {
  enum class Kind : uint8_t { kWord, kNumbered, kGroup, kType, kSourceType } kind = Kind::kWord;
  std::string_view word;  // with a # where the number stands; of a group the one that it has to be
  ModifierGroup group = ModifierGroup::kCount;
  bool optional = false;
  bool repeated = false;
};

struct OperandPattern {
  enum class Kind : uint8_t {
    kWrite,
    kRead,
    kAddress,
    kTensorAddress,
    kInteger,
    kLabel,
    kLeftOut
  } kind = Kind::kRead;
  enum class Width : uint8_t {
    kType,
    kSource,
    kTwiceType,
    kBytes,
    kPredicate
  } width = Width::kType;
  uint32_t bytes = 0;      // of Width::kBytes
  uint32_t parts = 0;      // so many in { }; 0: no { }
  uint32_t per_part = 0;   // with a #: the number of the form, times `parts`, divided by this
  bool repeated = false;   // any number of labels
  bool by_vector = false;  // as many as the .v2, .v4, .v8 say
  bool splits = false;     // parts that make up T
  bool or_wider = false;
  bool with_predicate = false;
  bool optional = false;
};

struct Form {
  Operation operation;
  std::vector<ModifierPattern> modifiers;
  bool any_order = false;  // of modifiers
  std::vector<Type> types;
  std::vector<Type> sources;
  std::vector<OperandPattern> operands;
};

// The forms of an opcode; none for an opcode that no row has.
std::span<const Form> FormsOf(std::string_view opcode);
// Reads the modifiers of a statement by a form into `instruction`; false where they do not fit.
bool MatchModifiers(const Form& form, const Statement& statement, Instruction& instruction);

}  // namespace hloscope::ptx
