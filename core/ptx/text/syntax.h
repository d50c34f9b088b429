// What a PTX module says, with names resolved to positions: variables, entries, registers,
// statements.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/ptx/text/types.h"

namespace hloscope::ptx {

struct Position {
  uint32_t line = 0;
  uint32_t column = 0;
};

// State spaces that variables are declared in.
enum class Space : uint8_t { kGeneric, kGlobal, kShared, kLocal, kConst, kParam };

struct Variable {
  std::string_view name;
  Space space = Space::kGlobal;
  Type type = Type::kB8;
  uint32_t align = 1;
  uint64_t bytes = 0;            // 0 for `.extern .shared name[]`: its size comes with the launch
  std::vector<uint8_t> initial;  // may be shorter than `bytes`: zeros follow
  bool is_extern = false;
  bool is_pointer = false;     // a parameter written `.ptr`
  uint32_t pointer_align = 0;  // of what a `.ptr` parameter points to; 0 where it is not said
  Position position;
};

struct Register {
  std::string_view prefix;  // "%r" of `.reg .b32 %r<9>`, or the whole name
  uint32_t number = 0;      // after the prefix; kNoNumber for a whole name
  Type type = Type::kB32;
  static constexpr uint32_t kNoNumber = 0xffffffff;
};

enum class OperandKind : uint8_t {
  kRegister,  // index: of Entry::registers
  kSpecial,   // name: "%tid.x"
  kInteger,   // bits
  kFloat32,   // bits: 32 of them
  kFloat64,   // bits
  kVariable,  // index into Entry::variables, or, with is_module, into Syntax::variables
  kLabel,     // index: of Entry::labels
  kAddress,   // parts[0] + offset
  kVector,    // parts
  kPair,      // parts[0]|parts[1]
  kSink,      // _
};

struct Operand {
  OperandKind kind = OperandKind::kSink;
  bool negated = false;  // !%p
  bool is_module = false;
  uint32_t index = 0;
  uint64_t bits = 0;
  int64_t offset = 0;
  std::string_view name;
  std::vector<Operand> parts;
  Position position;

  // A kVariable that counts in Entry::parameters.
  bool is_parameter() const { return kind == OperandKind::kVariable && bits == 1; }
};

// `.branchtargets` is a statement too: its operands are the labels that a brx.idx chooses between.
struct Statement {
  Position position;
  std::string_view opcode;                  // "ld"
  std::vector<std::string_view> modifiers;  // "global", "nc", "v2", "b32"
  std::vector<Operand> operands;
  int64_t guard = -1;  // a register, or -1
  bool guard_negated = false;
  int64_t used_bytes_mask = -1;  // of `.pragma "used_bytes_mask …"` before it, or -1
  // As it is written: "ld.global.nc.v2.b32".
  std::string Form() const;
};

struct Label {
  std::string_view name;
  uint32_t statement = 0;  // the index of the statement that follows it
};

struct Entry {
  std::string_view name;
  Position position;
  std::vector<Variable> parameters;  // of a function, what it gives back comes first
  std::vector<Variable> variables;   // of its body
  std::vector<Register> registers;
  std::vector<Label> labels;
  std::vector<Statement> statements;
  uint32_t required_threads[3] = {0, 0, 0};  // .reqntid; 0: not said
  bool has_body = true;                      // false of a function that is only declared
  uint32_t required_cluster[3] = {0, 0, 0};  // .reqnctapercluster; 0: not said
};

struct Syntax {
  std::string file;
  std::shared_ptr<const std::string> text;  // what all names point into
  uint32_t version = 0;                     // 87 of `.version 8.7`
  std::string_view target;                  // "sm_90a"
  std::vector<Variable> variables;
  std::vector<Entry> entries;
  std::vector<Entry> functions;  // .func; calls of those that have a body are put into the entries
};

}  // namespace hloscope::ptx
