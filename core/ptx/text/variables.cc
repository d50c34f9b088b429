// Declarations of variables: type, alignment, size, initial values.
#include "core/ptx/text/variables.h"

#include <bit>
#include <cstring>

#include "core/base/checked.h"

namespace hloscope::ptx {
namespace {

// The bits of one initial value as a value of `type`.
Result<uint64_t> InitialValue(TokenStream& tokens, Type type) {
  const bool negative = tokens.TakeIf('-');
  const Token token = tokens.Take();
  const bool is_float = RowOf(type).kind == TypeKind::kFloat;
  if (token.kind == TokenKind::kInteger && !is_float) {
    return negative ? 0 - token.value : token.value;
  }
  if (token.kind == TokenKind::kFloat32 && BytesOf(type) == 4 && !negative) return token.value;
  if (token.kind == TokenKind::kFloat64 && BytesOf(type) == 8 && !negative) return token.value;
  return tokens.Fail(token.position, "an initial value that is not a number of its variable's type",
                     "addresses of other variables as initial values are not supported");
}

Status ParseInitial(TokenStream& tokens, Variable& variable) {
  const uint32_t width = std::max(BytesOf(variable.type), 1u);
  const bool braces = tokens.TakeIf('{');
  do {
    if (braces && tokens.token().Is('}')) break;
    if (variable.initial.size() + width > variable.bytes) {
      return tokens.Fail(tokens.token().position, "more initial values than the variable holds",
                         "its size is written in [ ]");
    }
    HLOSCOPE_ASSIGN_OR_RETURN(const uint64_t value, InitialValue(tokens, variable.type));
    for (uint32_t i = 0; i < width; ++i) {
      variable.initial.push_back(static_cast<uint8_t>(i < 8 ? value >> (8 * i) : 0));
    }
  } while (braces && tokens.TakeIf(','));
  if (braces) return tokens.Expect('}', "after the initial values");
  return {};
}

Status ParseAlignment(TokenStream& tokens, uint32_t& align) {
  HLOSCOPE_ASSIGN_OR_RETURN(const Token value,
                            tokens.ExpectKind(TokenKind::kInteger, "an alignment"));
  if (!std::has_single_bit(value.value) || value.value > 4096) {
    return tokens.Fail(value.position, "an alignment that is not a power of two up to 4096",
                       "write one of 1, 2, 4, … 4096");
  }
  align = static_cast<uint32_t>(value.value);
  return {};
}

// Everything before the name: vector width is folded into `element_bytes`.
Status ParseAttributes(TokenStream& tokens, Variable& variable, uint32_t& vector_width) {
  bool has_type = false;
  while (tokens.token().kind == TokenKind::kDirective) {
    const Token directive = tokens.Take();
    const std::string_view text = directive.text.substr(1);
    if (text == "align") {
      uint32_t& align = variable.is_pointer ? variable.pointer_align : variable.align;
      HLOSCOPE_TRY(ParseAlignment(tokens, align));
    } else if (text == "ptr") {
      variable.is_pointer = true;
    } else if (variable.is_pointer && SpaceOf(directive.text).has_value()) {
      continue;  // of what the pointer points to
    } else if (text == "v2" || text == "v4") {
      vector_width = text == "v2" ? 2 : 4;
    } else if (const auto type = TypeOf(text); type.has_value() && BytesOf(*type) > 0) {
      variable.type = *type;
      has_type = true;
    } else {
      return tokens.Fail(directive.position,
                         "`" + std::string(directive.text) + "` in a declaration of a variable",
                         "expected a type, .align, .v2, .v4 or .ptr");
    }
  }
  if (has_type) return {};
  return tokens.Fail(tokens.token().position, "a variable without a type",
                     "write one, such as .b8");
}

// `[4][8]` or `[]`; the number of elements, 0 where a size is not said.
Result<uint64_t> ParseDimensions(TokenStream& tokens) {
  uint64_t count = 1;
  while (tokens.TakeIf('[')) {
    if (tokens.TakeIf(']')) {
      count = 0;
      continue;
    }
    HLOSCOPE_ASSIGN_OR_RETURN(const Token size, tokens.ExpectKind(TokenKind::kInteger, "a size"));
    HLOSCOPE_TRY(tokens.Expect(']', "after a size"));
    const auto product = CheckedMul(count, size.value);
    if (!product.has_value()) {
      return tokens.Fail(size.position, "a variable larger than 64 bits count", "reduce its size");
    }
    count = *product;
  }
  return count;
}

}  // namespace

std::optional<Space> SpaceOf(std::string_view directive) {
  if (directive == ".global") return Space::kGlobal;
  if (directive == ".shared") return Space::kShared;
  if (directive == ".local") return Space::kLocal;
  if (directive == ".const") return Space::kConst;
  if (directive == ".param") return Space::kParam;
  return std::nullopt;
}

Result<Variable> ParseVariable(TokenStream& tokens, Space space, const TextLimits& limits,
                               uint64_t& bytes_so_far) {
  Variable variable;
  variable.space = space;
  uint32_t vector_width = 1;
  HLOSCOPE_TRY(ParseAttributes(tokens, variable, vector_width));
  HLOSCOPE_ASSIGN_OR_RETURN(const Token name, tokens.ExpectKind(TokenKind::kName, "a name"));
  variable.name = name.text;
  variable.position = name.position;
  HLOSCOPE_ASSIGN_OR_RETURN(const uint64_t count, ParseDimensions(tokens));
  const uint64_t element = uint64_t{BytesOf(variable.type)} * vector_width;
  variable.align = std::max(variable.align, static_cast<uint32_t>(element));
  const auto bytes = CheckedMul(count, element);
  if (!bytes.has_value() || *bytes > limits.variable_bytes - bytes_so_far) {
    return tokens.Fail(name.position,
                       "variables of more than " + std::to_string(limits.variable_bytes) + " bytes",
                       "the limit guards against malicious files");
  }
  variable.bytes = *bytes;
  bytes_so_far += *bytes;
  if (tokens.TakeIf('=')) HLOSCOPE_TRY(ParseInitial(tokens, variable));
  return variable;
}

}  // namespace hloscope::ptx
