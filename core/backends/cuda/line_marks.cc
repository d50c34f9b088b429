// Line by line: LLVM writes an instruction a line, and calls over several.
#include "core/backends/cuda/line_marks.h"

#include <fmt/format.h>

namespace hloscope::replay::cuda {
namespace {

// Without its comment and the spaces around it.
std::string_view CodeIn(std::string_view line) {
  line = line.substr(0, line.find("//"));
  const size_t first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") + 1 - first);
}

// Labels end with a colon, directives begin with a dot; a block may begin in the line of its
// instructions.
bool IsInstruction(std::string_view code) {
  if (code.empty() || code.ends_with(':')) return false;
  if (code[0] == '{') return code.size() > 1;
  return std::string_view(".}()").find(code[0]) == std::string_view::npos;
}

}  // namespace

std::string WithLineMarks(std::string_view ptx) {
  std::string out;
  out.reserve(ptx.size() * 2);
  int depth = 0;
  bool begins = true;  // the line before ended what it began
  for (size_t number = 1; !ptx.empty(); ++number) {
    const size_t end = ptx.find('\n');
    const std::string_view line = ptx.substr(0, end);
    ptx.remove_prefix(end == std::string_view::npos ? ptx.size() : end + 1);
    const std::string_view code = CodeIn(line);
    if (depth > 0 && begins && IsInstruction(code)) out += fmt::format("\t.loc\t1 {} 0\n", number);
    out += line;
    out += '\n';
    if (code.starts_with(".address_size")) out += ".file\t1 \"kernels.ptx\"\n";
    for (const char c : code) depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (!code.empty()) begins = std::string_view(";{}:").contains(code.back());
  }
  return out;
}

}  // namespace hloscope::replay::cuda
