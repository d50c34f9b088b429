// Values as protobuf's TextFormat takes them.
#include "core/dump/tensorflow/graph_text_value.h"

#include <charconv>

#include "core/base/strings.h"
#include "core/base/text.h"
#include "core/dump/tensorflow/graph_builder.h"
#include "core/dump/tensorflow/tensorflow_graph.h"

namespace hloscope::dump {

std::optional<int64_t> GraphTextValue::Integer() const {
  if (kind != TextProtoTokenKind::kInteger) return std::nullopt;
  std::string_view digits = word;
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    digits.remove_prefix(2);
    base = 16;
  } else if (digits.size() > 1 && digits.front() == '0') {
    base = 8;
  }
  uint64_t number = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, number, base);
  constexpr uint64_t kLeast = uint64_t{1} << 63;  // of negative numbers, without the sign
  if (read.ec != std::errc() || read.ptr != end || (is_negative && number > kLeast))
    return std::nullopt;
  return static_cast<int64_t>(is_negative ? 0 - number : number);
}

std::optional<bool> GraphTextValue::Bool() const {
  if (is_negative) return std::nullopt;
  if (kind == TextProtoTokenKind::kName) {
    if (word == "true" || word == "True" || word == "t") return true;
    if (word == "false" || word == "False" || word == "f") return false;
    return std::nullopt;
  }
  const std::optional<int64_t> number = Integer();
  if (!number || *number < 0 || *number > 1) return std::nullopt;
  return *number == 1;
}

std::optional<int32_t> GraphTextValue::Type() const {
  if (kind == TextProtoTokenKind::kName && !is_negative) {
    const int32_t type = TensorFlowTypeOf(word);
    return type != 0 || word == "DT_INVALID" ? std::optional(type) : std::nullopt;
  }
  const std::optional<int64_t> number = Integer();
  if (!number || *number < 0 || *number > INT32_MAX) return std::nullopt;
  const auto type = static_cast<int32_t>(*number);
  return type == 0 || TensorFlowTypeOf("DT_" + TensorFlowTypeName(type)) == type
             ? std::optional(type)
             : std::nullopt;
}

bool GraphTextValue::IsNumber() const {
  if (kind == TextProtoTokenKind::kFloat) return true;
  if (kind == TextProtoTokenKind::kInteger)
    return word == "0" || word.front() != '0';  // neither octal nor hexadecimal
  const std::string name = AsciiStrToLower(word);
  return kind == TextProtoTokenKind::kName &&
         (name == "inf" || name == "infinity" || name == "nan");
}

std::optional<GraphTextValue> TakeGraphTextValue(TextProtoScanner& in) {
  GraphTextValue value;
  value.first = in.token();
  if (value.first.kind == TextProtoTokenKind::kString) {
    value.kind = TextProtoTokenKind::kString;
    for (; in.token().kind == TextProtoTokenKind::kString; in.Take())
      value.is_unescaped &= AppendTextProtoString(in.token().text, value.text);
    return value;
  }
  value.is_negative = in.TakeIf('-');
  value.kind = in.token().kind;
  if (value.kind != TextProtoTokenKind::kName && value.kind != TextProtoTokenKind::kInteger &&
      value.kind != TextProtoTokenKind::kFloat)
    return std::nullopt;
  value.word = in.token().text;
  in.Take();
  return value;
}

std::string_view WrongGraphTextValue(GraphFieldKind kind, const GraphTextValue& value) {
  switch (kind) {
    using enum GraphFieldKind;
    case kString:
    case kBytes:
      if (value.kind != TextProtoTokenKind::kString) return "a quoted string";
      if (!value.is_unescaped) return "escapes of protobuf";
      return kind == kBytes || IsUtf8(value.text) ? "" : "text in UTF-8";
    case kBool:
      return value.Bool() ? "" : "true or false";
    case kInteger:
    case kFixed64:
      return value.Integer() ? "" : "a whole number";
    case kFloat:
    case kDouble:
      return value.IsNumber() ? "" : "a number";
    case kType:
      return value.Type() ? "" : "a type of TensorFlow";
    case kFullType:
      return (value.kind == TextProtoTokenKind::kName && value.word.starts_with("TFT_")) ||
                     value.Integer()
                 ? ""
                 : "a full type of TensorFlow";
    case kMessage:
      return "`{`";
  }
  return "";
}

}  // namespace hloscope::dump
