// LLVM IR: defined functions, their attributes and annotations, `!dbg` lines.
#include <algorithm>
#include <map>

#include "core/dump/readers/code_reader.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

// The name after '@': plain or quoted with \XX escapes, which are decoded. Taken off `text`.
std::string TakeName(std::string_view& text) {
  std::string name;
  if (!TakeWord(text, "\"")) {
    size_t end = std::min(text.find_first_of(" (,)"), text.size());
    name = text.substr(0, end);
    text.remove_prefix(end);
    return name;
  }
  auto digit = [](char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
  };
  while (!text.empty() && text.front() != '"') {
    if (text.size() >= 3 && text[0] == '\\' && digit(text[1]) >= 0 && digit(text[2]) >= 0) {
      name += static_cast<char>(digit(text[1]) * 16 + digit(text[2]));
      text.remove_prefix(3);
      continue;
    }
    name += text.front();
    text.remove_prefix(1);
  }
  TakeWord(text, "\"");
  return name;
}

std::optional<Extent3> CommaExtents(std::string_view text) {
  Extent3 extents = {1, 1, 1};
  for (size_t k = 0; k < extents.size(); ++k) {
    auto number = TakeNumber(text);
    if (!number || *number < 0) return k == 0 ? std::nullopt : std::optional(extents);
    extents[k] = *number;
    if (!TakeWord(text, ",")) break;
  }
  return extents;
}

void Bound(CodeFunction& function, const Extent3& threads) {
  int64_t product = 1;
  for (int64_t extent : threads) {
    if (__builtin_mul_overflow(product, extent, &product)) return;
  }
  function.max_threads = product;
}

constexpr std::string_view kBlockIndex = "@llvm.nvvm.read.ptx.sreg.ctaid.";

class LlvmScan {
 public:
  LlvmScan(std::string_view text, bool for_gpu) : lines_(text), for_gpu_(for_gpu) {}

  std::vector<CodeFunction> Run() {
    std::string_view line;
    while (lines_.Next(line)) {
      if (line.starts_with("define ")) {
        ReadDefine(line);
      } else if (TakeWord(line, "attributes #")) {
        ReadAttributes(line);
      } else if (line.starts_with('!') && line.find('@') != std::string_view::npos) {
        ReadAnnotation(line);
      } else if (line.starts_with('!') && line.find("!{i32 0, i32 ") != std::string_view::npos) {
        ReadRange(line);
      }
    }
    for (size_t k = 0; k < functions_.size(); ++k) ApplyAttributes(functions_[k], groups_[k]);
    for (const BlockRange& range : ranges_) {
      if (!range.is_known) functions_[range.function].launch.blocks.reset();
    }
    return std::move(functions_);
  }

 private:
  void ReadDefine(std::string_view line) {
    CodeFunction function;
    size_t at = line.find('@');
    if (at == std::string_view::npos) return;
    std::string_view linkage = line.substr(0, at);
    bool local = linkage.find(" internal ") != std::string_view::npos ||
                 linkage.find(" private ") != std::string_view::npos ||
                 linkage.find(" linkonce") != std::string_view::npos;
    function.is_kernel = for_gpu_ ? linkage.find("ptx_kernel") != std::string_view::npos ||
                                        linkage.find("amdgpu_kernel") != std::string_view::npos
                                  : !local;
    std::string_view rest = line.substr(at + 1);
    function.name = TakeName(rest);
    function.first_line = lines_.number();
    size_t hash = rest.rfind(") ");
    hash = hash == std::string_view::npos ? hash : rest.find('#', hash);
    std::string_view group = hash == std::string_view::npos ? "" : rest.substr(hash + 1);
    groups_.push_back(TakeNumber(group).value_or(-1));
    // The body ends at the first brace in the first column.
    std::string_view body = lines_.rest();
    size_t end = body.starts_with('}') ? 0 : body.find("\n}");
    function.is_cut = end == std::string_view::npos;
    size_t skipped = function.is_cut ? body.size() : end == 0 ? 1 : end + 2;
    std::string_view passed = body.substr(0, skipped);
    if (for_gpu_) ReadBlocks(passed, function);
    lines_.Skip(skipped, static_cast<int32_t>(std::ranges::count(passed, '\n')));
    // The brace's own line is counted when its end is read.
    function.last_line = function.is_cut ? lines_.number() : lines_.number() + 1;
    functions_.push_back(std::move(function));
  }

  // XLA says how many blocks there are as the range of the index of a block:
  // `call range(i32 0, 32) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()`, or `… ctaid.x(), !range !12`.
  // A function that reads an index without a range has an unknown number of blocks.
  void ReadBlocks(std::string_view body, CodeFunction& function) {
    for (size_t at = body.find(kBlockIndex); at != std::string_view::npos;
         at = body.find(kBlockIndex, at + 1)) {
      const size_t line = body.rfind('\n', at) + 1;  // 0 where it is the first
      std::string_view before = body.substr(line, at - line);
      std::string_view after = body.substr(at + kBlockIndex.size());
      after = after.substr(0, after.find('\n'));
      if (after.empty() || after[0] < 'x' || after[0] > 'z') continue;
      BlockRange read = {functions_.size(), static_cast<size_t>(after[0] - 'x')};
      if (const size_t range = before.find("range(i32 0, "); range != std::string_view::npos) {
        before.remove_prefix(range + std::string_view("range(i32 0, ").size());
        const auto end = TakeNumber(before);
        read.is_known = end && SetBlocks(function, read.axis, *end);
      } else if (const size_t node = after.find("!range !"); node != std::string_view::npos) {
        after.remove_prefix(node + std::string_view("!range !").size());
        read.node = TakeNumber(after).value_or(-1);
      }
      ranges_.push_back(read);
    }
  }

  // False where the range is what the intrinsic itself allows, or none.
  static bool SetBlocks(CodeFunction& function, size_t axis, int64_t blocks) {
    constexpr Extent3 kMaxGrid = {2147483647, 65535, 65535};
    if (blocks <= 0 || blocks >= kMaxGrid[axis]) return false;
    Extent3 all = function.launch.blocks.value_or(Extent3{1, 1, 1});
    all[axis] = blocks;
    function.launch.blocks = all;
    return true;
  }

  // !12 = !{i32 0, i32 32}
  void ReadRange(std::string_view line) {
    line.remove_prefix(1);
    const auto node = TakeNumber(line);
    if (!node || !TakeWord(line, " = !{i32 0, i32 ")) return;
    const auto end = TakeNumber(line);
    if (!end) return;
    for (BlockRange& range : ranges_) {
      if (range.node != *node) continue;
      range.is_known = SetBlocks(functions_[range.function], range.axis, *end);
    }
  }

  void ReadAttributes(std::string_view line) {
    auto group = TakeNumber(line);
    if (group) attributes_[*group] = line;
  }

  // !3 = !{ptr @name, !"reqntidx", i32 256}
  void ReadAnnotation(std::string_view line) {
    size_t at = line.find('@');
    std::string_view rest = line.substr(at + 1);
    std::string name = TakeName(rest);
    auto function = std::ranges::find(functions_, name, &CodeFunction::name);
    if (function == functions_.end()) return;
    while (true) {
      size_t mark = rest.find("!\"");
      if (mark == std::string_view::npos) return;
      rest.remove_prefix(mark + 2);
      size_t quote = std::min(rest.find('"'), rest.size());
      std::string_view key = rest.substr(0, quote);
      rest.remove_prefix(quote);
      size_t value_at = rest.find(" i32 ");
      if (value_at == std::string_view::npos) return;
      rest.remove_prefix(value_at + 5);
      auto value = TakeNumber(rest);
      if (value && *value >= 0) Annotate(*function, key, *value);
    }
  }

  static void Annotate(CodeFunction& function, std::string_view key, int64_t value) {
    if (key == "kernel") function.is_kernel = value == 1;
    if (key == "maxnreg") function.registers = value;
    bool required = key.starts_with("reqntid");
    if (!required && !key.starts_with("maxntid")) return;
    size_t axis = key.ends_with('x') ? 0 : key.ends_with('y') ? 1 : 2;
    Extent3 threads = function.launch.threads.value_or(Extent3{1, 1, 1});
    threads[axis] = value;
    Bound(function, threads);
    if (required) function.launch.threads = threads;
  }

  void ApplyAttributes(CodeFunction& function, int64_t group) {
    auto found = attributes_.find(group);
    if (found == attributes_.end()) return;
    std::string_view text = found->second;
    if (auto threads = CommaExtents(Between(text, "\"nvvm.reqntid\"=\"", "\""))) {
      function.launch.threads = threads;
      Bound(function, *threads);
    } else if (auto bound = CommaExtents(Between(text, "\"nvvm.maxntid\"=\"", "\""))) {
      Bound(function, *bound);
    } else if (auto flat =
                   CommaExtents(Between(text, "\"amdgpu-flat-work-group-size\"=\"", "\""))) {
      function.max_threads = (*flat)[1];
    }
    if (auto cluster = CommaExtents(Between(text, "\"nvvm.cluster_dim\"=\"", "\"")))
      function.launch.cluster = cluster;
    std::string_view registers = Between(text, "\"nvvm.maxnreg\"=\"", "\"");
    if (auto number = TakeNumber(registers)) function.registers = number;
  }

  // A read of the index of a block.
  struct BlockRange {
    size_t function = 0, axis = 0;
    int64_t node = -1;  // metadata that comes later and has its range
    bool is_known = false;
  };

  LineReader lines_;
  bool for_gpu_;
  std::vector<BlockRange> ranges_;
  std::vector<CodeFunction> functions_;
  std::vector<int64_t> groups_;  // of attributes, for each function
  std::map<int64_t, std::string_view> attributes_;
};

// The number after `key` in a metadata node: "line: 12", "scope: !7".
std::optional<int64_t> FieldOf(std::string_view node, std::string_view key) {
  size_t at = node.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = node.substr(at + key.size());
  return TakeNumber(rest);
}

// "!12 = …" nodes by number.
using Nodes = std::map<int64_t, std::string_view>;

Nodes ReadNodes(std::string_view text) {
  Nodes nodes;
  LineReader lines(text);
  std::string_view line;
  while (lines.Next(line)) {
    if (!TakeWord(line, "!")) continue;
    auto number = TakeNumber(line);
    if (number && TakeWord(line, " = ")) nodes[*number] = line;
  }
  return nodes;
}

// The file of a scope: its own, or that of a scope around it.
std::string FileOf(const Nodes& nodes, int64_t scope) {
  constexpr int kScopes = 64;
  for (int k = 0; k < kScopes; ++k) {
    auto node = nodes.find(scope);
    if (node == nodes.end()) return {};
    std::string_view text = node->second;
    if (text.find("DIFile(") != std::string_view::npos)
      return std::string(Between(text, "filename: \"", "\""));
    auto next = FieldOf(text, "file: !");
    if (!next) next = FieldOf(text, "scope: !");
    if (!next) return {};
    scope = *next;
  }
  return {};
}

}  // namespace

std::vector<CodeFunction> ReadLlvm(std::string_view text, bool for_gpu) {
  return LlvmScan(text, for_gpu).Run();
}

std::vector<DebugLine> ReadLlvmLines(std::string_view text, int32_t first_line, int32_t last_line) {
  std::vector<DebugLine> found;
  if (text.find("!dbg !") == std::string_view::npos) return found;
  Nodes nodes = ReadNodes(text);
  LineReader lines(text);
  std::string_view line;
  while (lines.Next(line) && lines.number() <= last_line) {
    if (lines.number() < first_line) continue;
    auto id = FieldOf(line, "!dbg !");
    if (!id) continue;
    auto node = nodes.find(*id);
    if (node == nodes.end()) continue;
    auto source = FieldOf(node->second, "line: ");
    auto scope = FieldOf(node->second, "scope: !");
    if (!source || *source < 0 || *source > INT32_MAX) continue;
    found.push_back({lines.number(), scope ? FileOf(nodes, *scope) : std::string(),
                     static_cast<int32_t>(*source)});
  }
  return found;
}

}  // namespace hloscope::dump
