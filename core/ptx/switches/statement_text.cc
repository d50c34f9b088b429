// Read by hand: what the parser made of a text has lost how it was written.
#include "core/ptx/switches/statement_text.h"

#include <cctype>
#include <charconv>

#include "core/ptx/module.h"

namespace hloscope::ptx {

bool IsNameCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' ||
         c == '.' || c == ':' || c == '@' || c == '!';
}

std::vector<TextToken> TokensOf(std::string_view text, size_t at) {
  std::vector<TextToken> tokens;
  while (at < text.size() && text[at] != ';') {
    const char c = text[at];
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at;
      continue;
    }
    TextToken token;
    token.at = at;
    const bool is_negative = c == '-' && at + 1 < text.size() &&
                             std::isdigit(static_cast<unsigned char>(text[at + 1])) != 0;
    if (IsNameCharacter(c) || is_negative) {
      size_t end = at + 1;
      while (end < text.size() && IsNameCharacter(text[end])) ++end;
      token.length = end - at;
      token.kind = TextToken::Kind::kName;
      const std::string_view word = text.substr(at, token.length);
      if (word.starts_with("0f") || word.starts_with("0F") || word.starts_with("0d") ||
          word.starts_with("0D")) {
        token.kind = TextToken::Kind::kFloat;
      } else if (is_negative || std::isdigit(static_cast<unsigned char>(c)) != 0) {
        const std::string_view digits =
            word.ends_with("U") ? word.substr(0, word.size() - 1) : word;
        const bool is_hex = digits.starts_with("0x");
        const auto parsed =
            std::from_chars(digits.data() + (is_hex ? 2 : 0), digits.data() + digits.size(),
                            token.value, is_hex ? 16 : 10);
        if (parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size())
          token.kind = TextToken::Kind::kInteger;
      }
      at = end;
    } else {
      token.length = 1;
      ++at;
    }
    tokens.push_back(token);
  }
  return tokens;
}

Result<std::string> TextOfEntry(const Module& module, const std::string& entry) {
  HLOSCOPE_TRY(KernelOf(module, entry));
  std::string text = module.text();
  size_t at = 0;
  while ((at = text.find(".entry", at)) != std::string::npos) {
    const size_t name = text.find_first_not_of(" \t\r\n", at + 6);
    const size_t end_of_name = text.find_first_of(" \t\r\n(", name);
    const size_t open = text.find('{', at);
    if (name == std::string::npos || open == std::string::npos) break;
    int depth = 0;
    size_t end = open;
    for (; end < text.size(); ++end) {
      depth += text[end] == '{' ? 1 : text[end] == '}' ? -1 : 0;
      if (depth == 0) break;
    }
    if (end == text.size()) break;
    if (text.compare(name, end_of_name - name, entry) != 0) {
      size_t begin = text.rfind('\n', at);
      begin = begin == std::string::npos ? 0 : begin + 1;
      for (size_t i = begin; i <= end; ++i) {
        if (text[i] != '\n') text[i] = ' ';
      }
    }
    at = end + 1;
  }
  return text;
}

}  // namespace hloscope::ptx
