// GraphDef in protobuf's text format, without recursion. After an error reading goes on: what the
// line held besides is left out, its braces still open and close messages.
#include <fmt/format.h>

#include <vector>

#include "core/base/text.h"
#include "core/dump/readers/text_proto_scanner.h"
#include "core/dump/tensorflow/graph_builder.h"
#include "core/dump/tensorflow/graph_losses.h"
#include "core/dump/tensorflow/graph_text_facts.h"
#include "core/dump/tensorflow/graph_text_value.h"

namespace hloscope::dump {
namespace {

constexpr size_t kMaxQuoted = 60;  // bytes of the text in a message
constexpr char kFix[] = "correct it, or let TensorFlow write the graph again";

GraphPlace PlaceOf(const TextProtoToken& token) {
  return {.line = token.line, .column = token.column};
}

std::string QuotedToken(const TextProtoToken& token) {
  if (token.kind == TextProtoTokenKind::kEnd) return "the end of the text";
  return EscapeForTerminal(token.text.substr(0, kMaxQuoted), LineBreaks::kEscape);
}

class GraphTextReader {
 public:
  GraphTextReader(std::string_view text, const Limits& limits, GraphBuilder& builder,
                  GraphLosses& losses)
      : in_(text), limits_(limits), losses_(losses), facts_(builder, losses) {}

  Status Read() {
    Push(nullptr, kGraphMessage, '\0', false);
    while (in_.token().kind != TextProtoTokenKind::kEnd && !has_failed_) {
      if (open_.size() > 1 && in_.token().Is(open_.back().closing)) {
        Close();
      } else {
        ReadField();
      }
    }
    if (has_failed_) {
      Error error{ErrorClass::kInput,
                  fmt::format("messages are nested more than {} deep", limits_.proto_nesting),
                  {},
                  kFix};
      error.place.line = in_.token().line;
      error.place.column = in_.token().column;
      return std::unexpected(std::move(error));
    }
    if (open_.size() > 1) {
      Say(in_.token(), fmt::format("the graph is cut off inside {}", Here()), kFix);
    } else {
      Complain(in_.token(), open_.back().fields.Missing());
    }
    while (!open_.empty()) Pop(false);
    if (!is_graph_) return InputError("not a GraphDef, expected `node {`");
    return {};
  }

 private:
  struct Message {
    OpenGraphMessage fields;
    const GraphField* field;  // whose value it is; null: unknown, or none
    char closing;
    bool is_in_list;  // of messages, in brackets
  };

  void Say(const TextProtoToken& at, const std::string& what, std::string hint = {}) {
    losses_.Add(PlaceOf(at), what, std::move(hint));
  }
  void Complain(const TextProtoToken& at, const std::string& what) {
    if (!what.empty()) Say(at, what);
  }
  std::string_view Here() const {
    const std::string_view message = open_.back().fields.message();
    return message.empty() ? "a message" : message;
  }

  void Push(const GraphField* field, std::string_view message, char closing, bool is_in_list) {
    open_.push_back({OpenGraphMessage(message), field, closing, is_in_list});
    facts_.Open(message);
  }
  void Pop(bool is_whole) {
    facts_.Close(is_whole);
    open_.pop_back();
  }

  // The token at hand is not what the format has there: the rest of `line` is left out.
  void Wrong(std::string_view expected, uint32_t line) {
    const TextProtoToken at = in_.token();
    if (at.kind == TextProtoTokenKind::kWrong) expected = in_.why();
    Say(at, fmt::format("expected {}, got {}", expected, QuotedToken(at)), kFix);
    for (; in_.token().kind != TextProtoTokenKind::kEnd && in_.token().line <= line; in_.Take()) {
      if (in_.token().Is('{') || in_.token().Is('<')) {
        if (!HasRoom()) return;
        Push(nullptr, {}, in_.token().Is('{') ? '}' : '>', false);
      } else if (open_.size() > 1 && in_.token().Is(open_.back().closing)) {
        Pop(true);
      }
    }
  }

  bool HasRoom() {
    has_failed_ |= std::ssize(open_) > limits_.proto_nesting;
    return !has_failed_;
  }

  // The token at hand opens it.
  void Open(const GraphField* field, bool is_in_list) {
    if (!HasRoom()) return;
    const char closing = in_.token().Is('{') ? '}' : '>';
    in_.Take();
    Push(field, field == nullptr ? std::string_view() : field->inner, closing, is_in_list);
    is_graph_ |= open_.size() == 2 && field != nullptr && IsOfGraph(field->name);
  }
  static bool IsOfGraph(std::string_view name) {
    return name == "node" || name == "library" || name == "versions";
  }

  void Close() {
    Complain(in_.token(), open_.back().fields.Missing());
    const bool is_in_list = open_.back().is_in_list;
    const GraphField* const field = open_.back().field;
    const uint32_t line = in_.token().line;
    in_.Take();
    Pop(true);
    if (!is_in_list) return EndField();
    if (in_.TakeIf(',')) return IsOpening() ? Open(field, true) : Wrong("`{`", line);
    if (!in_.TakeIf(']')) return Wrong("`,` or `]`", line);
    EndField();
  }
  bool IsOpening() const { return in_.token().Is('{') || in_.token().Is('<'); }
  void EndField() {
    if (!in_.TakeIf(',')) in_.TakeIf(';');
  }

  // The field of that name. What only the graph itself has ends all messages that are open: a brace
  // was lost.
  const GraphField* Find(const TextProtoToken& name) {
    const std::string_view message = open_.back().fields.message();
    const GraphField* field = FindGraphField(message, name.text);
    if (field != nullptr || open_.size() == 1 || !IsOfGraph(name.text)) return field;
    Say(name, fmt::format("{} is not closed before the next {}", Here(), name.text), kFix);
    while (open_.size() > 1) Pop(true);
    return FindGraphField(kGraphMessage, name.text);
  }

  void ReadField() {
    const TextProtoToken name = in_.token();
    const GraphField* field = nullptr;
    if (name.kind == TextProtoTokenKind::kName) {
      field = Find(name);
      if (field == nullptr && !open_.back().fields.message().empty()) {
        Say(name,
            fmt::format("{} has no field {}, expected {}", Here(), name.text,
                        NamesOfGraphFields(open_.back().fields.message())),
            "it is left out");
      }
      in_.Take();
    } else if (name.Is('}') || name.Is('>')) {
      in_.Take();
      return Say(name, "an unmatched brace", kFix);
    } else if (!name.Is('[')) {
      return Wrong("the name of a field", name.line);
    } else if (!TakeExtension()) {
      return;
    }
    if (field != nullptr) Complain(name, open_.back().fields.Add(*field));
    const bool has_colon = in_.TakeIf(':');
    const bool is_message = field != nullptr && field->kind == GraphFieldKind::kMessage;
    if (IsOpening()) {
      if (field != nullptr && !is_message)
        Say(name, fmt::format("{} of {} is a value, not a message", field->name, Here()), kFix);
      return Open(is_message ? field : nullptr, false);
    }
    if (!has_colon && !(is_message && in_.token().Is('[')))
      return Wrong(is_message ? "`{`" : field == nullptr ? "`:` or `{`" : "`:`", name.line);
    in_.token().Is('[') ? ReadList(field, name) : ReadValue(field, name);
  }

  // "[name.of/an.extension]", which no message of a graph has. False: the rest of the line is left
  // out.
  bool TakeExtension() {
    const TextProtoToken at = in_.token();
    in_.Take();
    while (in_.token().kind == TextProtoTokenKind::kName || in_.token().Is('.') ||
           in_.token().Is('/'))
      in_.Take();
    if (!in_.TakeIf(']')) {
      Wrong("`]` after the name of an extension", at.line);
      return false;
    }
    Say(at, fmt::format("{} has no extensions", Here()), "it is left out");
    return true;
  }

  void ReadList(const GraphField* field, const TextProtoToken& name) {
    if (field != nullptr && !field->repeated)
      Say(name, fmt::format("{} of {} is one value, not a list", field->name, Here()), kFix);
    in_.Take();
    if (in_.TakeIf(']')) return EndField();
    if (IsOpening()) {
      const bool is_message = field != nullptr && field->kind == GraphFieldKind::kMessage;
      if (field != nullptr && !is_message)
        Say(name, fmt::format("{} of {} is a value, not a message", field->name, Here()), kFix);
      return Open(is_message ? field : nullptr, true);
    }
    do {
      if (!TakeValue(field, name)) return;
    } while (in_.TakeIf(','));
    if (!in_.TakeIf(']')) return Wrong("`,` or `]`", name.line);
    EndField();
  }

  void ReadValue(const GraphField* field, const TextProtoToken& name) {
    if (TakeValue(field, name)) EndField();
  }

  // False: there was none, and the rest of the line is left out.
  bool TakeValue(const GraphField* field, const TextProtoToken& name) {
    const std::optional<GraphTextValue> value = TakeGraphTextValue(in_);
    if (!value) {
      Wrong("a value", name.line);
      return false;
    }
    if (field == nullptr) return true;
    const std::string_view expected = WrongGraphTextValue(field->kind, *value);
    if (expected.empty()) {
      facts_.Take(*field, *value, PlaceOf(name));
    } else {
      Say(value->first,
          fmt::format("{}: expected {}, got {}{}", field->name, expected,
                      value->is_negative ? "-" : "",
                      value->kind == TextProtoTokenKind::kString
                          ? QuotedToken(value->first)
                          : EscapeForTerminal(value->word.substr(0, kMaxQuoted))),
          kFix);
    }
    return true;
  }

  TextProtoScanner in_;
  const Limits& limits_;
  GraphLosses& losses_;
  GraphTextFacts facts_;
  std::vector<Message> open_;  // outermost first
  bool is_graph_ = false;      // some field is one of a GraphDef
  bool has_failed_ = false;    // messages are nested too deeply
};

}  // namespace

Status ReadGraphText(std::string_view text, const Limits& limits, GraphBuilder& builder,
                     GraphLosses& losses) {
  return GraphTextReader(text, limits, builder, losses).Read();
}

}  // namespace hloscope::dump
