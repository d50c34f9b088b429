// What an edit of a line explains comes before what a slice says.
#include "core/debug/explain/kernels/look_first.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "core/base/checked.h"
#include "core/base/counted.h"
#include "core/hlo/dimension_numbers.h"

namespace hloscope::debug {
namespace {

using hlo::AttributeKey;
using Line = std::pair<std::string, uint32_t>;  // kernel, line

constexpr size_t kMaxLines = 10;
constexpr size_t kMaxFindings = 2;  // of checks
constexpr size_t kMaxSizes = 64;

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

// What a kernel compares positions with where something is cut off, padded or put together.
template <typename Add>
void AddLimits(const hlo::Module& module, hlo::InstructionId id, const Add& add) {
  const hlo::Instruction& instruction = module[id];
  const auto operands = module.operands(id);
  const auto size_of = [&](size_t operand, size_t d) {
    const hlo::Shape& shape = module.shape(operands[operand]);
    return shape.IsArray() && d < shape.rank() ? shape.dimension(d) : 0;
  };
  // Of what begins there and has that size. A file may have any numbers.
  const auto add_end = [&](int64_t begin, int64_t size) {
    if (const auto end = CheckedAdd(begin, size)) add(*end);
  };
  if (instruction.opcode == hlo::Opcode::kSlice) {
    for (const int64_t bound : module.GetInts(instruction, AttributeKey::kSlice)) add(bound);
  }
  if (instruction.opcode == hlo::Opcode::kPad) {
    const auto padding = module.GetInts(instruction, AttributeKey::kPadding);
    for (size_t i = 0; i + 2 < padding.size(); i += 3) {
      add(padding[i]);
      add_end(padding[i], size_of(0, i / 3));
    }
  }
  if (instruction.opcode == hlo::Opcode::kConcatenate) {
    const auto dimensions = module.GetInts(instruction, AttributeKey::kDimensions);
    std::optional<int64_t> end = 0;
    for (size_t i = 0; i < operands.size() && !dimensions.empty(); ++i) {
      end = CheckedAdd(*end, size_of(i, static_cast<size_t>(dimensions[0])));
      if (!end) break;
      add(*end);
    }
  }
  if (instruction.opcode != hlo::Opcode::kReduceWindow) return;
  const hlo::Window* const window = hlo::FindWindow(module, id);
  for (size_t d = 0; window != nullptr && d < window->dimensions.size(); ++d) {
    const hlo::WindowDimension& each = window->dimensions[d];
    if (each.size < 2 && each.padding_low == 0) continue;
    add(each.size);
    add(each.padding_low);
    add_end(each.padding_low, size_of(0, d));
  }
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
  // Elements up to a place; the last one, or the one before.
  const auto add = [&](int64_t size) {
    if (sizes.size() >= kMaxSizes || size < 0) return;
    sizes.insert(size);
    sizes.insert(size - 1);
  };
  for (uint32_t i = 0; i < alone.instructions().size(); ++i)
    AddLimits(alone, hlo::InstructionId(i), add);
  for (uint32_t i = 0; i < alone.instructions().size(); ++i) {
    const hlo::Shape& shape = alone.shape(hlo::InstructionId(i));
    if (!shape.IsArray()) continue;
    int64_t elements = 1;
    for (size_t d = shape.rank(); d-- > 0 && sizes.size() < kMaxSizes;) {
      elements *= shape.dimension(d);
      add(shape.dimension(d));
      add(elements);
    }
  }
  return {sizes.begin(), sizes.end()};
}

std::vector<LookFirst> LinesToLookAt(const KernelFinding& finding,
                                     const replay::KernelCase& kernels,
                                     const std::vector<replay::TriedEdit>& edits,
                                     const ExplainingSwitch& explains) {
  std::vector<LookFirst> lines;
  std::set<Line> known;
  // A text that is not given is looked up, which reads the kernel up to there.
  const auto add = [&](const std::string& kernel, uint32_t line, std::string why,
                       std::optional<std::string> text = {}) {
    if (lines.size() >= kMaxLines || !known.emplace(kernel, line).second) return;
    if (!text) text = TextOf(kernels, kernel, line);
    lines.push_back({kernel, FileOf(kernels, kernel), line, *std::move(text), std::move(why)});
  };
  for (const replay::TriedEdit& edit : edits) add(edit.kernel, edit.line, WhyOf(edit));
  for (const replay::RunFinding& found :
       std::span(finding.checks).first(std::min(finding.checks.size(), kMaxFindings))) {
    for (const auto& side : {found.at, found.other}) {
      if (!side || side->line <= 0) continue;
      const auto line = static_cast<uint32_t>(side->line);
      add(found.kernel, line, fmt::format("the checks find it: {}", found.kind));
    }
  }
  const auto ranked = RankedLines(finding);
  const std::set<Line> switched(explains.lines.begin(), explains.lines.end());
  const auto add_switched = [&](const Line& line) {
    add(line.first, line.second, fmt::format("explains the difference: {}", explains.what));
  };
  for (const Line& line : ranked) {
    if (switched.contains(line)) add_switched(line);
  }
  if (lines.empty()) {
    for (const Line& line : explains.lines) add_switched(line);
  }
  std::map<uint32_t, const KernelLine*> by_rank;
  for (const KernelLine& line : finding.slice) by_rank.try_emplace(line.rank, &line);
  for (const auto& [rank, line] : by_rank)
    add(line->kernel.empty() ? finding.kernel : line->kernel, line->line, WhyOf(*line), line->text);
  return lines;
}

}  // namespace hloscope::debug
