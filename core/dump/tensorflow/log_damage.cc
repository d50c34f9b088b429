// What bytes that are lost leave of a line.
#include "core/dump/tensorflow/log_damage.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace hloscope::dump {
namespace {

bool IsOfName(char c) {
  return IsDecimal(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
         c == '-';
}
// Takes the characters off the end for which `test` is true; false: there are none.
template <typename Test>
bool TakeBack(std::string_view& text, Test test) {
  const size_t before = text.size();
  while (!text.empty() && test(text.back())) text.remove_suffix(1);
  return text.size() < before;
}

// "I0000 ", or "2026-11-26 08:35:14.583123: I " before TensorFlow 2.19.
bool BeginsAsFrame(std::string_view line) {
  constexpr std::string_view kLevels = "IWEF";
  constexpr size_t kStart = 6, kLevel = 28;
  if (line.size() < kStart) return false;
  if (kLevels.contains(line[0])) return std::ranges::all_of(line.substr(1, 4), IsDecimal);
  return line.size() > kLevel && std::ranges::all_of(line.substr(0, 4), IsDecimal) &&
         line.substr(kLevel - 2, 2) == ": " && kLevels.contains(line[kLevel]);
}

// Words of the messages that tell of nodes. A line that has them and is none of those is damaged.
constexpr std::string_view kWords[] = {
    // The files first.
    "mark_for_compil",      "ompilation_pass.cc",      "compilability_ch",
    "bility_check_util",    "uncompilable nod",        "Assigning node ",
    " to cluster cluster_", "Could not contr",         "> because contr",
    "Starting fuel",        "sorted_nodes.size()",     "No registered '",
    "top level _Arg",       "before_mark_for_c",       "Dumped Graph to",
    "OpKernel for XLA_",    "devices compatible with", "(op "};
// What the messages begin with.
constexpr std::string_view kBeginnings[] = {"Found uncompilable node ",
                                            "Assigning node ",
                                            "Could not contract ",
                                            "Not clustering ",
                                            "Isolating ",
                                            "Rejecting ",
                                            "Starting fuel",
                                            "sorted_nodes.size()",
                                            " Built ",
                                            "Dumped Graph to "};

auto Holds(std::string_view line) {
  return [line](std::string_view word) { return line.find(word) != std::string_view::npos; };
}

}  // namespace

bool IsDecimal(char c) { return c >= '0' && c <= '9'; }
bool IsFileName(std::string_view text) { return std::ranges::all_of(text, IsOfName); }

bool EndsAsFrame(std::string_view head) {
  constexpr std::string_view kLevels = "IWEF", kFolder = "tensorflow/compiler/jit/";
  if (head.ends_with(kFolder)) {
    head.remove_suffix(kFolder.size());
    if (!head.ends_with(' ')) return false;
    head.remove_suffix(1);
    return !head.empty() && kLevels.contains(head.back());
  }
  auto blank = [](char c) { return c == ' '; };
  return TakeBack(head, blank) && TakeBack(head, IsDecimal) && TakeBack(head, blank) &&
         TakeBack(head, [](char c) { return IsDecimal(c) || c == ':' || c == '.'; }) &&
         TakeBack(head, blank) && TakeBack(head, IsDecimal) && !head.empty() &&
         kLevels.contains(head.back());
}

size_t SourcesOf(std::string_view line) {
  constexpr std::string_view kSources[] = {
      ".cc:", ".h:", ".py:", ".cpp:", ".cu:", ".c:", ".hpp:", ".cxx:"};
  size_t count = 0;
  for (size_t at = line.find("] "); at != std::string_view::npos; at = line.find("] ", at + 1)) {
    std::string_view head = line.substr(0, at);
    count += TakeBack(head, IsDecimal) &&
                     std::ranges::any_of(kSources, [&](auto end) { return head.ends_with(end); })
                 ? 1
                 : 0;
  }
  return count;
}

bool NearlyBegins(std::string_view text) {
  constexpr size_t kMostLetters = 3, kHalf = 8;
  for (std::string_view beginning : kBeginnings) {
    if (text.starts_with(beginning.substr(0, kHalf))) return true;
    const size_t most = std::min(kMostLetters, beginning.size() / 3);
    // Letters that differ up to the end of the beginning, the text's read so far as one likes.
    std::vector<size_t> row(beginning.size() + 1);
    std::iota(row.begin(), row.end(), size_t{0});
    size_t least = row.back();
    for (size_t i = 0; i < std::min(text.size(), beginning.size() + most); ++i) {
      size_t diagonal = std::exchange(row[0], i + 1);
      for (size_t k = 0; k < beginning.size(); ++k) {
        const size_t replaced = diagonal + (text[i] == beginning[k] ? 0 : 1);
        diagonal = row[k + 1];
        row[k + 1] = std::min({replaced, diagonal + 1, row[k] + 1});
      }
      least = std::min(least, row.back());
    }
    if (least <= most) return true;
  }
  return false;
}

bool NamesHalfOfFile(std::string_view line) {
  return std::ranges::any_of(std::span(kWords).first(4), Holds(line));
}
bool HasMarkingWords(std::string_view text) { return std::ranges::any_of(kWords, Holds(text)); }

bool IsDamagedLine(std::string_view line) {
  const bool framed = BeginsAsFrame(line);
  if (framed && SourcesOf(line) != 1) return true;
  // Errors that other files log repeat words of these.
  if (framed) {
    return NamesHalfOfFile(line) ||
           std::ranges::any_of(kBeginnings, [&](std::string_view beginning) {
             return beginning.size() > 8 &&
                    line.find(fmt::format("] {}", beginning)) != std::string_view::npos;
           });
  }
  return HasMarkingWords(line);
}

}  // namespace hloscope::dump
