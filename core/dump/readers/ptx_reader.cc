// PTX: entries with their directives, shared and local memory, `.loc` lines.
#include <algorithm>
#include <map>

#include "core/dump/readers/code_reader.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

// "128, 1, 1", missing ones are 1.
std::optional<Extent3> TakeExtents(std::string_view text) {
  Extent3 extents = {1, 1, 1};
  for (size_t k = 0; k < extents.size(); ++k) {
    text = TrimStart(text);
    auto number = TakeNumber(text);
    if (!number || *number < 0) return k == 0 ? std::nullopt : std::optional(extents);
    extents[k] = *number;
    text = TrimStart(text);
    if (!TakeWord(text, ",")) break;
  }
  return extents;
}

std::optional<int64_t> Product(const Extent3& extents) {
  int64_t product = 1;
  for (int64_t extent : extents) {
    if (__builtin_mul_overflow(product, extent, &product)) return std::nullopt;
  }
  return product;
}

void ReadDirective(std::string_view line, CodeFunction& function) {
  bool required = TakeWord(line, ".reqntid");
  if (required || TakeWord(line, ".maxntid")) {
    std::optional<Extent3> threads = TakeExtents(line);
    if (!threads) return;
    if (required) function.launch.threads = threads;
    function.max_threads = Product(*threads);
  } else if (TakeWord(line, ".maxnreg")) {
    line = TrimStart(line);
    function.registers = TakeNumber(line);
  } else if (TakeWord(line, ".reqnctapercluster")) {
    function.launch.cluster = TakeExtents(line);
  }
}

// ".shared .align 4 .b8 shared_0[4224];" adds its bytes.
void ReadVariable(std::string_view line, CodeFunction& function) {
  bool shared = TakeWord(line, ".shared");
  if (!shared && !TakeWord(line, ".local")) return;
  size_t type = line.rfind(" .");
  size_t bracket = line.find('[');
  if (type == std::string_view::npos || bracket == std::string_view::npos) return;
  std::string_view bits = line.substr(type + 3);  // "8 shared_0[4224];" of .b8
  auto width = TakeNumber(bits);
  std::string_view count_text = line.substr(bracket + 1);
  auto count = TakeNumber(count_text);
  if (!width || !count || *count < 0 || *width < 8 || *width > 128) return;
  std::optional<int64_t>& total = shared ? function.shared_bytes : function.local_bytes;
  int64_t bytes = 0, sum = total.value_or(0);
  if (__builtin_mul_overflow(*count, *width / 8, &bytes)) return;
  if (!__builtin_add_overflow(sum, bytes, &sum)) total = sum;
}

class PtxScan {
 public:
  explicit PtxScan(std::string_view text) : lines_(text) {}

  std::vector<CodeFunction> Run() {
    std::string_view line;
    while (lines_.Next(line)) {
      line = TrimStart(line);
      size_t entry = line.starts_with('.') ? line.find(".entry ") : std::string_view::npos;
      if (entry != std::string_view::npos) ReadEntry(line.substr(entry + 7));
    }
    return std::move(functions_);
  }

 private:
  void ReadEntry(std::string_view after) {
    CodeFunction function;
    after = TrimStart(after);
    function.name = after.substr(0, after.find_first_of("( \t"));
    function.first_line = lines_.number();
    function.is_kernel = true;
    ReadBody(function);
    function.last_line = lines_.number();
    functions_.push_back(std::move(function));
  }

  // Up to the brace that closes the body. Vector operands have braces too, in pairs on one line.
  void ReadBody(CodeFunction& function) {
    int64_t depth = 0;
    bool opened = false, reads_block_index = false;
    std::string_view line;
    while (lines_.Next(line)) {
      std::string_view trimmed = TrimStart(line);
      if (!opened) ReadDirective(trimmed, function);
      ReadVariable(trimmed, function);
      std::string_view code = line.substr(0, line.find("//"));
      for (char c : code) depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      opened |= depth > 0;
      reads_block_index |= code.find("ctaid") != std::string_view::npos ||
                           code.find("call") != std::string_view::npos;
      if (opened && depth <= 0) {
        function.reads_block_index = reads_block_index;
        return;
      }
      // A prototype has no body.
      if (!opened && trimmed == ";") return;
    }
    function.is_cut = true;
  }

  LineReader lines_;
  std::vector<CodeFunction> functions_;
};

}  // namespace

std::vector<CodeFunction> ReadPtx(std::string_view text) { return PtxScan(text).Run(); }

std::vector<DebugLine> ReadPtxLines(std::string_view text, int32_t first_line, int32_t last_line) {
  std::map<int64_t, std::string> files;
  std::vector<DebugLine> found;
  LineReader lines(text);
  std::string_view line;
  while (lines.Next(line)) {
    line = TrimStart(line);
    if (TakeWord(line, ".file")) {
      line = TrimStart(line);
      auto number = TakeNumber(line);
      if (number) files[*number] = Between(line, "\"", "\"");
    } else if (TakeWord(line, ".loc")) {
      line = TrimStart(line);
      auto file = TakeNumber(line);
      line = TrimStart(line);
      auto source = TakeNumber(line);
      bool inside = lines.number() >= first_line && lines.number() <= last_line;
      if (!file || !source || !inside || *source < 0 || *source > INT32_MAX) continue;
      found.push_back({lines.number(), std::to_string(*file), static_cast<int32_t>(*source)});
    }
  }
  // `.file` directives stand at the end of the text.
  for (DebugLine& at : found) {
    std::string_view number = at.source_file;
    auto file = files.find(TakeNumber(number).value_or(-1));
    at.source_file = file == files.end() ? std::string() : file->second;
  }
  return found;
}

}  // namespace hloscope::dump
