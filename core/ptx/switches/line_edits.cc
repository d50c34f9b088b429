// Statements are taken apart as text: what is written can be written otherwise.
#include "core/ptx/switches/line_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include "core/ptx/module.h"
#include "core/ptx/switches/statement_text.h"

namespace hloscope::ptx {
namespace {

std::string_view TextAt(std::string_view text, const TextToken& token) {
  return text.substr(token.at, token.length);
}

// Parts of an opcode of which one may be meant where another is written.
constexpr std::string_view kRelated[][6] = {
    {"max", "min"},
    {"add", "sub"},
    {"shl", "shr"},
    {"and", "or", "xor"},
    {"div", "rem"},
    {"lt", "le", "gt", "ge"},
    {"ltu", "leu", "gtu", "geu"},
    {"lo", "ls", "hi", "hs"},
    {"eq", "ne"},
    {"equ", "neu"},
    {"bfly", "down", "up"},
};
// Opcodes that say where, when and whether, not what.
constexpr std::string_view kLeft[] = {
    "ret",      "bra",   "bar",    "barrier", "cvta",      "exit", "griddepcontrol",
    "mbarrier", "fence", "membar", "trap",    "nanosleep", "call", "pragma"};
constexpr size_t kMaxRegisters = 12;  // tried in place of one
constexpr size_t kMaxPool = 24;       // numbers of the kernel
constexpr int64_t kMaxNumber = 1 << 24;
constexpr int kFlippedBits = 24;  // of a floating-point constant, from its sign down

class EditMaker {
 public:
  EditMaker(const Module& module, const Kernel& kernel, std::span<const int64_t> sizes)
      : text_(module.text()) {
    std::vector<size_t> lines{0};
    for (size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] == '\n') lines.push_back(i + 1);
    }
    std::set<std::pair<uint32_t, uint32_t>> seen;
    for (const Instruction& in : kernel.instructions) {
      const Position at = in.position;
      if (at.line == 0 || at.line > lines.size() || !seen.emplace(at.line, at.column).second)
        continue;
      statements_.push_back({at.line, lines[at.line - 1] + at.column - 1, lines[at.line - 1], {}});
    }
    std::ranges::sort(statements_, {}, &Statement::at);
    pool_.insert(sizes.begin(), sizes.end());
    for (Statement& statement : statements_) {
      statement.tokens = TokensOf(text_, statement.at);
      for (const TextToken& token : statement.tokens) {
        if (token.kind == TextToken::Kind::kInteger && token.value > 4 &&
            pool_.size() < sizes.size() + kMaxPool)
          pool_.insert(token.value);
        if (token.kind == TextToken::Kind::kFloat && floats_.size() < kMaxPool)
          floats_.insert(TextAt(text_, token).substr(2));
      }
    }
  }

  std::vector<LineEdit> Run() {
    for (size_t i = 0; i < statements_.size(); ++i) {
      if (statements_[i].tokens.empty()) continue;
      Make(i);
    }
    return std::move(edits_);
  }

 private:
  struct Statement {
    uint32_t line = 0;
    size_t at = 0, line_at = 0;
    std::vector<TextToken> tokens;
  };

  void Add(const Statement& statement, size_t at, size_t length, std::string text,
           uint32_t level = 0) {
    LineEdit edit;
    edit.line = statement.line;
    edit.statement = GuardedAt(statement);
    edit.at = at;
    edit.length = length;
    edit.text = std::move(text);
    edit.level = level;
    edits_.push_back(std::move(edit));
  }

  void Make(size_t number) {
    const Statement& statement = statements_[number];
    const std::string_view form = TextAt(text_, statement.tokens[0]);
    const std::string_view opcode = form.substr(0, form.find('.'));
    if (MayLackBarrier(number)) {
      Add(statement, GuardedAt(statement), 0, "bar.sync 0; ");
      edits_.back().inserts = true;
    }
    if (form.starts_with("ld.param") || std::ranges::find(kLeft, opcode) != std::end(kLeft)) return;
    MakeOpcodes(statement, form);
    MakeNumbers(statement, form);
    MakeOffsets(statement, form);
    MakeOrders(statement, opcode);
    MakeGuards(statement);
    MakeRegisters(number);
  }

  bool IsShared(size_t number) const {
    const Statement& statement = statements_[number];
    return !statement.tokens.empty() &&
           TextAt(text_, statement.tokens[0]).find(".shared") != std::string_view::npos;
  }

  // Before and behind accesses of shared memory, where ways meet and where they part.
  bool MayLackBarrier(size_t number) const {
    const Statement& statement = statements_[number];
    const std::string_view form = TextAt(text_, statement.tokens[0]);
    if (IsShared(number) || form == "bra" || form.starts_with("bra.")) return true;
    if (number == 0) return false;
    const Statement& before = statements_[number - 1];
    const size_t end = text_.find(';', before.at);
    const bool is_target = end < statement.at && text_.substr(end, statement.at - end).find(':') !=
                                                     std::string_view::npos;
    return IsShared(number - 1) || is_target;
  }

  // Where the statement begins, with its guard.
  size_t GuardedAt(const Statement& statement) const {
    size_t at = statement.at;
    while (at > statement.line_at && std::isspace(static_cast<unsigned char>(text_[at - 1])) != 0)
      --at;
    size_t guard = at;
    while (guard > statement.line_at && IsNameCharacter(text_[guard - 1])) --guard;
    return guard < at && text_[guard] == '@' ? guard : statement.at;
  }

  void MakeOpcodes(const Statement& statement, std::string_view form) {
    size_t begin = 0;
    while (begin <= form.size()) {
      const size_t end = std::min(form.find('.', begin), form.size());
      const std::string_view part = form.substr(begin, end - begin);
      for (const auto& group : kRelated) {
        if (std::ranges::find(group, part) == std::end(group)) continue;
        for (const std::string_view other : group) {
          if (other.empty() || other == part) continue;
          Add(statement, statement.at + begin, part.size(), std::string(other));
        }
      }
      begin = end + 1;
    }
  }

  static std::set<int64_t> NumbersNear(int64_t value) {
    std::set<int64_t> near{2 * value, value / 2};
    for (int64_t step = 1; step <= 2 * std::max<int64_t>(std::abs(value), 4); step *= 2) {
      near.insert(value + step);
      near.insert(value - step);
    }
    near.erase(value);
    return near;
  }

  void MakeNumbers(const Statement& statement, std::string_view form) {
    const bool is_shuffle = form.starts_with("shfl");
    int depth = 0;
    for (size_t i = 1; i < statement.tokens.size(); ++i) {
      const TextToken& token = statement.tokens[i];
      if (token.kind == TextToken::Kind::kMark) {
        depth += text_[token.at] == '[' ? 1 : text_[token.at] == ']' ? -1 : 0;
      } else if (token.kind == TextToken::Kind::kFloat) {
        MakeFloat(statement, token);
      } else if (token.kind == TextToken::Kind::kInteger && depth == 0 &&
                 std::abs(token.value) < kMaxNumber) {
        const std::set<int64_t> near = NumbersNear(token.value);
        for (const int64_t value : near) {
          const bool is_likely = is_shuffle || std::abs(value - token.value) == 1 ||
                                 value == 2 * token.value || 2 * value == token.value;
          if (value >= 0 || token.value < 0)
            Add(statement, token.at, token.length, std::to_string(value), is_likely ? 0 : 1);
        }
        for (const int64_t value : pool_) {
          if (value != token.value && !near.contains(value) && !is_shuffle)
            Add(statement, token.at, token.length, std::to_string(value), 2);
        }
        if (is_shuffle) break;  // its distance; not its clamp and its mask
      }
    }
  }

  void MakeFloat(const Statement& statement, const TextToken& token) {
    const std::string_view digits = TextAt(text_, token).substr(2);
    uint64_t bits = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
    if (parsed.ec != std::errc()) return;
    LineEdit edit;
    edit.line = statement.line;
    edit.statement = GuardedAt(statement);
    edit.at = token.at;
    edit.length = token.length;
    edit.is_float = true;
    edit.value = digits.size() == 8
                     ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)))
                     : std::bit_cast<double>(bits);
    edits_.push_back(std::move(edit));
    // What goes with it in jumps, as a number that is added to round, cannot be solved for: one bit
    // otherwise, or another constant of the kernel.
    const std::string_view prefix = TextAt(text_, token).substr(0, 2);
    const auto width = static_cast<int>(4 * digits.size());
    for (int bit = width - 1; bit >= 0 && bit >= width - kFlippedBits; --bit) {
      AddFloat(statement, token, prefix, bits ^ (uint64_t{1} << bit));
    }
    for (const std::string_view other : floats_) {
      uint64_t value = 0;
      std::from_chars(other.data(), other.data() + other.size(), value, 16);
      if (other.size() == digits.size() && value != bits) AddFloat(statement, token, prefix, value);
    }
  }

  void AddFloat(const Statement& statement, const TextToken& token, std::string_view prefix,
                uint64_t bits) {
    Add(statement, token.at, token.length,
        fmt::format("{}{:0{}X}", prefix, bits, token.length - prefix.size()), 2);
  }

  // Addresses: steps of what is accessed.
  void MakeOffsets(const Statement& statement, std::string_view form) {
    int64_t bytes = 4, count = 1;
    for (size_t begin = 0; begin < form.size();) {
      const size_t end = std::min(form.find('.', begin), form.size());
      const std::string_view part = form.substr(begin, end - begin);
      if (part.size() == 2 && part[0] == 'v' && std::isdigit(part[1]) != 0) count = part[1] - '0';
      const size_t digits = part.find_first_of("0123456789");
      if (digits != std::string_view::npos && digits > 0 && digits <= 2 && part[0] != 'v' &&
          std::string_view("bufs").find(part[0]) != std::string_view::npos) {
        const int bits = std::atoi(std::string(part.substr(digits)).c_str());
        if (bits == 8 || bits == 16 || bits == 32 || bits == 64) bytes = bits / 8;
      }
      begin = end + 1;
    }
    for (size_t i = 1; i + 2 < statement.tokens.size(); ++i) {
      if (text_[statement.tokens[i].at] != '[') continue;
      const TextToken& base = statement.tokens[i + 1];
      if (base.kind != TextToken::Kind::kName) continue;
      size_t j = i + 2;
      int64_t offset = 0;
      while (j < statement.tokens.size() && text_[statement.tokens[j].at] != ']') {
        if (statement.tokens[j].kind == TextToken::Kind::kInteger)
          offset = statement.tokens[j].value;
        ++j;
      }
      if (j == statement.tokens.size()) return;
      const size_t behind = base.at + base.length, end = statement.tokens[j].at;
      std::set<int64_t> offsets;
      for (int64_t step = bytes; step <= std::max<int64_t>(4096, 2 * std::abs(offset)); step *= 2) {
        offsets.insert(offset + step);
        offsets.insert(offset - step);
      }
      offsets.insert(offset + count * bytes);
      offsets.insert(offset - count * bytes);
      offsets.insert(0);
      offsets.erase(offset);
      for (const int64_t other : offsets) {
        const int64_t step = std::abs(other - offset);
        const bool is_likely = step == bytes || step == count * bytes;
        Add(statement, behind, end - behind, fmt::format("+{}", other), is_likely ? 0 : 1);
      }
      return;
    }
  }

  // Operands at the top, each from its first token to its last.
  std::vector<std::pair<size_t, size_t>> OperandsOf(const Statement& statement) const {
    std::vector<std::pair<size_t, size_t>> operands;
    int depth = 0;
    bool is_open = false;
    for (size_t i = 1; i < statement.tokens.size(); ++i) {
      const TextToken& token = statement.tokens[i];
      const char c = text_[token.at];
      if (c == ',' && depth == 0 && token.kind == TextToken::Kind::kMark) {
        is_open = false;
        continue;
      }
      if (token.kind == TextToken::Kind::kMark)
        depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
      if (is_open)
        operands.back().second = i;
      else
        operands.emplace_back(i, i);
      is_open = true;
    }
    return operands;
  }

  std::string_view SpanOf(const Statement& statement, std::pair<size_t, size_t> operand) const {
    const TextToken &first = statement.tokens[operand.first],
                    &last = statement.tokens[operand.second];
    return text_.substr(first.at, last.at + last.length - first.at);
  }

  void Swap(const Statement& statement, std::string_view a, std::string_view b) {
    if (a == b) return;
    const auto at = static_cast<size_t>(a.data() - text_.data());
    const auto between =
        std::string_view(a.data() + a.size(), static_cast<size_t>(b.data() - a.data()) - a.size());
    Add(statement, at, a.size() + between.size() + b.size(),
        std::string(b) + std::string(between) + std::string(a));
  }

  // Registers of a fragment or vector, and two sources that do not commute.
  void MakeOrders(const Statement& statement, std::string_view opcode) {
    const auto operands = OperandsOf(statement);
    std::vector<std::string_view> vectors;
    for (const auto& operand : operands) {
      const std::string_view span = SpanOf(statement, operand);
      if (!span.starts_with('{')) continue;
      vectors.push_back(span);
      std::vector<std::string_view> names;
      for (size_t i = operand.first; i <= operand.second; ++i) {
        if (statement.tokens[i].kind == TextToken::Kind::kName)
          names.push_back(TextAt(text_, statement.tokens[i]));
      }
      if (names.size() > 8) continue;
      for (size_t a = 0; a < names.size(); ++a) {
        for (size_t b = a + 1; b < names.size(); ++b) Swap(statement, names[a], names[b]);
      }
    }
    static constexpr std::string_view kOrdered[] = {"sub", "div",  "rem",  "shl",
                                                    "shr", "selp", "setp", "fma"};
    if (operands.size() < 3 || std::ranges::find(kOrdered, opcode) == std::end(kOrdered)) return;
    if (opcode == "fma") {
      if (operands.size() == 4)
        Swap(statement, SpanOf(statement, operands[2]), SpanOf(statement, operands[3]));
      return;
    }
    Swap(statement, SpanOf(statement, operands[1]), SpanOf(statement, operands[2]));
  }

  void MakeGuards(const Statement& statement) {
    const size_t at = GuardedAt(statement);
    if (at == statement.at) {
      for (const std::string& predicate : Near(statement.at, "%p")) {
        Add(statement, at, 0, "@" + predicate + " ", 3);
        Add(statement, at, 0, "@!" + predicate + " ", 3);
      }
      return;
    }
    Add(statement, at, statement.at - at, "");
    const bool is_negated = text_[at + 1] == '!';
    Add(statement, at + 1, is_negated ? 1 : 0, is_negated ? "" : "!");
  }

  static std::string_view PrefixOf(std::string_view name) {
    return name.substr(0, name.find_last_not_of("0123456789") + 1);
  }

  // Registers of that kind that are named just before, nearest first.
  std::vector<std::string> Near(size_t at, std::string_view prefix) const {
    std::vector<std::string> names;
    auto next = std::ranges::lower_bound(statements_, at, {}, &Statement::at);
    for (size_t back = 0; back < 64 && next != statements_.begin(); ++back) {
      --next;
      for (size_t i = 1; i < next->tokens.size(); ++i) {
        const TextToken& token = next->tokens[i];
        if (token.kind != TextToken::Kind::kName) continue;
        const std::string_view name = TextAt(text_, token);
        if (PrefixOf(name) != prefix || name == prefix) continue;
        if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
        if (names.size() == kMaxRegisters) return names;
      }
    }
    return names;
  }

  void MakeRegisters(size_t number) {
    const Statement& statement = statements_[number];
    const auto operands = OperandsOf(statement);
    for (size_t o = 1; o < operands.size(); ++o) {
      for (size_t i = operands[o].first; i <= operands[o].second; ++i) {
        const TextToken& token = statement.tokens[i];
        const std::string_view name = TextAt(text_, token);
        if (token.kind != TextToken::Kind::kName || !name.starts_with('%')) continue;
        const std::string_view prefix = PrefixOf(name);
        if (prefix == name) continue;  // a special register
        for (const std::string& other : Near(statement.at, prefix)) {
          if (other != name) Add(statement, token.at, token.length, other, 3);
        }
      }
    }
  }

  std::string_view text_;
  std::vector<Statement> statements_;
  std::set<int64_t> pool_;
  std::set<std::string_view> floats_;  // their digits
  std::vector<LineEdit> edits_;
};

}  // namespace

std::vector<LineEdit> LineEditsOf(const Module& module, const std::string& entry,
                                  std::span<const int64_t> sizes) {
  const auto kernel = KernelOf(module, entry);
  if (!kernel.has_value()) return {};
  return EditMaker(module, **kernel, sizes).Run();
}

std::string FloatText(const LineEdit& edit, double value) {
  if (edit.length == 10)
    return fmt::format("0f{:08X}", std::bit_cast<uint32_t>(static_cast<float>(value)));
  return fmt::format("0d{:016X}", std::bit_cast<uint64_t>(value));
}

std::string Edited(std::string_view text, const LineEdit& edit) {
  std::string out(text.substr(0, edit.at));
  out += edit.text;
  out += text.substr(edit.at + edit.length);
  return out;
}

std::string StatementAfter(std::string_view text, const LineEdit& edit) {
  const std::string after = Edited(text, edit);
  std::string out;
  for (size_t i = edit.statement; i < after.size() && after[i] != ';'; ++i) {
    const bool is_blank = std::isspace(static_cast<unsigned char>(after[i])) != 0;
    if (!is_blank)
      out += after[i];
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

}  // namespace hloscope::ptx
