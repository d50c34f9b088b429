// What an edit of a line explains comes before what a slice says.
#include "core/debug/explain/kernels/look_first.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "core/base/counted.h"

namespace hloscope::debug {
namespace {

constexpr size_t kMaxLines = 10;
constexpr size_t kMaxSizes = 48;

std::string FileOf(const replay::KernelCase& kernels, const std::string& kernel) {
  for (const replay::CaseLaunch& launch : kernels.launches) {
    if (launch.kernel == kernel) return kernels.code[launch.code].file;
  }
  return {};
}

// The statement of that line, as written.
std::string TextOf(const replay::KernelCase& kernels, const std::string& kernel, uint32_t line) {
  for (const replay::CaseLaunch& launch : kernels.launches) {
    if (launch.kernel != kernel) continue;
    std::string_view text = kernels.code[launch.code].text;
    for (uint32_t i = 1; i < line && !text.empty(); ++i)
      text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    const std::string_view row = text.substr(0, text.find('\n'));
    std::string out;
    for (const char c : row) {
      const bool is_blank = c == ' ' || c == '\t' || c == '\r';
      if (!is_blank)
        out += c;
      else if (!out.empty() && out.back() != ' ')
        out += ' ';
    }
    while (out.ends_with(' ') || out.ends_with(';')) out.pop_back();
    return out;
  }
  return {};
}

std::string WhyOf(const replay::TriedEdit& edit) {
  const std::string what = edit.inserts ? fmt::format("with `{}` before it", edit.now)
                                        : fmt::format("with `{}` instead", edit.now);
  const std::string_view of = edit.of_block ? " of its block" : "";
  if (edit.wrong == 0) return fmt::format("{} all elements{} are as expected", what, of);
  return fmt::format("{} {} of {} that differ{} are as expected", what, edit.was_wrong - edit.wrong,
                     Counted(edit.was_wrong, "element"), of);
}

std::string WhyOf(const KernelLine& line) {
  if (line.control) return "decides whether a step is done or which value reaches it";
  if (!line.instruction.empty())
    return fmt::format("has the value of {}{}", line.instruction,
                       line.same_bits ? "" : " but for a few ULP");
  return "the differing element comes from it";
}

}  // namespace

std::vector<std::pair<std::string, uint32_t>> RankedLines(const KernelFinding& finding) {
  std::map<uint32_t, std::pair<std::string, uint32_t>> ranked;
  for (const KernelLine& line : finding.slice)
    ranked.try_emplace(line.rank, line.kernel.empty() ? finding.kernel : line.kernel, line.line);
  std::vector<std::pair<std::string, uint32_t>> lines;
  for (auto& [rank, line] : ranked) lines.push_back(std::move(line));
  return lines;
}

std::vector<int64_t> SizesIn(const hlo::Module& alone) {
  std::set<int64_t> sizes;
  for (uint32_t i = 0; i < alone.instructions().size(); ++i) {
    const hlo::Shape& shape = alone.shape(hlo::InstructionId(i));
    if (!shape.IsArray()) continue;
    int64_t elements = 1;
    for (size_t d = shape.rank(); d-- > 0 && sizes.size() < kMaxSizes;) {
      elements *= shape.dimension(d);
      for (const int64_t size : {shape.dimension(d), elements}) {
        sizes.insert(size);
        sizes.insert(size - 1);
      }
    }
  }
  return {sizes.begin(), sizes.end()};
}

std::vector<LookFirst> LinesToLookAt(const KernelFinding& finding,
                                     const replay::KernelCase& kernels,
                                     const std::vector<replay::TriedEdit>& edits) {
  std::vector<LookFirst> lines;
  std::set<std::pair<std::string, uint32_t>> known;
  const auto add = [&](const std::string& kernel, uint32_t line, std::string text,
                       std::string why) {
    if (lines.size() >= kMaxLines || !known.emplace(kernel, line).second) return;
    lines.push_back({kernel, FileOf(kernels, kernel), line, std::move(text), std::move(why)});
  };
  for (const replay::TriedEdit& edit : edits)
    add(edit.kernel, edit.line, TextOf(kernels, edit.kernel, edit.line), WhyOf(edit));
  std::map<uint32_t, const KernelLine*> ranked;
  for (const KernelLine& line : finding.slice) ranked.try_emplace(line.rank, &line);
  for (const auto& [rank, line] : ranked)
    add(line->kernel.empty() ? finding.kernel : line->kernel, line->line, line->text, WhyOf(*line));
  return lines;
}

}  // namespace hloscope::debug
