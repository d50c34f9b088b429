// The spelling of JSON values.
#include "core/base/json.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/text.h"

namespace hloscope {
namespace {

void AppendControl(std::string& out, char c) {
  switch (c) {
    case '\n':
      out += "\\n";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\r':
      out += "\\r";
      return;
    default:
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
  }
}

// U+2028 and U+2029 end a line in JavaScript, and some readers of JSON Lines split on them.
bool IsLineSeparator(uint32_t code) { return code == 0x2028 || code == 0x2029 || code == 0x85; }

void AppendCharacter(std::string& out, std::string_view character, uint32_t code) {
  const char c = character[0];
  if (c == '"' || c == '\\') {
    out += '\\';
    out += c;
  } else if (code < 0x20 || code == 0x7F) {
    AppendControl(out, c);
  } else if (IsLineSeparator(code)) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", code);
  } else {
    out += character;
  }
}

void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
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
