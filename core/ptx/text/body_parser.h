// The body of an entry: nested scopes of registers, variables and labels, and statements.
#pragma once

#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/ptx/text/parser.h"
#include "core/ptx/text/token_stream.h"

namespace hloscope::ptx {

class BodyParser {
 public:
  // `syntax` holds the module's variables; `statements` and `bytes` count towards the limits of the
  // module.
  BodyParser(TokenStream& tokens, const Syntax& syntax,
             const std::unordered_map<std::string_view, uint32_t>& module_variables, Entry& entry,
             const TextLimits& limits, uint32_t& statements, uint64_t& bytes)
      : tokens_(tokens),
        module_(syntax),
        module_variables_(module_variables),
        entry_(entry),
        limits_(limits),
        statements_(statements),
        bytes_(bytes) {}

  // Reads from after the opening to after the closing brace.
  Status Parse();

 private:
  struct RegisterRange {
    uint32_t first = 0;
    uint32_t count = 0;  // 0: one register with this whole name
  };
  struct LabelUse {
    std::string_view name;
    uint32_t statement;
    uint32_t operand;
    Position position;
  };
  struct Scope {
    std::unordered_map<std::string_view, RegisterRange> registers;
    std::unordered_map<std::string_view, uint32_t> variables;
    std::unordered_map<std::string_view, uint32_t> labels;
    std::vector<LabelUse> label_uses;  // names that no scope inside defines
  };

  Status ParseLine();
  Status ParseDirective();
  Status ParseRegisters();
  Status ParsePragma();
  Status ParseNamed();
  Status ParseStatement(Token opcode, int64_t guard, bool guard_negated);
  Status ParseCall(Statement& statement);
  Status OpenScope(Position position);
  Status CloseScope();
  Status SkipLine(Position position);
  Result<Operand> ParseOperand(uint32_t depth);
  Result<Operand> ParseParts(Operand operand, char end, uint32_t depth);
  Result<Operand> ParseAddress(Operand operand, uint32_t depth);
  Result<Operand> ParseName(Token name);
  Result<Operand> ParseNumber(Token token, bool negative);
  std::optional<uint32_t> FindRegister(std::string_view name) const;

  TokenStream& tokens_;
  const Syntax& module_;
  const std::unordered_map<std::string_view, uint32_t>& module_variables_;
  Entry& entry_;
  const TextLimits& limits_;
  uint32_t& statements_;
  uint64_t& bytes_;
  std::vector<Scope> scopes_;
  int64_t used_bytes_mask_ = -1;
};

}  // namespace hloscope::ptx
