// Assembly of ELF targets: `.globl NAME` announces, `NAME:` begins, `.size NAME` ends a function.
#include <string>
#include <unordered_set>

#include "core/dump/readers/code_reader.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

// The name at the start of `text`, which may stand in quotes.
std::string_view NameIn(std::string_view text) {
  if (TakeWord(text, "\"")) return text.substr(0, text.find('"'));
  return text.substr(0, text.find_first_of(",: \t#"));
}

}  // namespace

std::vector<CodeFunction> ReadAssembly(std::string_view text) {
  std::vector<CodeFunction> functions;
  std::unordered_set<std::string> global;
  bool is_open = false;
  LineReader lines(text);
  std::string_view line;
  while (lines.Next(line)) {
    std::string_view word = TrimStart(line);
    if (word.empty() || (word[0] == '.' && !word.starts_with(".globl") && !is_open)) continue;
    if (TakeWord(word, ".globl")) {
      global.emplace(NameIn(TrimStart(word)));
    } else if (is_open && TakeWord(word, ".size")) {
      if (NameIn(TrimStart(word)) != functions.back().name) continue;
      functions.back().last_line = lines.number();
      functions.back().is_cut = is_open = false;
    } else if (word.size() == line.size()) {  // labels stand in the first column
      std::string name(NameIn(word));
      const size_t end = name.size() + (word[0] == '"' ? 2 : 0);
      if (end >= word.size() || word[end] != ':' || !global.contains(name)) continue;
      CodeFunction& function = functions.emplace_back();
      function.name = std::move(name);
      function.first_line = function.last_line = lines.number();
      function.is_kernel = function.is_cut = is_open = true;
    }
    if (is_open) functions.back().last_line = lines.number();
  }
  return functions;
}

}  // namespace hloscope::dump
