// A scanner that knows no state beyond the line: fast, and right for dumps, which have no long
// comments.
#include "viewer/widgets/syntax.h"

#include <algorithm>
#include <array>
#include <set>

#include "core/hlo/opcode.h"

namespace hloscope::viewer {
namespace {

bool IsWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || c == '$';
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsElementType(std::string_view word) {
  static const std::set<std::string_view> kTypes = {
      "pred",  "s1",     "s2",    "s4",     "s8",     "s16",    "s32",  "s64", "u1",  "u2",
      "u4",    "u8",     "u16",   "u32",    "u64",    "bf16",   "f16",  "f32", "f64", "c64",
      "c128",  "token",  "tuple", "i1",     "i8",     "i16",    "i32",  "i64", "ptr", "void",
      "float", "double", "half",  "tensor", "memref", "vector", "index"};
  return kTypes.contains(word) || word.starts_with("f8e") || word.starts_with("f4e");
}

bool IsKeyword(std::string_view word, dump::FileKind kind) {
  switch (kind) {
    case dump::FileKind::kHloText: {
      static const std::set<std::string_view> kWords = {"HloModule", "ENTRY", "ROOT"};
      return kWords.contains(word) || hlo::OpcodeFromText(word).has_value();
    }
    case dump::FileKind::kPtx:
      return word.starts_with('.');
    case dump::FileKind::kLlvmIr: {
      static const std::set<std::string_view> kWords = {"define",
                                                        "declare",
                                                        "ret",
                                                        "br",
                                                        "load",
                                                        "store",
                                                        "getelementptr",
                                                        "call",
                                                        "phi",
                                                        "add",
                                                        "sub",
                                                        "mul",
                                                        "fadd",
                                                        "fsub",
                                                        "fmul",
                                                        "fdiv",
                                                        "icmp",
                                                        "fcmp",
                                                        "select",
                                                        "bitcast",
                                                        "zext",
                                                        "sext",
                                                        "trunc",
                                                        "label",
                                                        "target",
                                                        "attributes",
                                                        "source_filename",
                                                        "inbounds",
                                                        "fptrunc",
                                                        "fpext",
                                                        "alloca",
                                                        "switch",
                                                        "unreachable",
                                                        "type"};
      return kWords.contains(word);
    }
    case dump::FileKind::kStableHloText: {
      static const std::set<std::string_view> kWords = {"module", "func.func", "return", "private",
                                                        "public"};
      return kWords.contains(word) || word.starts_with("stablehlo.") || word.starts_with("mhlo.");
    }
    default:
      return false;
  }
}

Color ColorOfWord(std::string_view word, std::string_view rest, dump::FileKind kind) {
  if (IsDigit(word[0]) || (word.size() > 1 && word[0] == '-' && IsDigit(word[1])))
    return Color::kCodeNumber;
  if (IsElementType(word) && (kind != dump::FileKind::kHloText || rest.starts_with('[')))
    return Color::kCodeType;
  if (IsKeyword(word, kind) &&
      (kind != dump::FileKind::kHloText || rest.starts_with('(') || word[0] < 'a'))
    return Color::kCodeKeyword;
  // name=… and name: … are what attributes and fields are called.
  if (rest.starts_with('=') || (rest.starts_with(':') && kind != dump::FileKind::kLlvmIr))
    return Color::kCodeComment;
  return Color::kCodeName;
}

std::string_view CommentSign(dump::FileKind kind) {
  return kind == dump::FileKind::kLlvmIr ? ";" : kind == dump::FileKind::kTextProto ? "#" : "//";
}

// Where the bracket at `open` is closed; strings are skipped. npos: not on this line.
size_t Closing(std::string_view line, size_t open) {
  int depth = 0;
  for (size_t i = open; i < line.size(); ++i) {
    char c = line[i];
    if (c == '"') {
      for (++i; i < line.size() && line[i] != '"'; ++i) {
        if (line[i] == '\\') ++i;
      }
      continue;
    }
    if (c == '{' || c == '(') ++depth;
    if ((c == '}' || c == ')') && --depth == 0) return i;
  }
  return std::string_view::npos;
}

}  // namespace

std::vector<Piece> ColorLine(std::string_view line, dump::FileKind kind) {
  std::vector<Piece> out;
  auto add = [&](size_t begin, size_t end, Color color) {
    std::string_view text = line.substr(begin, end - begin);
    if (!out.empty() && out.back().color == color) {
      out.back().text =
          std::string_view(out.back().text.data(), out.back().text.size() + text.size());
    } else if (!text.empty()) {
      out.push_back({text, color});
    }
  };
  std::string_view comment = CommentSign(kind);
  for (size_t i = 0; i < line.size();) {
    char c = line[i];
    size_t end = i + 1;
    if (line.substr(i).starts_with(comment)) {
      add(i, line.size(), Color::kCodeComment);
      break;
    }
    if (c == '"') {
      while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, line.size());
      add(i, end, Color::kCodeString);
    } else if (IsWordChar(c)) {
      while (end < line.size() && IsWordChar(line[end])) ++end;
      add(i, end, ColorOfWord(line.substr(i, end - i), line.substr(end), kind));
    } else {
      bool sign = c == '%' || c == '@' || c == '#' || c == '!';
      add(i, end, sign ? Color::kCodeName : Color::kTextSecondary);
    }
    i = end;
  }
  return out;
}

std::string FoldLine(std::string_view line, dump::FileKind kind) {
  if (kind != dump::FileKind::kHloText && kind != dump::FileKind::kStableHloText)
    return std::string(line);
  constexpr std::array<std::string_view, 7> kFolded = {
      "metadata={", "backend_config={", "origin={",    "frontend_attributes={",
      "constant({", "sharding={",       "statistics={"};
  // Short ones are worth their room.
  constexpr size_t kShort = 24;
  std::string out;
  size_t at = 0;
  while (at < line.size()) {
    size_t next = std::string_view::npos, length = 0;
    for (std::string_view word : kFolded) {
      size_t found = line.find(word, at);
      if (found < next) {
        next = found;
        length = word.size();
      }
    }
    if (next == std::string_view::npos) break;
    size_t open = next + length - 1, close = Closing(line, open);
    if (close == std::string_view::npos) break;
    if (close - open > kShort) {
      out += line.substr(at, open - at);
      out += "{…}";
    } else {
      out += line.substr(at, close + 1 - at);
    }
    at = close + 1;
  }
  out += line.substr(at);
  return out;
}

}  // namespace hloscope::viewer
