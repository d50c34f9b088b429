// Scopes, declarations and statements of an entry; operands are in operand_parser.cc.
#include "core/ptx/text/body_parser.h"

#include <charconv>

#include "core/ptx/text/variables.h"

namespace hloscope::ptx {

Status BodyParser::Parse() {
  HLOSCOPE_TRY(OpenScope(tokens_.token().position));
  while (!scopes_.empty()) HLOSCOPE_TRY(ParseLine());
  return {};
}

Status BodyParser::OpenScope(Position position) {
  if (scopes_.size() >= limits_.nesting) {
    return tokens_.Fail(position, "more than " + std::to_string(limits_.nesting) + " nested { }",
                        "the limit guards against malicious files");
  }
  scopes_.emplace_back();
  return {};
}

// Uses of labels that the closing scope does not define are left to the one around it.
Status BodyParser::CloseScope() {
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  for (const LabelUse& use : scope.label_uses) {
    if (const auto found = scope.labels.find(use.name); found != scope.labels.end()) {
      entry_.statements[use.statement].operands[use.operand].index = found->second;
    } else if (!scopes_.empty()) {
      scopes_.back().label_uses.push_back(use);
    } else {
      return tokens_.Fail(use.position, "`" + std::string(use.name) + "` is not declared",
                          "declare a register, a variable or a label of this name");
    }
  }
  return {};
}

Status BodyParser::ParseLine() {
  const Token& token = tokens_.token();
  if (token.Is('{')) {
    return OpenScope(tokens_.Take().position);
  }
  if (tokens_.TakeIf('}')) return CloseScope();
  if (token.Is(';')) {
    tokens_.Take();
    return {};
  }
  if (token.kind == TokenKind::kDirective) return ParseDirective();
  if (token.kind == TokenKind::kName || token.Is('@')) return ParseNamed();
  return tokens_.Fail(token.position, tokens_.Found() + ", expected a statement or `}`",
                      "a statement is an opcode with operands and a `;`");
}

Status BodyParser::ParseDirective() {
  const Token& token = tokens_.token();
  if (tokens_.TakeDirective(".reg")) return ParseRegisters();
  if (tokens_.TakeDirective(".pragma")) return ParsePragma();
  if (token.text == ".loc" || token.text == ".file") return SkipLine(token.position);
  auto space = SpaceOf(token.text);
  if (!space.has_value()) {
    return tokens_.Fail(token.position, "`" + std::string(token.text) + "` in the body of an entry",
                        "expected .reg, .shared, .local, .const, .global, .param, .pragma or .loc");
  }
  tokens_.Take();
  if (*space == Space::kParam) space = Space::kLocal;  // what a call takes or gives
  HLOSCOPE_ASSIGN_OR_RETURN(Variable variable, ParseVariable(tokens_, *space, limits_, bytes_));
  HLOSCOPE_TRY(tokens_.Expect(';', "after a variable"));
  if (entry_.variables.size() >= limits_.variables) {
    return tokens_.Fail(variable.position, "too many variables",
                        "the limit guards against malicious files");
  }
  const auto index = static_cast<uint32_t>(entry_.variables.size());
  if (!scopes_.back().variables.emplace(variable.name, index).second) {
    return tokens_.Fail(variable.position, "`" + std::string(variable.name) + "` is declared twice",
                        "rename one of them");
  }
  entry_.variables.push_back(std::move(variable));
  return {};
}

Status BodyParser::SkipLine(Position position) {
  while (tokens_.token().kind != TokenKind::kEnd &&
         tokens_.token().position.line == position.line) {
    tokens_.Take();
  }
  return {};
}

Status BodyParser::ParseRegisters() {
  HLOSCOPE_ASSIGN_OR_RETURN(const Token kind, tokens_.ExpectKind(TokenKind::kDirective, "a type"));
  const auto type = TypeOf(kind.text.substr(1));
  if (!type.has_value()) {
    return tokens_.Fail(kind.position, "registers of type " + std::string(kind.text),
                        "expected a scalar type such as .b32 or .pred");
  }
  do {
    HLOSCOPE_ASSIGN_OR_RETURN(const Token name, tokens_.ExpectKind(TokenKind::kName, "a register"));
    uint64_t count = 0;
    if (tokens_.TakeIf('<')) {
      HLOSCOPE_ASSIGN_OR_RETURN(const Token number,
                                tokens_.ExpectKind(TokenKind::kInteger, "a number of registers"));
      HLOSCOPE_TRY(tokens_.Expect('>', "after a number of registers"));
      count = number.value;
      if (count == 0) continue;
    }
    if (count > limits_.registers || entry_.registers.size() + count > limits_.registers) {
      return tokens_.Fail(name.position,
                          "more than " + std::to_string(limits_.registers) + " registers",
                          "the limit guards against malicious files");
    }
    const RegisterRange range{static_cast<uint32_t>(entry_.registers.size()),
                              static_cast<uint32_t>(count)};
    if (!scopes_.back().registers.emplace(name.text, range).second) {
      return tokens_.Fail(name.position, "`" + std::string(name.text) + "` is declared twice",
                          "rename one of them");
    }
    if (count == 0) entry_.registers.push_back({name.text, Register::kNoNumber, *type});
    for (uint32_t i = 0; i < count; ++i) entry_.registers.push_back({name.text, i, *type});
  } while (tokens_.TakeIf(','));
  return tokens_.Expect(';', "after registers");
}

// `.pragma "used_bytes_mask 0xfff";` is about the next statement, others change nothing that we do.
Status BodyParser::ParsePragma() {
  HLOSCOPE_ASSIGN_OR_RETURN(const Token text, tokens_.ExpectKind(TokenKind::kString, "a string"));
  std::string_view words = text.text;
  constexpr std::string_view kMask = "used_bytes_mask";
  if (words.starts_with(kMask)) {
    words.remove_prefix(kMask.size());
    while (words.starts_with(' ')) words.remove_prefix(1);
    if (words.starts_with("0x")) words.remove_prefix(2);
    uint32_t mask = 0;
    const auto parsed = std::from_chars(words.data(), words.data() + words.size(), mask, 16);
    if (parsed.ec != std::errc()) {
      return tokens_.Fail(text.position, "a used_bytes_mask without its number",
                          "write it as 0xfff");
    }
    used_bytes_mask_ = mask;
  }
  return tokens_.Expect(';', "after a pragma");
}

// A label, or a statement with or without a guard.
Status BodyParser::ParseNamed() {
  int64_t guard = -1;
  bool negated = false;
  if (tokens_.TakeIf('@')) {
    negated = tokens_.TakeIf('!');
    HLOSCOPE_ASSIGN_OR_RETURN(const Token name,
                              tokens_.ExpectKind(TokenKind::kName, "a predicate"));
    const auto found = FindRegister(name.text);
    if (!found.has_value() || entry_.registers[*found].type != Type::kPred) {
      return tokens_.Fail(name.position,
                          "`" + std::string(name.text) + "` is not a predicate register",
                          "declare it with .reg .pred");
    }
    guard = *found;
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const Token name, tokens_.ExpectKind(TokenKind::kName, "an opcode"));
  if (guard >= 0 || !tokens_.TakeIf(':')) return ParseStatement(name, guard, negated);
  const auto index = static_cast<uint32_t>(entry_.labels.size());
  if (!scopes_.back().labels.emplace(name.text, index).second) {
    return tokens_.Fail(name.position, "label `" + std::string(name.text) + "` is declared twice",
                        "rename one of them");
  }
  entry_.labels.push_back({name.text, static_cast<uint32_t>(entry_.statements.size())});
  const Token& next = tokens_.token();
  if (next.kind != TokenKind::kDirective || next.text != ".branchtargets") return {};
  return ParseStatement(tokens_.Take(), -1, false);
}

Status BodyParser::ParseStatement(Token opcode, int64_t guard, bool guard_negated) {
  if (++statements_ > limits_.statements) {
    return tokens_.Fail(opcode.position,
                        "more than " + std::to_string(limits_.statements) + " statements",
                        "the limit guards against malicious files");
  }
  Statement statement;
  statement.position = opcode.position;
  statement.opcode = opcode.text;
  statement.guard = guard;
  statement.guard_negated = guard_negated;
  statement.used_bytes_mask = std::exchange(used_bytes_mask_, -1);
  while (tokens_.token().kind == TokenKind::kDirective) {
    statement.modifiers.push_back(tokens_.Take().text.substr(1));
  }
  const auto index = static_cast<uint32_t>(entry_.statements.size());
  if (statement.opcode == "call") {
    HLOSCOPE_TRY(ParseCall(statement));
    entry_.statements.push_back(std::move(statement));
    return {};
  }
  while (!tokens_.token().Is(';')) {
    if (!statement.operands.empty()) HLOSCOPE_TRY(tokens_.Expect(',', "or `;` after an operand"));
    HLOSCOPE_ASSIGN_OR_RETURN(Operand operand, ParseOperand(0));
    if (operand.kind == OperandKind::kLabel) {
      scopes_.back().label_uses.push_back({operand.name, index,
                                           static_cast<uint32_t>(statement.operands.size()),
                                           operand.position});
    }
    statement.operands.push_back(std::move(operand));
    if (statement.operands.size() > limits_.operand_parts) {
      return tokens_.Fail(
          opcode.position,
          "a statement of more than " + std::to_string(limits_.operand_parts) + " operands",
          "no form has as many");
    }
  }
  tokens_.Take();
  entry_.statements.push_back(std::move(statement));
  return {};
}

// `call (results), name, (arguments);`: results, the name and arguments become three operands.
Status BodyParser::ParseCall(Statement& statement) {
  Operand results, name, arguments;
  results.kind = arguments.kind = OperandKind::kVector;
  results.position = arguments.position = statement.position;
  if (tokens_.TakeIf('(')) {
    HLOSCOPE_ASSIGN_OR_RETURN(results, ParseParts(std::move(results), ')', 0));
    HLOSCOPE_TRY(tokens_.Expect(',', "after the results of a call"));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const Token callee,
                            tokens_.ExpectKind(TokenKind::kName, "the name of a function"));
  name.name = callee.text;
  name.position = callee.position;
  if (tokens_.TakeIf(',')) {
    HLOSCOPE_TRY(tokens_.Expect('(', "before the arguments of a call"));
    HLOSCOPE_ASSIGN_OR_RETURN(arguments, ParseParts(std::move(arguments), ')', 0));
  }
  for (const Operand* side : {&results, &arguments}) {
    for (const Operand& part : side->parts) {
      if (part.kind == OperandKind::kVariable && !part.is_module) continue;
      return tokens_.Fail(part.position, "a call with something else than variables",
                          "declare a .param for each in the body");
    }
  }
  statement.operands = {std::move(results), std::move(name), std::move(arguments)};
  return tokens_.Expect(';', "after a call");
}

}  // namespace hloscope::ptx
