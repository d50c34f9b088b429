// Debug information first, then the names that emitters of XLA leave in values and blocks.
#include "core/analysis/align/code_lines.h"

#include <algorithm>
#include <map>

#include "core/dump/readers/code_reader.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::analysis {
namespace {

struct ReasonRow {
  std::string_view key;
  float confidence;
  std::string_view text;
};
// Of debug information the confidence is shared among the instructions of that source line.
constexpr ReasonRow kCodeLineReasons[] = {
    {"debug_info", 0.9f, "debug information names its source line"},
    {"value_name", 0.8f, "the value has the name of the instruction"},
    {"derived_name", 0.7f, "the value is named after the instruction"},
    {"block_name", 0.6f, "it is in a block named after the instruction"},
};
const ReasonRow& RowOf(CodeLineReason reason) {
  return kCodeLineReasons[static_cast<size_t>(reason)];
}

bool IsNamePart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || c == '$';
}

// The name at the start of `text`, in quotes or without.
std::string_view TakeCodeName(std::string_view& text) {
  std::string_view name;
  if (text.starts_with('"')) {
    size_t quote = std::min(text.find('"', 1), text.size());
    name = text.substr(1, quote - 1);
    text.remove_prefix(std::min(quote + 1, text.size()));
    return name;
  }
  auto end = std::ranges::find_if_not(text, IsNamePart);
  name = text.substr(0, static_cast<size_t>(end - text.begin()));
  text.remove_prefix(name.size());
  return name;
}

// Whether a value or block called `code` is called as `name` is: exactly, or with words behind.
enum class Likeness : uint8_t { kNone, kDerived, kSame };
Likeness LikenessOf(std::string_view code, std::string_view name) {
  if (code == name) return Likeness::kSame;
  bool derived = code.size() > name.size() + 1 && code.starts_with(name) &&
                 code[name.size()] == '.' &&
                 !(code[name.size() + 1] >= '0' && code[name.size() + 1] <= '9');
  return derived ? Likeness::kDerived : Likeness::kNone;
}

// The path of debug information may lack the folders in front.
bool IsSameFile(std::string_view path, std::string_view other) {
  if (path.size() < other.size()) std::swap(path, other);
  if (other.empty() || !path.ends_with(other)) return false;
  return path.size() == other.size() || other.starts_with('/') ||
         path[path.size() - other.size() - 1] == '/';
}

class Search {
 public:
  Search(const WantedCode& wanted, CodeSigns& signs) : wanted_(wanted), signs_(signs) {}

  void TakeDebugLines(const std::vector<dump::DebugLine>& lines) {
    signs_.debug_info |= !lines.empty();
    const auto sharing = static_cast<float>(std::max(wanted_.sharing, 1));
    for (const dump::DebugLine& line : lines) {
      bool mine = std::ranges::any_of(wanted_.frames, [&](const SourceLine& frame) {
        return frame.line == line.source_line && IsSameFile(frame.file, line.source_file);
      });
      if (mine)
        Keep({line.line, CodeLineReason::kDebugInfo,
              RowOf(CodeLineReason::kDebugInfo).confidence / sharing});
    }
  }

  // `%name = …` and, between `name:` and the next block, all lines.
  void TakeNames(std::string_view text, int32_t first_line, int32_t last_line, bool is_ptx) {
    dump::LineReader lines(text);
    std::string_view line;
    in_block_ = false;
    while (lines.Next(line) && lines.number() <= last_line) {
      if (lines.number() < first_line) continue;
      is_ptx ? TakePtxLine(lines.number(), line) : TakeLlvmLine(lines.number(), line);
    }
  }

  std::vector<CodeLine> Finish() {
    std::vector<CodeLine> found;
    for (const auto& [number, line] : found_) found.push_back(line);
    return found;
  }

 private:
  void TakeLlvmLine(int32_t number, std::string_view line) {
    std::string_view rest = line;
    if (!line.empty() && line.front() != ' ' && line.front() != '}') {
      std::string_view block = TakeCodeName(rest);
      if (rest.starts_with(':')) in_block_ = Like(block) != Likeness::kNone;
    }
    if (in_block_) Keep(number, CodeLineReason::kBlockName);
    rest = dump::TrimStart(line);
    if (!dump::TakeWord(rest, "%")) return;
    std::string_view value = TakeCodeName(rest);
    if (!rest.starts_with(" =")) return;
    Likeness like = Like(value);
    if (like == Likeness::kSame) Keep(number, CodeLineReason::kValueName);
    if (like == Likeness::kDerived) Keep(number, CodeLineReason::kDerivedName);
  }

  // "$L__BB0_3:   // %reduce.5.loop_body"
  void TakePtxLine(int32_t number, std::string_view line) {
    size_t comment = line.find("// %");
    bool label = line.starts_with('$') || line.starts_with("//");
    if (label) in_block_ = false;
    if (label && comment != std::string_view::npos) {
      std::string_view rest = line.substr(comment + 4);
      in_block_ = Like(TakeCodeName(rest)) != Likeness::kNone;
    }
    if (in_block_) Keep(number, CodeLineReason::kBlockName);
  }

  // None too where another instruction's name fits better.
  Likeness Like(std::string_view code) {
    Likeness mine = LikenessOf(code, wanted_.name);
    bool theirs = false;
    for (std::string_view other : wanted_.others) {
      Likeness like = LikenessOf(code, other);
      if (like == Likeness::kNone) continue;
      signs_.value_names = true;
      theirs |= like > mine || (like == mine && other.size() > wanted_.name.size());
    }
    if (mine != Likeness::kNone) signs_.value_names = true;
    return theirs ? Likeness::kNone : mine;
  }

  void Keep(int32_t number, CodeLineReason reason) {
    Keep({number, reason, RowOf(reason).confidence});
  }
  void Keep(const CodeLine& line) {
    auto [at, is_new] = found_.try_emplace(line.line, line);
    if (!is_new && at->second.confidence < line.confidence) at->second = line;
  }

  const WantedCode& wanted_;
  CodeSigns& signs_;
  bool in_block_ = false;
  std::map<int32_t, CodeLine> found_;
};

// Positions in `functions` of the one that begins at `first_line` and of all that it calls.
std::vector<size_t> CalledFrom(std::string_view text,
                               const std::vector<dump::CodeFunction>& functions,
                               int32_t first_line) {
  std::map<std::string_view, size_t> by_name;
  std::vector<size_t> reached;
  std::vector<bool> seen(functions.size());
  for (size_t k = 0; k < functions.size(); ++k) {
    by_name.emplace(functions[k].name, k);
    if (functions[k].first_line == first_line) reached.push_back(k);
  }
  std::vector<std::vector<size_t>> calls(functions.size());
  dump::LineReader lines(text);
  std::string_view line;
  size_t inside = 0;
  while (lines.Next(line)) {
    while (inside < functions.size() && functions[inside].last_line < lines.number()) ++inside;
    if (inside == functions.size()) break;
    size_t at = line.find('@');
    bool is_body = lines.number() > functions[inside].first_line;
    if (!is_body || at == std::string_view::npos || line.find("call ") >= at) continue;
    std::string_view rest = line.substr(at + 1);
    auto called = by_name.find(TakeCodeName(rest));
    if (called != by_name.end()) calls[inside].push_back(called->second);
  }
  for (size_t k : reached) seen[k] = true;
  for (size_t k = 0; k < reached.size(); ++k) {
    for (size_t called : calls[reached[k]]) {
      if (seen[called]) continue;
      seen[called] = true;
      reached.push_back(called);
    }
  }
  return reached;
}

WantedCode WantedOf(const hlo::Module& module, hlo::InstructionId id) {
  WantedCode wanted{module.name(id), {}, SourceFramesOf(module, id), 0};
  const SourceLine own = SourceLineOf(module, id);
  const std::vector<hlo::InstructionId> kernels = KernelInstructions(module);
  for (uint32_t k = 0; k < kernels.size(); ++k) {
    if (kernels[k] != kernels[id.index]) continue;
    if (k != id.index) wanted.others.push_back(module.name(hlo::InstructionId(k)));
    if (SourceLineOf(module, hlo::InstructionId(k)) == own) ++wanted.sharing;
  }
  return wanted;
}

}  // namespace

std::string_view KeyOf(CodeLineReason reason) { return RowOf(reason).key; }
std::string_view Describe(CodeLineReason reason) { return RowOf(reason).text; }

std::vector<CodeLine> FindLlvmLines(std::string_view text, const dump::TextRange& range,
                                    const WantedCode& wanted, CodeSigns& signs) {
  Search search(wanted, signs);
  const std::vector<dump::CodeFunction> functions = dump::ReadLlvm(text, false);
  for (size_t k : CalledFrom(text, functions, range.first_line)) {
    const dump::CodeFunction& function = functions[k];
    search.TakeDebugLines(dump::ReadLlvmLines(text, function.first_line, function.last_line));
    search.TakeNames(text, function.first_line + 1, function.last_line, false);
  }
  return search.Finish();
}

std::vector<CodeLine> FindPtxLines(std::string_view text, const dump::TextRange& range,
                                   const WantedCode& wanted, CodeSigns& signs) {
  Search search(wanted, signs);
  search.TakeDebugLines(dump::ReadPtxLines(text, range.first_line, range.last_line));
  search.TakeNames(text, range.first_line + 1, range.last_line, true);
  return search.Finish();
}

std::vector<InstructionCode> FindInstructionCode(const dump::DumpModel& model,
                                                 const dump::Kernel& kernel,
                                                 const hlo::Module& module, hlo::InstructionId id) {
  std::vector<InstructionCode> found;
  const WantedCode wanted = WantedOf(module, id);
  for (const dump::TextRange* range : {&kernel.ptx, &kernel.llvm, &kernel.llvm_unoptimized}) {
    if (!range->found() || range->first_line == 0) continue;
    auto file = model.OpenFile(range->file);
    if (!file) continue;
    InstructionCode code{range->file, {}, {}};
    code.lines = range == &kernel.ptx ? FindPtxLines(file->bytes(), *range, wanted, code.signs)
                                      : FindLlvmLines(file->bytes(), *range, wanted, code.signs);
    found.push_back(std::move(code));
  }
  return found;
}

}  // namespace hloscope::analysis
