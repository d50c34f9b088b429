// The text format of protobuf, without recursion: an open message is an entry of a stack.
#include "core/dump/readers/text_proto.h"

#include <algorithm>
#include <charconv>

#include "core/hlo/proto/debug_mark.h"
#include "core/hlo/text/text_cursor.h"

namespace hloscope::dump {
namespace {

constexpr size_t kMaxDepth = 100;

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text), at_(DebugMarkLength(text)) {
    line_ += static_cast<uint32_t>(std::ranges::count(text.substr(0, at_), '\n'));
  }
  uint32_t line() const { return line_; }
  char Peek() {
    SkipSpace();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool AtEnd() {
    SkipSpace();
    return at_ >= text_.size();
  }
  bool Take(char c) {
    if (Peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  std::string_view Name() {
    if (Take('[')) {
      const size_t end = text_.find(']', at_);
      if (end == text_.npos) return {};
      const std::string_view name = text_.substr(at_, end - at_);
      at_ = end + 1;
      return name;
    }
    return Word();
  }
  // A number, an enumerator, or strings one after another.
  std::string_view Value() {
    const char c = Peek();
    if (c != '"' && c != '\'') return Word();
    const size_t begin = at_;
    size_t end = at_;
    while (Peek() == '"' || Peek() == '\'') {
      const char quote = text_[at_++];
      while (at_ < text_.size() && text_[at_] != quote) {
        if (text_[at_] == '\n') return {};
        at_ += text_[at_] == '\\' ? 2 : 1;
      }
      if (at_ >= text_.size()) return {};
      end = ++at_;
    }
    return text_.substr(begin, end - begin);
  }

 private:
  std::string_view Word() {
    SkipSpace();
    const size_t begin = at_;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool part = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '+' || c == '.' ||
                        c == '/';
      if (!part) break;
      ++at_;
    }
    return text_.substr(begin, at_ - begin);
  }
  void SkipSpace() {
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '\n') {
        ++line_;
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }
  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
};

}  // namespace

TextProto::TextProto(std::string_view text) {
  Scanner in(text);
  std::vector<uint32_t> open;  // messages, outermost first
  std::vector<char> closing;
  auto close = [&] {
    fields_[open.back()].end = static_cast<uint32_t>(fields_.size());
    open.pop_back();
    closing.pop_back();
  };
  while (!in.AtEnd()) {
    if (!open.empty() && in.Take(closing.back())) {
      close();
      continue;
    }
    if (in.Take(',') || in.Take(';')) continue;
    Field field{.name = in.Name(), .raw = {}, .line = in.line()};
    if (field.name.empty()) {
      why_ = "expected the name of a field";
      break;
    }
    const bool has_colon = in.Take(':');
    const bool is_list = has_colon && in.Take('[');
    if (in.Peek() == '{' || in.Peek() == '<') {
      if (is_list || open.size() == kMaxDepth) {
        why_ = is_list ? "lists of messages are not read" : "messages are nested too deep";
        break;
      }
      closing.push_back(in.Take('{') ? '}' : (in.Take('<'), '>'));
      field.is_message = true;
      open.push_back(static_cast<uint32_t>(fields_.size()));
      fields_.push_back(field);
      continue;
    }
    if (!has_colon) {
      why_ = "expected `:` or `{` after the name of a field";
      break;
    }
    bool is_last = is_list && in.Take(']');
    while (!is_last) {
      field.raw = in.Value();
      if (field.raw.empty()) break;
      fields_.push_back(field);
      is_last = !is_list || in.Take(']') || !in.Take(',');
    }
    if (!is_last) {
      why_ = "expected a value";
      break;
    }
  }
  if (why_.empty() && !open.empty()) why_ = "a message is not closed: the text is cut off";
  if (!why_.empty()) why_line_ = in.line();
  while (!open.empty()) close();
}

std::string TextProto::Decode(std::string_view raw) {
  if (!raw.starts_with('"') && !raw.starts_with('\'')) return std::string(raw);
  std::string out;
  for (size_t begin = 0; (begin = raw.find_first_of("\"'", begin)) != raw.npos;) {
    const char quote = raw[begin++];
    size_t end = begin;
    while (end < raw.size() && raw[end] != quote) end += raw[end] == '\\' ? 2 : 1;
    end = std::min(end, raw.size());
    const std::string_view part = raw.substr(begin, end - begin);
    out += hlo::Unescape(part).value_or(std::string(part));
    begin = end + 1;
  }
  return out;
}

const TextProto::Field* TextProto::Message::Find(std::string_view name) const {
  for (uint32_t k = begin_; k < end_;) {
    const Field& field = proto_->fields_[k];
    if (field.name == name) return &field;
    k = field.is_message ? field.end : k + 1;
  }
  return nullptr;
}

std::string TextProto::Message::Text(std::string_view name) const {
  const Field* field = Find(name);
  return field == nullptr ? std::string() : Decode(field->raw);
}

std::optional<int64_t> TextProto::Message::Int(std::string_view name) const {
  const Field* field = Find(name);
  if (field == nullptr) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] =
      std::from_chars(field->raw.data(), field->raw.data() + field->raw.size(), value);
  if (error != std::errc() || end != field->raw.data() + field->raw.size()) return std::nullopt;
  return value;
}

std::optional<double> TextProto::Message::Float(std::string_view name) const {
  const Field* field = Find(name);
  if (field == nullptr) return std::nullopt;
  double value = 0;
  const auto [end, error] =
      std::from_chars(field->raw.data(), field->raw.data() + field->raw.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

TextProto::Message TextProto::Message::Get(std::string_view name) const {
  const Field* field = Find(name);
  if (field == nullptr || !field->is_message) return {proto_, 0, 0};
  const auto k = static_cast<uint32_t>(field - proto_->fields_.data());
  return {proto_, k + 1, field->end};
}

}  // namespace hloscope::dump
