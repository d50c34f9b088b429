// Line by line; what is not understood is passed over.
#include "core/backends/sass/sass_text.h"

#include <charconv>
#include <concepts>

namespace hloscope::replay {
namespace {

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

void ForEachLine(std::string_view text, const std::invocable<std::string_view> auto& visit) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    visit(Trimmed(text.substr(0, end)));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

template <typename T>
std::optional<T> NumberAt(std::string_view text, int base = 10) {
  T number{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number, base);
  return read.ec == std::errc() ? std::optional(number) : std::nullopt;
}

std::string_view After(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  return at == std::string_view::npos ? std::string_view() : text.substr(at + key.size());
}

// The number that stands before `unit`: "40 registers".
std::optional<int64_t> NumberBefore(std::string_view text, std::string_view unit) {
  const size_t at = text.find(unit);
  if (at == std::string_view::npos) return std::nullopt;
  size_t first = at;
  while (first > 0 && text[first - 1] >= '0' && text[first - 1] <= '9') --first;
  return NumberAt<int64_t>(text.substr(first, at - first));
}

// "/*00a0*/  FMUL R5, R0, R0 ;  /* 0x0000000000057220 */".
std::optional<SassLine> InstructionIn(std::string_view line) {
  if (!line.starts_with("/*")) return std::nullopt;
  const size_t close = line.find("*/");
  if (close == std::string_view::npos) return std::nullopt;
  const std::optional<int64_t> offset = NumberAt<int64_t>(line.substr(2, close - 2), 16);
  std::string_view text = line.substr(close + 2);
  text = Trimmed(text.substr(0, text.find("/*")));
  if (text.ends_with(';')) text = Trimmed(text.substr(0, text.size() - 1));
  if (!offset || text.empty()) return std::nullopt;
  return SassLine{*offset, std::string(text), 0};
}

class SassReader {
 public:
  explicit SassReader(std::string_view kernel) : kernel_(kernel) {}

  void Read(std::string_view line) {
    if (line.starts_with("//---")) {
      Enter(Trimmed(line.substr(line.find_first_not_of("/-"))), ".text.");
    } else if (line.starts_with("Function :")) {
      Enter(Trimmed(line.substr(10)), "");
    } else if (inside_) {
      ReadInside(line);
    }
  }
  std::vector<SassLine> Take() { return std::move(lines_); }

 private:
  // "…text.NAME -----": a section or function begins.
  void Enter(std::string_view name, std::string_view prefix) {
    name = name.substr(0, name.find(' '));
    inside_ = name.starts_with(prefix) && name.substr(prefix.size()) == kernel_;
    ptx_line_ = 0;
  }
  void ReadInside(std::string_view line) {
    if (line.starts_with("//## File")) {
      // Other files are those that PTX itself was made from.
      const bool is_ptx = line.find(".nv_debug_ptx_txt") != std::string_view::npos;
      const std::string_view number = After(line, "\", line ");
      if (is_ptx) ptx_line_ = NumberAt<int32_t>(number).value_or(0);
    } else if (std::optional<SassLine> one = InstructionIn(line)) {
      one->ptx_line = ptx_line_;
      lines_.push_back(*std::move(one));
    } else if (line.starts_with(".L") && line.ends_with(':')) {
      lines_.push_back({-1, std::string(line), 0});
    }
  }

  const std::string_view kernel_;
  bool inside_ = false;
  int32_t ptx_line_ = 0;
  std::vector<SassLine> lines_;
};

// "Used 40 registers, used 1 barriers, 4096 bytes smem".
void ReadUsed(std::string_view line, KernelResources& out) {
  out.registers = NumberBefore(line, " registers");
  out.barriers = NumberBefore(line, " barriers");
  // ptxas leaves out what is none.
  out.shared_bytes = NumberBefore(line, " bytes smem").value_or(0);
}

// "REG:11 STACK:0 SHARED:0 LOCAL:0 CONSTANT[0]:544".
void ReadUsage(std::string_view line, KernelResources& out) {
  out.registers = NumberAt<int64_t>(After(line, "REG:"));
  out.stack_bytes = NumberAt<int64_t>(After(line, "STACK:"));
  out.shared_bytes = NumberAt<int64_t>(After(line, "SHARED:"));
}

}  // namespace

std::vector<SassLine> ReadSass(std::string_view printed, std::string_view kernel) {
  SassReader reader(kernel);
  ForEachLine(printed, [&](std::string_view line) { reader.Read(line); });
  return reader.Take();
}

KernelResources ReadResources(std::string_view printed, std::string_view kernel) {
  KernelResources out;
  bool inside = false;
  ForEachLine(printed, [&](std::string_view line) {
    if (const std::string_view entry = After(line, "Compiling entry function '"); !entry.empty()) {
      inside = entry.substr(0, entry.find('\'')) == kernel;
    } else if (const std::string_view function = After(line, "Function properties for ");
               !function.empty()) {
      inside = Trimmed(function) == kernel;
    } else if (line.starts_with("Function ")) {
      std::string_view name = line.substr(9);
      if (name.ends_with(':')) name.remove_suffix(1);
      inside = name == kernel;
    } else if (!inside) {
      return;
    } else if (line.find("bytes spill stores") != std::string_view::npos) {
      out.stack_bytes = NumberBefore(line, " bytes stack frame");
      out.spill_store_bytes = NumberBefore(line, " bytes spill stores");
      out.spill_load_bytes = NumberBefore(line, " bytes spill loads");
    } else if (line.find(": Used ") != std::string_view::npos) {
      ReadUsed(line, out);
    } else if (line.starts_with("REG:")) {
      ReadUsage(line, out);
    }
  });
  return out;
}

std::string TargetOfPtx(std::string_view ptx) {
  std::string target;
  ForEachLine(ptx, [&](std::string_view line) {
    if (!target.empty() || !line.starts_with(".target ")) return;
    line = Trimmed(line.substr(8));
    target = line.substr(0, line.find_first_of(", \t/"));
  });
  return target;
}

}  // namespace hloscope::replay
