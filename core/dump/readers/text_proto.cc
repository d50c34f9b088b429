// The text format of protobuf, without recursion: an open message is an entry of a stack.
#include "core/dump/readers/text_proto.h"

#include <charconv>

#include "core/dump/readers/text_proto_scanner.h"

namespace hloscope::dump {
namespace {

constexpr size_t kMaxDepth = 100;

// From the first byte of one token to the last of another.
std::string_view Through(const TextProtoToken& first, const TextProtoToken& last) {
  const char* const end = last.text.data() + last.text.size();
  return {first.text.data(), static_cast<size_t>(end - first.text.data())};
}

// A name, or what stands in brackets: an extension or the type of an Any. Empty: neither.
std::string_view TakeFieldName(TextProtoScanner& in) {
  TextProtoToken first = in.token(), last = first;
  if (first.kind == TextProtoTokenKind::kName) {
    in.Take();
    return first.text;
  }
  if (!in.TakeIf('[')) return {};
  for (first = in.token(); !in.token().Is(']'); in.Take()) {
    if (in.token().kind == TextProtoTokenKind::kEnd || in.token().line != first.line) return {};
    last = in.token();
  }
  in.Take();
  return last.Is('[') ? std::string_view() : Through(first, last);
}

// A number, an enumerator, or strings one after another; empty: none of them.
std::string_view TakeFieldValue(TextProtoScanner& in) {
  using enum TextProtoTokenKind;
  const TextProtoToken first = in.token();
  TextProtoToken last;
  if (first.kind == kString) {
    for (; in.token().kind == kString; in.Take()) last = in.token();
    return Through(first, last);
  }
  in.TakeIf('-');
  last = in.token();
  if (last.kind != kName && last.kind != kInteger && last.kind != kFloat) return {};
  in.Take();
  return Through(first, last);
}

}  // namespace

TextProto::TextProto(std::string_view text) {
  TextProtoScanner in(text);
  std::vector<uint32_t> open;  // messages, outermost first
  std::vector<char> closing;
  auto close = [&] {
    fields_[open.back()].end = static_cast<uint32_t>(fields_.size());
    open.pop_back();
    closing.pop_back();
  };
  while (in.token().kind != TextProtoTokenKind::kEnd) {
    if (!open.empty() && in.TakeIf(closing.back())) {
      close();
      continue;
    }
    if (in.TakeIf(',') || in.TakeIf(';')) continue;
    const uint32_t line = in.token().line;
    Field field{.name = TakeFieldName(in), .raw = {}, .line = line};
    if (field.name.empty()) {
      why_ = "expected the name of a field";
      break;
    }
    const bool has_colon = in.TakeIf(':');
    const bool is_list = has_colon && in.TakeIf('[');
    if (in.token().Is('{') || in.token().Is('<')) {
      if (is_list || open.size() == kMaxDepth) {
        why_ = is_list ? "lists of messages are not read" : "messages are nested too deep";
        break;
      }
      closing.push_back(in.token().Is('{') ? '}' : '>');
      in.Take();
      field.is_message = true;
      open.push_back(static_cast<uint32_t>(fields_.size()));
      fields_.push_back(field);
      continue;
    }
    if (!has_colon) {
      why_ = "expected `:` or `{` after the name of a field";
      break;
    }
    bool is_last = is_list && in.TakeIf(']');
    while (!is_last) {
      field.raw = TakeFieldValue(in);
      if (field.raw.empty()) break;
      fields_.push_back(field);
      is_last = !is_list || in.TakeIf(']') || !in.TakeIf(',');
    }
    if (!is_last) {
      why_ = "expected a value";
      break;
    }
  }
  if (why_.empty() && !open.empty()) why_ = "a message is not closed: the text is cut off";
  if (!why_.empty()) why_line_ = in.token().line;
  while (!open.empty()) close();
}

std::string TextProto::Decode(std::string_view raw) {
  if (!raw.starts_with('"') && !raw.starts_with('\'')) return std::string(raw);
  std::string out;
  for (TextProtoScanner in(raw); in.token().kind == TextProtoTokenKind::kString; in.Take()) {
    const size_t before = out.size();
    const std::string_view token = in.token().text;
    if (AppendTextProtoString(token, out)) continue;
    out.resize(before);
    out += token.substr(1, token.size() - 2);
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
