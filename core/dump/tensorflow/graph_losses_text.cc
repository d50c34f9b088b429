// Losses of a GraphDef in text: TensorFlow writes one field or brace a line.
#include <fmt/format.h>

#include <charconv>

#include "core/base/text.h"
#include "core/dump/readers/line_reader.h"
#include "core/dump/tensorflow/graph_builder.h"
#include "core/dump/tensorflow/graph_losses.h"

namespace hloscope::dump {
namespace {

constexpr size_t kMaxQuoted = 60;  // bytes of a line in a message

bool IsName(std::string_view text) {
  return !text.empty() &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

bool IsOctal(char c) { return c >= '0' && c <= '7'; }

// Takes the quotes and escapes away; false: it is no string as protobuf prints it.
bool Unescape(std::string_view value, std::string& out) {
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return false;
  value = value.substr(1, value.size() - 2);
  constexpr std::string_view kEscapes = "nrt\"'\\", kMeant = "\n\r\t\"'\\";
  for (size_t at = 0; at < value.size(); ++at) {
    if (value[at] == '"' || value[at] == '\n') return false;
    if (value[at] != '\\') {
      out += value[at];
      continue;
    }
    if (++at == value.size()) return false;
    const size_t escape = kEscapes.find(value[at]);
    if (escape != std::string_view::npos) {
      out += kMeant[escape];
    } else if (at + 2 < value.size() && value[at] <= '3' && IsOctal(value[at]) &&
               IsOctal(value[at + 1]) && IsOctal(value[at + 2])) {
      out += static_cast<char>((value[at] - '0') * 64 + (value[at + 1] - '0') * 8 +
                               (value[at + 2] - '0'));
      at += 2;
    } else {
      return false;
    }
  }
  return true;
}

template <typename Number>
bool IsNumber(std::string_view value) {
  Number number{};
  const auto read = std::from_chars(value.data(), value.data() + value.size(), number);
  return read.ec == std::errc() && read.ptr == value.data() + value.size();
}

// What is expected instead of the value; empty: it is one of the kind. `text` is what a string
// says.
std::string_view WrongValue(GraphFieldKind kind, std::string_view value, std::string& text) {
  switch (kind) {
    using enum GraphFieldKind;
    case kString:
      return Unescape(value, text) && IsUtf8(text) ? "" : "a quoted string";
    case kBytes:
      return Unescape(value, text) ? "" : "a quoted string";
    case kBool:
      return value == "true" || value == "false" ? "" : "true or false";
    case kInteger:
    case kFixed64:
      return IsNumber<int64_t>(value) || IsNumber<uint64_t>(value) ? "" : "a whole number";
    case kFloat:
    case kDouble:
      return IsNumber<double>(value) ? "" : "a number";
    case kType:
      return value == "DT_INVALID" || TensorFlowTypeOf(value) != 0 ? "" : "a type of TensorFlow";
    case kFullType:
      return value.starts_with("TFT_") ? "" : "a full type of TensorFlow";
    case kMessage:
      return "`{`";
  }
  return "";
}

class TextLosses {
 public:
  std::vector<std::string> Find(std::string_view text) {
    LineReader lines(text);
    std::string_view line;
    open_.push_back({OpenGraphMessage(kGraphMessage), {}});
    while (lines.Next(line)) {
      line = Trim(line);
      place_ = fmt::format("line {}", lines.number());
      if (line == "}") {
        Close();
      } else if (line.ends_with('{')) {
        Open(Trim(line.substr(0, line.size() - 1)));
      } else if (!line.empty() && !line.starts_with('#')) {
        Field(line);
      }
    }
    if (open_.size() > 1) {
      Say(fmt::format("the graph is cut off inside {}", Here()));
    } else {
      Complain(open_.front().message.Missing());
    }
    losses_.SetNode({});
    return losses_.Finish();
  }

 private:
  struct Message {
    OpenGraphMessage message;
    std::string name;  // of a node
  };

  void Say(const std::string& what) { losses_.Add(place_, what); }
  void Complain(const std::string& what) {
    if (!what.empty()) Say(what);
  }
  std::string_view Here() const {
    return open_.back().message.message().empty() ? "a message" : open_.back().message.message();
  }
  static std::string Quoted(std::string_view line) {
    return EscapeForTerminal(std::string(line.substr(0, kMaxQuoted)), LineBreaks::kEscape);
  }

  const GraphField* Known(std::string_view name, std::string_view line) {
    const GraphField* field = FindGraphField(open_.back().message.message(), name);
    if (field != nullptr) {
      Complain(open_.back().message.Add(*field));
    } else if (!open_.back().message.message().empty()) {
      Say(IsName(name) ? fmt::format("{} has no field {}", Here(), name)
                       : fmt::format("cannot be read: {}", Quoted(line)));
    }
    return field;
  }

  void Open(std::string_view name) {
    const GraphField* field = Known(name, name);
    if (field != nullptr && field->kind != GraphFieldKind::kMessage)
      Say(fmt::format("{} of {} is a value, not a message", name, Here()));
    open_.push_back({OpenGraphMessage(field == nullptr ? "" : field->inner), {}});
    const std::string_view message = open_.back().message.message();
    if (message == "FunctionDef") losses_.BeginFunction();
    if (message == "NodeDef") losses_.SetNode({});
  }

  void Close() {
    if (open_.size() == 1) return Say("an unmatched brace");
    Complain(open_.back().message.Missing());
    const std::string_view message = open_.back().message.message();
    open_.pop_back();
    if (message == "NodeDef") losses_.SetNode({});
    if (message == "FunctionDef") losses_.EndFunction();
  }

  void Field(std::string_view line) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos)
      return Say(fmt::format("cannot be read: {}", Quoted(line)));
    const GraphField* field = Known(line.substr(0, colon), line);
    if (field == nullptr) return;
    const std::string_view value = Trim(line.substr(colon + 1));
    std::string text;
    const std::string_view expected = WrongValue(field->kind, value, text);
    if (!expected.empty())
      return Say(fmt::format("{}: expected {}, got {}", field->name, expected, Quoted(value)));
    Take(*field, text);
  }

  void Take(const GraphField& field, const std::string& text) {
    if (field.message == "NodeDef" && field.name == "name") {
      losses_.Node(text, place_);
      losses_.SetNode(open_.back().name = text);
    }
    if (field.message == "NodeDef" && field.name == "input")
      losses_.Input(open_.back().name, text, place_);
    if (field.message == "ArgDef" && field.name == "name") losses_.Argument(text);
  }

  GraphLosses losses_;
  std::vector<Message> open_;
  std::string place_;
};

}  // namespace

std::vector<std::string> LossesOfGraphText(std::string_view text) {
  return TextLosses().Find(text);
}

}  // namespace hloscope::dump
