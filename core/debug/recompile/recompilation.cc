#include "core/debug/recompile/recompilation.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "core/base/counted.h"

namespace hloscope::debug {
namespace {

struct ReasonRow {
  std::string_view key, sentence, fix, tensorflow, torch;
};
constexpr ReasonRow kReasons[] = {
#define RECOMPILE_REASON(kind, key, sentence, fix, tensorflow, torch) \
  {key, sentence, fix, tensorflow, torch},
#include "core/debug/recompile/recompile_reasons.def"
#undef RECOMPILE_REASON
};
const ReasonRow& RowOf(RecompileReason reason) { return kReasons[static_cast<size_t>(reason)]; }

void Replace(std::string& text, std::string_view name, const std::string& value) {
  const size_t at = text.find(name);
  if (at != std::string::npos) text.replace(at, name.size(), value);
}

}  // namespace

std::string_view KeyOf(RecompileReason reason) { return RowOf(reason).key; }

std::string ToSentence(const RecompileCause& cause) {
  std::string text(RowOf(cause.reason).sentence);
  // Backwards: a value that is filled in may hold braces itself.
  Replace(text, "{to}", cause.to.empty() ? "something else" : cause.to);
  Replace(text, "{from}", cause.from.empty() ? "what it was" : cause.from);
  if (cause.argument.empty()) {
    Replace(text, " of argument {argument}", "");
    Replace(text, " {argument}", "");
  }
  Replace(text, "{argument}", '`' + cause.argument + '`');
  const bool open = cause.reason == RecompileReason::kUnknown;
  if (!cause.detail.empty()) text += (open ? ": " : ", ") + cause.detail;
  return text;
}

namespace {

// Of a type as text: "f32[8,4]" has two; -1: it is none.
int64_t RankOf(std::string_view type) {
  const size_t begin = type.find('['), end = type.find(']');
  if (begin == type.npos || end == type.npos || end < begin) return -1;
  const std::string_view sizes = type.substr(begin + 1, end - begin - 1);
  return sizes.empty() ? 0 : 1 + std::ranges::count(sizes, ',');
}

}  // namespace

std::string FixOf(const Recompilation& recompilation) {
  const ReasonRow& row = RowOf(recompilation.cause.reason);
  if (recompilation.was_logged && recompilation.cause.reason == RecompileReason::kIdentical)
    return "make the function and its jit once, outside of the loop, and pass arrays of one type: "
           "its module shows neither, and the log of the run has no reason";
  if (recompilation.cause.detail == kOtherFunction)
    return "define your tf.function once, outside of the loop; Keras makes one for its data at "
           "each fit, evaluate and predict, which needs no change";
  const bool is_object = recompilation.cause.reason == RecompileReason::kStatic &&
                         recompilation.cause.to.contains(" object at 0x");
  if (is_object && recompilation.framework == "JAX")
    return "give the class of the static argument __hash__ and __eq__ (a frozen dataclass has "
           "them), or pass the same object each time";
  const bool is_type = recompilation.cause.reason == RecompileReason::kShape ||
                       recompilation.cause.reason == RecompileReason::kElementType;
  const int64_t from = RankOf(recompilation.cause.from), to = RankOf(recompilation.cause.to);
  if (is_type && from >= 0 && to >= 0 && from != to)
    return "values of different rank need a program each: call it with one rank, or leave it so";
  if (recompilation.framework == "TensorFlow" && !row.tensorflow.empty())
    return std::string(row.tensorflow);
  if (recompilation.framework == "PyTorch/XLA" && !row.torch.empty()) return std::string(row.torch);
  if (recompilation.outside_jit && recompilation.cause.reason != RecompileReason::kVersion)
    return "it runs op by op outside jit: wrap it in one jitted function";
  return std::string(row.fix);
}

std::string CompileTimeText(double ms) {
  if (ms < 0) return "unknown time";
  return ms < 1000 ? fmt::format("{:.0f} ms", ms) : fmt::format("{:.1f} s", ms / 1000);
}

std::string ToSentence(const CompiledProgram& program) {
  return fmt::format("{} ({}), {}, {} lost", program.program, program.framework,
                     Counted(program.compilations, "compilation"),
                     CompileTimeText(program.lost_ms));
}

void SumUp(Recompilations& found) {
  std::map<std::pair<std::string, std::string>, CompiledProgram> programs;
  std::set<std::tuple<std::string_view, std::string_view, size_t>> firsts;
  for (const Recompilation& one : found.list) {
    CompiledProgram& program = programs[{one.framework, one.program}];
    program.framework = one.framework;
    program.program = one.program;
    if (firsts.emplace(one.framework, one.program, one.series).second) ++program.compilations;
    ++program.compilations;
    if (one.compile_ms >= 0) program.lost_ms = std::max(program.lost_ms, 0.0) + one.compile_ms;
  }
  found.programs.clear();
  for (auto& [key, program] : programs) found.programs.push_back(std::move(program));
  std::ranges::stable_sort(found.programs, [](const auto& a, const auto& b) {
    return std::pair(a.lost_ms, a.compilations) > std::pair(b.lost_ms, b.compilations);
  });
}

}  // namespace hloscope::debug
