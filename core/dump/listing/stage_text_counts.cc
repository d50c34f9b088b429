// Counting instructions line by line, without building them.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/dump/listing/stage_counts.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

// Tables in front of the computations; their rows begin with a number.
constexpr std::string_view kTables[] = {"FileNames", "FunctionNames", "FileLocations",
                                        "StackFrames"};

bool IsNamePart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-';
}

bool IsNumeral(char c) { return c >= '0' && c <= '9'; }

// Whether all bytes are printable ASCII or white space, eight at a time.
bool IsPlainAscii(std::string_view text) {
  constexpr uint64_t kOnes = 0x0101010101010101, kHigh = 0x8080808080808080;
  auto is_plain = [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t'; };
  while (text.size() >= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, text.data(), sizeof word);
    bool odd = (((word - kOnes * 0x20) | word) & kHigh) != 0;
    if (odd && !std::ranges::all_of(text.substr(0, sizeof word), is_plain)) return false;
    text.remove_prefix(sizeof word);
  }
  return std::ranges::all_of(text, is_plain);
}

std::string_view TakeName(std::string_view& text) {
  auto end = std::ranges::find_if_not(text, IsNamePart);
  std::string_view name = text.substr(0, static_cast<size_t>(end - text.begin()));
  text.remove_prefix(name.size());
  return name;
}

// Takes a group in parentheses off the start of `text`; false if it is not closed.
bool SkipGroup(std::string_view& text) {
  int64_t depth = 0;
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '(') ++depth;
    if (text[k] != ')' || --depth != 0) continue;
    text.remove_prefix(k + 1);
    return true;
  }
  return false;
}

class Counter {
 public:
  std::optional<StageCounts> Count(std::string_view text) {
    if (!IsPlainAscii(text)) return std::nullopt;
    LineReader lines(text);
    std::string_view line;
    if (!lines.Next(line) || !TakeHeader(line)) return std::nullopt;
    while (lines.Next(line)) {
      if (!(inside_ ? TakeInside(line) : TakeOutside(line))) return std::nullopt;
    }
    bool whole = !inside_ && entries_ == 1;
    return whole ? std::optional(counts_) : std::nullopt;
  }

 private:
  bool TakeHeader(std::string_view line) {
    if (!TakeWord(line, "HloModule ")) return false;
    counts_.module_name = TakeName(line);
    return !counts_.module_name.empty() && (line.empty() || line.front() == ',');
  }

  bool TakeOutside(std::string_view line) {
    if (line.empty()) {
      in_table_ = false;
      return true;
    }
    if (in_table_) return IsNumeral(line.front());
    if (line.ends_with('{')) return TakeComputation(line);
    in_table_ = std::ranges::find(kTables, line) != std::end(kTables);
    return in_table_;
  }

  bool TakeComputation(std::string_view line) {
    if (TakeWord(line, "ENTRY ")) ++entries_;
    TakeWord(line, "%");
    if (TakeName(line).empty() || !(line.starts_with(" (") || line == " {")) return false;
    ++counts_.computations;
    inside_ = true;
    return true;
  }

  bool TakeInside(std::string_view line) {
    if (line.starts_with('}')) {
      inside_ = false;
      return FinishComputation(line.substr(1));
    }
    if (!TakeWord(line, "  ")) return false;
    TakeWord(line, "ROOT ");
    TakeWord(line, "%");
    if (TakeName(line).empty() || !TakeWord(line, " = ")) return false;
    ++counts_.instructions;
    return TakeShape(line) && TakeCall(line);
  }

  static bool TakeShape(std::string_view& line) {
    if (line.starts_with('(')) {
      if (!SkipGroup(line)) return false;
    } else {
      size_t space = line.find(' ');
      if (space == std::string_view::npos) return false;
      line.remove_prefix(space);
    }
    return TakeWord(line, " ");
  }

  bool TakeCall(std::string_view line) {
    std::string_view opcode = TakeName(line);
    if (opcode.empty() || !line.starts_with('(') || IsSugar(opcode)) return false;
    if (opcode == "fusion") ++counts_.fusions;
    return opcode == "constant" || TakeOperands(line);
  }

  // "add-start" stands for two instructions in two computations.
  static bool IsSugar(std::string_view opcode) {
    constexpr std::string_view kStarts[] = {
        "all-gather-start", "all-reduce-start", "collective-permute-start",
        "copy-start",       "async-start",      "async-update"};
    bool start = opcode.ends_with("-start") || opcode.ends_with("-update");
    return start && std::ranges::find(kStarts, opcode) == std::end(kStarts);
  }

  // Operands are names, perhaps with shapes in front. `%t#1` stands for a get-tuple-element, and
  // one that holds a call of its own for an instruction more.
  bool TakeOperands(std::string_view line) {
    int64_t depth = 0, braces = 0;
    for (size_t k = 0; k < line.size(); ++k) {
      char c = line[k];
      if (c == '{') ++braces;
      if (c == '}') --braces;
      if (c == '(') {
        if (depth++ > 0 && braces == 0 && IsNamePart(line[k - 1])) return false;
      } else if (c == ')') {
        if (--depth == 0) return true;
      } else if (c == '#' && braces == 0) {
        if (!TakeElement(line, k)) return false;
      }
    }
    return false;
  }

  // Notes the element whose `#` stands at `at`, with the tuple's name in front.
  bool TakeElement(std::string_view line, size_t at) {
    size_t begin = at, end = at + 1;
    while (begin > 0 && (IsNamePart(line[begin - 1]) || line[begin - 1] == '#')) --begin;
    while (end < line.size() && IsNumeral(line[end])) ++end;
    if (begin == at || end == at + 1) return false;
    elements_.push_back(line.substr(begin, end - begin));
    return true;
  }

  bool FinishComputation(std::string_view rest) {
    std::ranges::sort(elements_);
    auto [first, last] = std::ranges::unique(elements_);
    counts_.instructions += first - elements_.begin();
    elements_.clear();
    return rest.empty() || rest.starts_with(", execution_thread=");
  }

  StageCounts counts_;
  std::vector<std::string_view> elements_;  // of tuples, as operands of this computation
  bool in_table_ = false, inside_ = false;
  int entries_ = 0;
};

}  // namespace

std::optional<StageCounts> CountInText(std::string_view text) { return Counter().Count(text); }

}  // namespace hloscope::dump
