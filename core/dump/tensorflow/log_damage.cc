// What bytes that are lost leave of a line.
#include "core/dump/tensorflow/log_damage.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "core/dump/readers/line_reader.h"
#include "core/dump/tensorflow/marking_log.h"

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
  if (kLevels.contains(line[0]))
    return std::ranges::all_of(line.substr(1, 4), IsDecimal) && line[5] == ' ';
  return line.size() > kLevel && std::ranges::all_of(line.substr(0, 4), IsDecimal) &&
         line.substr(kLevel - 2, 2) == ": " && kLevels.contains(line[kLevel]);
}

// Words of the messages that tell of nodes. A line that has them and is none of those is damaged.
constexpr std::string_view kHalfFiles[] = {"mark_for_compil", "ompilation_pass.cc",
                                           "compilability_ch", "bility_check_util"};
constexpr std::string_view kWords[] = {"uncompilable nod", "Assigning node ", "Could not contr",
                                       "> because contr",  "Starting fuel",   "sorted_nodes.size()",
                                       "top level _Arg",   "Dumped Graph to"};
// Errors and what programs print have these too.
constexpr std::string_view kCommonWords[] = {" to cluster cluster_",    "No registered '",
                                             "before_mark_for_c",       "OpKernel for XLA_",
                                             "devices compatible with", "(op "};
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
                                            " Unclustered nodes: ",
                                            "Dumped Graph to "};

auto Holds(std::string_view line) {
  return [line](std::string_view word) { return line.find(word) != std::string_view::npos; };
}

// Of a line with common words only the end of a message that lost what stood before it counts.

// "e NAME to cluster cluster_3"
bool EndsAsAssignment(std::string_view line) {
  constexpr std::string_view kTo = " to cluster cluster_";
  const size_t at = line.rfind(kTo);
  if (at == std::string_view::npos) return false;
  const std::string_view number = line.substr(at + kTo.size()), node = line.substr(0, at);
  return !number.empty() && std::ranges::all_of(number, IsDecimal) &&
         std::string_view("Assigning node ").ends_with(node.substr(0, node.rfind(' ') + 1));
}

// "e NAME (op OP): REASON", with a reason of the pass
bool EndsAsUncompilable(std::string_view line) {
  const size_t at = line.find("(op "), close = line.find("): ", at);
  if (close == std::string_view::npos) return false;
  std::string_view head = line.substr(0, at);
  if (head.ends_with(' ')) head.remove_suffix(1);
  return std::string_view("Found uncompilable node ")
             .ends_with(head.substr(0, head.rfind(' ') + 1)) &&
         LoggedReason(line.substr(close)) != OutsideReason::kUnknown;
}

// "No registered 'OP' OpKernel for XLA_CPU_JIT devices compatible with node {{node NAME}}"; errors
// put it in brackets.
bool EndsAsNoKernel(std::string_view line) {
  const size_t at = line.rfind(" compatible with node {{node ");
  return at != std::string_view::npos && line.find("}}", at) == line.size() - 2 &&
         line.find("(No registered") == std::string_view::npos;
}

// "to DIR/before_mark_for_compilation_2.pbtxt"
bool EndsAsDump(std::string_view line) {
  const size_t blank = line.rfind(' ') + 1;
  const std::string_view file = line.substr(blank);
  return file.contains("/before_mark_for_compilation") && file.contains(".pb") &&
         std::string_view("Dumped Graph to ").ends_with(line.substr(0, blank));
}

// "NODE,NODE]." of a cycle
bool EndsAsCycle(std::string_view line) {
  return line.ends_with("].") && line.find_first_of(" [") == std::string_view::npos;
}

// The line without what names the files of the log otherwise: a variable that sets their verbosity,
// "mark_for_compilation_pass=4", and graphs, "mark_for_compilation_2.pbtxt".
std::string WithoutMentions(std::string_view line) {
  std::string text(line);
  auto erase = [&](std::string_view stem, auto is_mention) {
    for (size_t at = text.find(stem); at != std::string::npos; at = text.find(stem, at)) {
      const std::string_view rest = std::string_view(text).substr(at + stem.size());
      if (is_mention(rest))
        text.erase(at, stem.size());
      else
        at += stem.size();
    }
  };
  auto is_set = [](std::string_view rest) { return rest.starts_with('='); };
  erase("mark_for_compilation_pass", is_set);
  erase("compilability_check_util", is_set);
  erase("mark_for_compilation", [](std::string_view rest) {
    if (rest.starts_with('_')) rest.remove_prefix(1);
    while (!rest.empty() && IsDecimal(rest.front())) rest.remove_prefix(1);
    return rest.starts_with(".pb");
  });
  return text;
}

// What a cycle is made by: "[node,<cluster>]." or, of clusters alone, "(all clusters) [<a>,<b>].".
bool IsPath(std::string_view text) {
  TakeWord(text, "(all clusters) ");
  return text.starts_with('[') && text.ends_with("].");
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

size_t MarkingFilesIn(std::string_view line) {
  size_t count = 0;
  for (std::string_view file : kMarkingFiles) {
    for (size_t at = line.find(file); at != std::string_view::npos; at = line.find(file, at + 1))
      ++count;
  }
  return count;
}

bool NearlyBegins(std::string_view text) {
  constexpr size_t kMaxLetters = 3, kHalf = 8;
  for (std::string_view beginning : kBeginnings) {
    if (text.starts_with(beginning.substr(0, kHalf))) return true;
    if (!text.empty() && beginning.starts_with(text)) return true;  // it breaks off
    const size_t most = std::min(kMaxLetters, beginning.size() / 3);
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

bool HoldsAnother(std::string_view reason) {
  for (std::string_view part : {"> -> <", "> because ", " (op ", " to cluster cluster_"}) {
    if (reason.contains(part)) return true;
  }
  return reason.contains("OpKernel for XLA_") && !reason.contains("No registered '");
}

bool IsWholeReason(std::string_view reason, std::string_view operation) {
  if (reason.starts_with("top level ")) return reason == "top level _Arg or _Retval";
  if (!reason.starts_with("No registered '")) return true;
  return reason.starts_with(fmt::format("No registered '{}' OpKernel for ", operation)) &&
         reason.contains(" devices compatible with node ");
}

bool IsWholeEdgeReason(std::string_view reason) {
  constexpr std::string_view kCycle = "contracting the edge would create a cycle via ";
  for (std::string_view beginning :
       {kCycle, std::string_view("the two nodes "), std::string_view("the new cluster ")}) {
    if (!reason.starts_with(beginning)) continue;
    return reason.rfind(beginning) == 0 && reason.ends_with('.') &&
           (beginning != kCycle || IsPath(reason.substr(kCycle.size())));
  }
  return false;
}

bool IsTensorFlowName(std::string_view text) {
  const auto is_of_name = [](char c) {
    return c > ' ' && c < '\x7f' && !std::string_view("()[]{}<'\"").contains(c);
  };
  return !text.empty() && std::ranges::all_of(text, is_of_name);
}

bool IsShare(std::string_view text) {
  auto take_number = [&] {
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    text.remove_prefix(digits);
    return digits != 0;
  };
  return take_number() && TakeWord(text, " / ") && take_number() && TakeWord(text, " (") &&
         text.ends_with("%)") &&
         text.find_first_not_of("0123456789.-+naif%)") == std::string_view::npos;
}

bool BreaksOffInFrame(std::string_view line) { return BeginsAsFrame(line) && SourcesOf(line) == 0; }

bool BeginsAsDamagedFrame(std::string_view line, std::string_view day) {
  constexpr size_t kKnown = 4;  // "I000"
  return !day.empty() && line.starts_with(day.substr(0, kKnown)) && !BeginsAsFrame(line);
}

std::string_view DayOf(std::string_view line) {
  constexpr size_t kDay = 5;
  return BeginsAsFrame(line) && !IsDecimal(line[0]) ? line.substr(0, kDay) : std::string_view();
}

bool EndsInFileName(std::string_view line) {
  if (!BeginsAsFrame(line)) return false;
  const std::string_view word = line.substr(line.rfind(' ') + 1);
  return !word.empty() && std::ranges::any_of(kMarkingFiles, [&](std::string_view file) {
    return file.starts_with(word);
  });
}

bool NamesHalfOfFile(std::string_view line) {
  return std::ranges::any_of(kHalfFiles, Holds(line)) &&
         std::ranges::any_of(kHalfFiles, Holds(WithoutMentions(line)));
}
bool HasMarkingWords(std::string_view text) {
  return std::ranges::any_of(kHalfFiles, Holds(text)) || std::ranges::any_of(kWords, Holds(text)) ||
         std::ranges::any_of(kCommonWords, Holds(text));
}

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
  return NamesHalfOfFile(line) || std::ranges::any_of(kWords, Holds(line)) ||
         EndsAsAssignment(line) || EndsAsUncompilable(line) || EndsAsNoKernel(line) ||
         EndsAsDump(line) || EndsAsCycle(line);
}

}  // namespace hloscope::dump
