// The sentences of torch_causes.def for the graphs of a log.
#include "core/debug/recompile/torch_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "core/base/counted.h"

namespace hloscope::debug {
namespace {

struct TorchCause {
  std::string_view mark;
  bool is_fault;
  std::string_view sentence, fix;
};
constexpr TorchCause kTorchCauses[] = {
#define TORCH_CAUSE(mark, is_fault, sentence, fix) {mark, is_fault, sentence, fix},
#include "core/debug/recompile/torch_causes.def"
#undef TORCH_CAUSE
};

// "2 inputs more", "1 output fewer".
std::string Change(int64_t before, int64_t after, std::string_view noun) {
  if (before < 0 || after < 0 || before == after) return {};
  return fmt::format("{} {}", Counted(std::abs(after - before), noun),
                     after > before ? "more" : "fewer");
}

// nullptr: a cause that is not known.
const TorchCause* CauseOf(const TorchGraph& graph) {
  const auto* cause = std::ranges::find_if(
      kTorchCauses, [&](const TorchCause& one) { return graph.cause.starts_with(one.mark); });
  return cause == std::end(kTorchCauses) ? nullptr : cause;
}

}  // namespace

bool IsFault(const TorchGraph& graph) {
  const TorchCause* cause = CauseOf(graph);
  return cause != nullptr && cause->is_fault;
}

TorchGraphText TextOf(const std::vector<TorchGraph>& graphs, size_t k) {
  const TorchGraph& graph = graphs[k];
  const TorchCause* cause = CauseOf(graph);
  TorchGraphText text{false, graph.cause, "see the frames in the log"};
  if (cause != nullptr) {
    text = {cause->is_fault, std::string(cause->sentence), std::string(cause->fix)};
    const size_t where = text.reason.find("{where}");
    if (where != std::string::npos)
      text.reason.replace(
          where, std::string_view("{where}").size(),
          graph.function.empty() || graph.function == "<module>" ? "the program" : graph.function);
  }
  text.reason = fmt::format("graph {} of {}, {}{}: {}; compiled {}", k + 1, graphs.size(),
                            graph.name.empty() ? "" : graph.name + ", ", graph.hash, text.reason,
                            Counted(graph.compilations, "time"));
  // Level 1 of PT_XLA_DEBUG tells of no executions.
  if (std::ranges::any_of(graphs, [](const TorchGraph& one) { return one.executions > 0; }))
    text.reason += fmt::format(", run {} in this log", Counted(graph.executions, "time"));
  if (graph.inputs >= 0)
    text.reason += fmt::format("; {}, {}", Counted(graph.inputs, "input"),
                               Counted(std::max<int64_t>(graph.outputs, 0), "output"));
  if (k > 0) {
    const std::string inputs = Change(graphs[k - 1].inputs, graph.inputs, "input");
    const std::string outputs = Change(graphs[k - 1].outputs, graph.outputs, "output");
    if (!inputs.empty() || !outputs.empty())
      text.reason += fmt::format(" ({}{}{} than graph {})", inputs,
                                 inputs.empty() || outputs.empty() ? "" : " and ", outputs, k);
  }
  for (const std::string& size : graph.sizes) text.reason += "; " + size;
  return text;
}

}  // namespace hloscope::debug
