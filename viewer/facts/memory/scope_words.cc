#include "viewer/facts/memory/scope_words.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include "core/graph/user_words.h"
#include "core/hlo/analysis/source_line.h"

namespace hloscope::viewer {
namespace {

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool IsFunction(std::string_view segment) {
  return segment.contains("jit(");  // of jit and pjit
}

// One segment of an op_name without what wraps it: "block_3" of "transpose(jvp(block_3))".
std::string_view Unwrapped(std::string_view segment) {
  constexpr std::string_view kGeneric[] = {"while",
                                           "body",
                                           "cond",
                                           "closed_call",
                                           "remat",
                                           "checkpoint",
                                           "rematted_computation",
                                           "branch_0_fun",
                                           "branch_1_fun"};
  for (size_t open = segment.find('('); open != std::string_view::npos && segment.ends_with(')');
       open = segment.find('('))
    segment = segment.substr(open + 1, segment.size() - open - 2);
  return std::ranges::find(kGeneric, segment) != std::end(kGeneric) ? std::string_view() : segment;
}

// "block_*" of "block_3".
std::string WithStars(std::string_view word) {
  std::string text;
  for (char c : word) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(c)) != 0;
    const bool is_number = is_digit && (text.ends_with('_') || text.ends_with('*'));
    if (!is_number) {
      text += c;
    } else if (!text.ends_with('*')) {
      text += '*';
    }
  }
  return text;
}

}  // namespace

std::vector<std::string_view> NameParts(std::string_view name) {
  std::vector<std::string_view> parts;
  for (size_t at = 0; at < name.size();) {
    size_t end = at;
    while (end < name.size() && IsWordCharacter(name[end])) ++end;
    if (end > at) parts.push_back(name.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

namespace {

enum class Segments : uint8_t { kAll, kNamed, kFunctions };

// Of one name.
std::vector<std::string_view> ScopesOfName(std::string_view op_name, Segments wanted) {
  std::vector<std::string_view> words;
  int depth = 0;
  size_t begin = 0;
  bool is_first = true;
  for (size_t at = 0; at < op_name.size(); ++at) {
    if (op_name[at] == '(') ++depth;
    if (op_name[at] == ')') --depth;
    if (op_name[at] != '/' || depth > 0) continue;
    const std::string_view segment = op_name.substr(begin, at - begin);
    begin = at + 1;
    // The first is the whole program.
    const bool is_program = std::exchange(is_first, false) &&
                            (segment.starts_with("jit(") || segment.starts_with("pjit("));
    if (!is_program && wanted != Segments::kAll &&
        IsFunction(segment) != (wanted == Segments::kFunctions))
      continue;
    const std::string_view word = is_program ? std::string_view() : Unwrapped(segment);
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

// Of several names what they have in common.
std::vector<std::string_view> CommonScopes(std::string_view op_name, Segments wanted) {
  std::optional<std::vector<std::string_view>> common;
  for (const std::string_view name : hlo::NamesIn(op_name)) {
    if (!name.contains('/')) continue;
    std::vector<std::string_view> words = ScopesOfName(name, wanted);
    if (common) words.erase(std::ranges::mismatch(words, *common).in1, words.end());
    common = std::move(words);
  }
  return common.value_or(std::vector<std::string_view>());
}

}  // namespace

std::vector<std::string_view> UserScopes(std::string_view op_name) {
  return CommonScopes(op_name, Segments::kAll);
}

std::vector<std::string_view> NamedScopes(std::string_view op_name) {
  std::vector<std::string_view> words = CommonScopes(op_name, Segments::kNamed);
  std::erase_if(words, [](std::string_view word) {
    return graph::ScopeTitle(word).empty() ||
           (word.starts_with("branch_") && word.ends_with("_fun"));
  });
  return words;
}

std::vector<std::string_view> CompiledFunctions(std::string_view op_name) {
  return CommonScopes(op_name, Segments::kFunctions);
}

std::string ScopeWords(std::string_view op_name) {
  std::string words;
  for (std::string_view word : UserScopes(op_name))
    words += (words.empty() ? "" : "/") + WithStars(word);
  return words;
}

}  // namespace hloscope::viewer
