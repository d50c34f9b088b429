#include "core/debug/record/flag_text.h"

#include <fstream>
#include <sstream>

namespace hloscope::debug {

std::optional<std::string> FlagValue(const std::vector<std::string>& flags, std::string_view name) {
  std::optional<std::string> value;
  for (const std::string& flag : flags) {
    std::string_view word(flag);
    while (word.starts_with('-')) word.remove_prefix(1);
    if (word == name) value = "true";
    if (word.starts_with(name) && word.size() > name.size() && word[name.size()] == '=')
      value = word.substr(name.size() + 1);
  }
  return value;
}

// As xla/parse_flags_from_env.cc reads them: a value may stand in quotes,
// where a backslash takes the next character as it is.
std::vector<std::string> FlagWords(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\r";
  std::vector<std::string> out;
  size_t at = 0;
  while ((at = text.find_first_not_of(kBlanks, at)) != std::string_view::npos) {
    std::string& word = out.emplace_back();
    while (at < text.size() && !kBlanks.contains(text[at])) {
      const char c = text[at++];
      word += c;
      if (c != '=' || at == text.size() || (text[at] != '"' && text[at] != '\'')) continue;
      const char quote = text[at++];
      for (; at < text.size() && text[at] != quote; ++at) {
        if (text[at] == '\\' && at + 1 < text.size()) ++at;
        word += text[at];
      }
      if (at < text.size()) ++at;
      break;
    }
  }
  return out;
}

std::string FlagsText(const std::vector<std::string>& flags) {
  std::string out;
  for (const std::string& flag : flags) {
    if (!out.empty()) out += ' ';
    const size_t value = flag.find('=') + 1;
    if (value == 0 || flag.find_first_of(" \t\n\r'\"", value) == std::string::npos) {
      out += flag;
      continue;
    }
    out += flag.substr(0, value) + '"';
    for (const char c : std::string_view(flag).substr(value)) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    out += '"';
  }
  return out;
}

std::vector<std::string> FlagsOf(const std::string& xla_flags) {
  const size_t first = xla_flags.find_first_not_of(" \t\n");
  if (first == std::string::npos) return {};
  if (xla_flags[first] == '-') return FlagWords(xla_flags);
  std::ifstream file(xla_flags);
  std::stringstream text;
  text << file.rdbuf();
  return FlagWords(text.str());
}

}  // namespace hloscope::debug
