// A value of a field in a GraphDef's text: taken from the tokens, checked against the field's kind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/dump/readers/text_proto_scanner.h"
#include "core/dump/tensorflow/graph_losses.h"

namespace hloscope::dump {

struct GraphTextValue {
  TextProtoToken first;                                // its sign, or itself
  TextProtoTokenKind kind = TextProtoTokenKind::kEnd;  // of what follows a sign
  bool is_negative = false;
  std::string_view word;     // a name or number without its sign
  std::string text;          // of strings, one after another
  bool is_unescaped = true;  // false: a string has an escape that protobuf does not know

  // As protobuf reads it; nullopt: it is no whole number that fits into 64 bits.
  std::optional<int64_t> Integer() const;
  std::optional<bool> Bool() const;
  std::optional<int32_t> Type() const;  // of TensorFlow's types; 0: DT_INVALID
  bool IsNumber() const;
};

// Takes strings, or a word with its sign; nullopt, with what is no value not taken: neither.
std::optional<GraphTextValue> TakeGraphTextValue(TextProtoScanner& in);

// What is expected of a field of that kind instead; empty: the value is one.
std::string_view WrongGraphTextValue(GraphFieldKind kind, const GraphTextValue& value);

}  // namespace hloscope::dump
