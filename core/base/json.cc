#include "core/base/json.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/escape.h"

namespace hloscope {
namespace {

// As one or two UTF-16 units.
void AppendUnicode(std::string& out, uint32_t code) {
  if (code > 0xFFFF) {
    const uint32_t rest = code - 0x10000;
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", 0xD800 + (rest >> 10));
    code = 0xDC00 + (rest & 0x3FF);
  }
  fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
}

void AppendCharacter(std::string& out, std::string_view character, uint32_t code) {
  const char c = character[0];
  if (c == '"' || c == '\\') {
    out += '\\';
    out += c;
  } else if (c == '\n' || c == '\t' || c == '\r') {
    out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
  } else if (IsUnsafeCharacter(code)) {
    AppendUnicode(out, code);
  } else {
    out += character;
  }
}

bool IsPlain(char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < text.size() && IsPlain(text[plain])) ++plain;
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const auto [code, length] = DecodeUtf8(text);
    if (length == 0) {
      fmt::format_to(std::back_inserter(out), "\\\\x{:02x}", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
      continue;
    }
    AppendCharacter(out, text.substr(0, length), code);
    text.remove_prefix(length);
  }
  out += '"';
}

}  // namespace

std::string JsonString(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

void JsonWriter::Separate() {
  if (needs_comma_) out_ += ',';
  needs_comma_ = true;
}

JsonWriter& JsonWriter::Open(char bracket) {
  Separate();
  out_ += bracket;
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::Close(char bracket) {
  out_ += bracket;
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::Key(std::string_view key) {
  Separate();
  AppendJsonString(out_, key);
  out_ += ':';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::Value(std::string_view text) {
  Separate();
  AppendJsonString(out_, text);
  return *this;
}

JsonWriter& JsonWriter::Word(std::string_view word) {
  Separate();
  out_ += word;
  return *this;
}

JsonWriter& JsonWriter::Value(double number) {
  const std::string text = ShortestText(number);
  return std::isfinite(number) ? Word(text) : Value(std::string_view(text));
}

JsonWriter& JsonWriter::Value(float number) {
  const std::string text = ShortestText(number);
  return std::isfinite(number) ? Word(text) : Value(std::string_view(text));
}

JsonWriter& JsonWriter::Null() { return Word("null"); }

JsonWriter& JsonWriter::Signed(int64_t number) { return Word(fmt::format_int(number).c_str()); }
JsonWriter& JsonWriter::Unsigned(uint64_t number) { return Word(fmt::format_int(number).c_str()); }

}  // namespace hloscope
