// Operands: registers, numbers, names, addresses, vectors, pairs.
#include <charconv>

#include "core/ptx/text/body_parser.h"

namespace hloscope::ptx {

std::optional<uint32_t> BodyParser::FindRegister(std::string_view name) const {
  const size_t last = name.find_last_not_of("0123456789");
  const size_t digits = last == std::string_view::npos ? 0 : last + 1;
  const bool plain = name.size() > digits && (name[digits] != '0' || name.size() == digits + 1);
  uint32_t number = 0;
  const bool numbered =
      plain &&
      std::from_chars(name.data() + digits, name.data() + name.size(), number).ec == std::errc();
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const auto found = scope->registers.find(name);
        found != scope->registers.end() && found->second.count == 0) {
      return found->second.first;
    }
    if (!numbered) continue;
    const auto found = scope->registers.find(name.substr(0, digits));
    if (found != scope->registers.end() && number < found->second.count) {
      return found->second.first + number;
    }
  }
  return std::nullopt;
}

Result<Operand> BodyParser::ParseNumber(Token token, bool negative) {
  Operand operand;
  operand.position = token.position;
  operand.bits = token.value;
  operand.kind = token.kind == TokenKind::kInteger   ? OperandKind::kInteger
                 : token.kind == TokenKind::kFloat32 ? OperandKind::kFloat32
                                                     : OperandKind::kFloat64;
  if (!negative) return operand;
  if (operand.kind == OperandKind::kInteger) operand.bits = 0 - operand.bits;
  if (operand.kind == OperandKind::kFloat32) operand.bits ^= 0x80000000u;
  if (operand.kind == OperandKind::kFloat64) operand.bits ^= uint64_t{1} << 63;
  return operand;
}

// What a name stands for: a register, a special register, a variable, else a label defined later.
Result<Operand> BodyParser::ParseName(Token name) {
  Operand operand;
  operand.position = name.position;
  operand.name = name.text;
  if (name.text == "_") return operand;
  if (const auto found = FindRegister(name.text); found.has_value()) {
    operand.kind = OperandKind::kRegister;
    operand.index = *found;
    return operand;
  }
  if (name.text.starts_with('%')) {
    operand.kind = OperandKind::kSpecial;
    if (tokens_.token().kind == TokenKind::kDirective) {
      const std::string_view part = tokens_.Take().text;
      operand.name = std::string_view(
          name.text.data(), static_cast<size_t>(part.data() + part.size() - name.text.data()));
    }
    return operand;
  }
  operand.kind = OperandKind::kVariable;
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->variables.find(name.text);
    if (found == scope->variables.end()) continue;
    operand.index = found->second;
    return operand;
  }
  if (const auto found = module_variables_.find(name.text); found != module_variables_.end()) {
    operand.index = found->second;
    operand.is_module = true;
    return operand;
  }
  operand.kind = OperandKind::kLabel;
  return operand;
}

// `parts` up to `end`, which closes a vector.
Result<Operand> BodyParser::ParseParts(Operand operand, char end, uint32_t depth) {
  while (!tokens_.TakeIf(end)) {
    if (!operand.parts.empty()) HLOSCOPE_TRY(tokens_.Expect(',', "between the parts of a vector"));
    HLOSCOPE_ASSIGN_OR_RETURN(Operand part, ParseOperand(depth + 1));
    if (part.kind == OperandKind::kLabel) {
      return tokens_.Fail(part.position, "`" + std::string(part.name) + "` is not declared",
                          "declare a register of this name");
    }
    operand.parts.push_back(std::move(part));
    if (operand.parts.size() > limits_.operand_parts) {
      return tokens_.Fail(operand.position, "a vector of too many parts", "no form has as many");
    }
  }
  return operand;
}

// `[base+offset]`, or `[base, {coordinates}]` with the coordinates as the second part.
Result<Operand> BodyParser::ParseAddress(Operand operand, uint32_t depth) {
  operand.kind = OperandKind::kAddress;
  HLOSCOPE_ASSIGN_OR_RETURN(Operand base, ParseOperand(depth + 1));
  if (base.kind == OperandKind::kLabel) {
    for (uint32_t i = 0; i < entry_.parameters.size(); ++i) {
      if (entry_.parameters[i].name != base.name) continue;
      base.kind = OperandKind::kVariable;
      base.index = i;
      base.bits = 1;  // a parameter
    }
  }
  if (base.kind != OperandKind::kRegister && base.kind != OperandKind::kVariable &&
      base.kind != OperandKind::kInteger) {
    return tokens_.Fail(base.position, "an address that starts with " + std::string(base.name),
                        "expected a register, a variable, a parameter or a number");
  }
  operand.parts.push_back(std::move(base));
  if (tokens_.token().Is('+') || tokens_.token().Is('-')) {
    const bool negative = tokens_.Take().Is('-');
    const bool twice = tokens_.TakeIf('-');
    HLOSCOPE_ASSIGN_OR_RETURN(const Token offset,
                              tokens_.ExpectKind(TokenKind::kInteger, "an offset"));
    operand.offset = static_cast<int64_t>(negative != twice ? 0 - offset.value : offset.value);
  }
  if (tokens_.TakeIf(',')) {
    HLOSCOPE_ASSIGN_OR_RETURN(Operand coordinates, ParseOperand(depth + 1));
    operand.parts.push_back(std::move(coordinates));
  }
  HLOSCOPE_TRY(tokens_.Expect(']', "after an address"));
  return operand;
}

Result<Operand> BodyParser::ParseOperand(uint32_t depth) {
  Operand operand;
  operand.position = tokens_.token().position;
  if (depth > 2) {
    return tokens_.Fail(operand.position, "an operand inside an operand inside an operand",
                        "no form is nested as deep");
  }
  if (tokens_.TakeIf('{')) {
    operand.kind = OperandKind::kVector;
    return ParseParts(std::move(operand), '}', depth);
  }
  if (tokens_.TakeIf('[')) return ParseAddress(std::move(operand), depth);
  const bool negated = tokens_.TakeIf('!');
  const bool negative = !negated && tokens_.TakeIf('-');
  const Token token = tokens_.Take();
  if (token.kind == TokenKind::kInteger || token.kind == TokenKind::kFloat32 ||
      token.kind == TokenKind::kFloat64) {
    return ParseNumber(token, negative);
  }
  if (token.kind != TokenKind::kName || negative) {
    return tokens_.Fail(token.position,
                        token.kind == TokenKind::kBad ? std::string(token.message)
                        : token.kind == TokenKind::kEnd
                            ? std::string("the text ends in a statement")
                            : "`" + std::string(token.text) + "` as an operand",
                        "expected a register, a number, a name, [address] or {vector}");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(operand, ParseName(token));
  operand.negated = negated;
  // A parameter by its name alone is an address too (cvta.param, prefetch.tensormap in registers).
  if (operand.kind == OperandKind::kLabel) {
    for (uint32_t i = 0; i < entry_.parameters.size(); ++i) {
      if (entry_.parameters[i].name != operand.name || depth > 0) continue;
      operand.kind = OperandKind::kVariable;
      operand.index = i;
      operand.bits = 1;
    }
  }
  if (!tokens_.TakeIf('|')) return operand;
  Operand pair;
  pair.kind = OperandKind::kPair;
  pair.position = operand.position;
  pair.parts.push_back(std::move(operand));
  HLOSCOPE_ASSIGN_OR_RETURN(Operand second, ParseOperand(depth + 1));
  pair.parts.push_back(std::move(second));
  return pair;
}

}  // namespace hloscope::ptx
