// Words in common, rare ones weighing more.
#include "core/dump/errors/nearest_text.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/base/strings.h"
#include "core/dump/errors/error_table.h"
#include "core/dump/errors/log_line.h"
#include "core/dump/readers/line_reader.h"

namespace hloscope::dump {
namespace {

// Words of at least four letters outside of {gaps}, in lower case.
std::set<std::string> WordsOf(std::string_view text) {
  constexpr size_t kMinLength = 4;
  std::set<std::string> words;
  std::string word;
  bool in_gap = false;
  for (size_t k = 0; k <= text.size(); ++k) {
    const char c = k < text.size() ? text[k] : ' ';
    if (c == '{') in_gap = true;
    const char lower = AsciiToLower(c);
    if (!in_gap && lower >= 'a' && lower <= 'z') {
      word += lower;
    } else {
      if (word.size() >= kMinLength) words.insert(word);
      word.clear();
    }
    if (c == '}') in_gap = false;
  }
  return words;
}

// A pattern as a text for people: what it leaves open as dots, its end cut off where it is long.
std::string WithoutGaps(std::string_view pattern) {
  constexpr size_t kMax = 160;
  std::string text;
  for (size_t k = 0; k < pattern.size() && text.size() < kMax; ++k) {
    const size_t end = pattern[k] == '{' ? pattern.find('}', k) : pattern.npos;
    const bool is_gap =
        end != pattern.npos && end > k + 1 &&
        pattern.substr(k + 1, end - k - 1).find_first_not_of("=abcdefghijklmnopqrstuvwxyz.") ==
            pattern.npos;
    if (is_gap) k = end;
    if (!is_gap) text += pattern[k] == '\n' ? ' ' : pattern[k];
    if (is_gap && !text.ends_with("…")) text += "…";
  }
  return std::string(Trim(text));
}

// Of level I, or one that TensorFlow and absl write with those.
bool IsInformational(std::string_view line) {
  return LevelOf(line) == 'I' || line.contains("All log messages before absl::InitializeLog()") ||
         line.starts_with("To enable the following instructions:");
}

// Whether the line has the word, other than as the name of a number: "mean_squared_error: 0.2".
bool HasErrorWord(std::string_view line) {
  constexpr std::string_view kEnd = "rror";
  for (size_t at = line.find(kEnd); at != line.npos; at = line.find(kEnd, at + 1)) {
    const std::string_view rest = line.substr(at + kEnd.size());
    const size_t value = rest.find_first_not_of(" :='\"");
    const bool is_value =
        value != rest.npos && value > 0 && (rest[value] >= '0' && rest[value] <= '9');
    if (!is_value) return true;
  }
  return false;
}

// How much a line looks like one that names an error.
int Weight(std::string_view line) {
  if (Trim(line).empty() || line.starts_with("  ") || IsInformational(line)) return 0;
  const bool has_word = HasErrorWord(line);
  if (line.contains("Error: ") || line.contains("ERROR:") || line.contains("Exception")) return 3;
  if (has_word) return 2;
  for (std::string_view mark : {"FATAL", "Fatal", "Check failed", "Abort", "failed"}) {
    if (line.contains(mark)) return 2;
  }
  return 1;
}

// What a program prints itself: numbers, with one word each at most ("norm 24.8",
// "{'loss': 0.31}"), and tensors.
bool IsPlain(std::string_view line) {
  int words = 0, numbers = 0;
  bool in_word = false, in_number = false;
  for (size_t k = 0; k < line.size(); ++k) {
    const char lower = AsciiToLower(line[k]);
    const bool is_letter = (lower >= 'a' && lower <= 'z') || lower == '_';
    const bool is_digit = lower >= '0' && lower <= '9';
    const bool is_next = k + 1 < line.size() && line[k + 1] != ' ';
    words += is_letter && !in_word && !in_number && is_next;
    numbers += is_digit && !in_word && !in_number;
    in_number = is_digit || (in_number && (lower == '.' || is_letter));
    in_word = !in_number && (is_letter || (in_word && is_digit));
  }
  const bool is_tensor = line.starts_with("tf.Tensor(") || line.starts_with("<tf.Tensor: ");
  return LevelOf(line) == '\0' && Weight(line) < 2 &&
         (is_tensor || (numbers > 0 && (words < 2 || numbers >= words)));
}

}  // namespace

NearestText FindNearestText(std::string_view text) {
  NearestText found;
  LineReader reader(text);
  int best = 0;
  bool only_plain = true, after_informational = false;
  for (std::string_view line; reader.Next(line);) {
    line = WithoutLogPrefix(line);
    // "	 (OpKernel was found, but attributes didn't match) …" belongs to the line before.
    const bool is_continued = after_informational && line.starts_with('\t');
    after_informational = is_continued || IsInformational(line);
    found.informational += LevelOf(line) == 'I';
    if (after_informational || Trim(line).empty()) continue;
    ++found.plain;
    only_plain &= IsPlain(line);
    // Of several the last: Python and compilers name the error behind its traceback.
    const int weight = Weight(line);
    if (weight == 0 || weight < best) continue;
    best = weight;
    found.line = Trim(line).substr(0, 300);
    found.at_line = reader.number();
  }
  if (!only_plain || found.informational == 0) {
    found.informational = found.plain = 0;
  } else {
    found.line.clear();
    found.at_line = 0;
  }
  if (found.line.empty()) return found;
  std::vector<std::set<std::string>> rows;
  std::map<std::string, double, std::less<>> weights;
  for (const ErrorRow& row : ErrorRows()) {
    rows.push_back(WordsOf(row.text));
    for (const std::string& word : rows.back()) ++weights[word];
  }
  for (auto& [word, weight] : weights) weight = std::log(static_cast<double>(rows.size()) / weight);
  const std::set<std::string> words = WordsOf(found.line);
  constexpr double kMinShare = 0.4;
  constexpr int kMinWords = 2;
  double most = 0;
  for (size_t k = 0; k < rows.size(); ++k) {
    if (ErrorRows()[k].is_general) continue;
    double common = 0, all = 0;
    int count = 0;
    for (const std::string& word : rows[k]) {
      all += weights[word];
      if (!words.contains(word)) continue;
      common += weights[word];
      ++count;
    }
    if (count < kMinWords || common < kMinShare * all || common <= most) continue;
    most = common;
    found.kind = ErrorRows()[k].kind;
    found.known = WithoutGaps(ErrorRows()[k].text);
  }
  return found;
}

}  // namespace hloscope::dump
