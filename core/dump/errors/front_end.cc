// Marks of front ends in tracebacks and logs.
#include "core/dump/errors/front_end.h"

#include <algorithm>

namespace hloscope::dump {
namespace {

struct Mark {
  std::string_view text;
  FrontEnd front_end;
};
// Of two that stand in a text, the first here counts: what is built on another comes first.
constexpr Mark kMarks[] = {
    {"/keras/src/", FrontEnd::kKeras},
    {"/keras/engine/training", FrontEnd::kKeras},
    {"__inference_one_step_on_", FrontEnd::kKeras},
    {"__inference_multi_step_on_", FrontEnd::kKeras},
    {"__inference_train_function_", FrontEnd::kKeras},
    {"errors_impl.", FrontEnd::kTensorFlow},
    {"/tensorflow/python/", FrontEnd::kTensorFlow},
    {"__inference_", FrontEnd::kTensorFlow},
    {"external/local_xla/", FrontEnd::kTensorFlow},
    {"external/local_tsl/", FrontEnd::kTensorFlow},
    {"torch_xla", FrontEnd::kTorch},
    {"Bad StatusOr access", FrontEnd::kTorch},
    {"SyncTensorsGraph", FrontEnd::kTorch},
    {"Reactant", FrontEnd::kJulia},
    {"LoadError: ", FrontEnd::kJulia},
    {".julia/", FrontEnd::kJulia},
    {"(exla ", FrontEnd::kElixir},
    {"EXLA.", FrontEnd::kElixir},
    {"** (RuntimeError)", FrontEnd::kElixir},
    {" [info] XLA ", FrontEnd::kElixir},  // as Elixir's logger writes XLA's lines
    {"jaxlib.", FrontEnd::kJax},
    {"/jaxlib/", FrontEnd::kJax},
    {"/jax/", FrontEnd::kJax},
    {"jax.errors.", FrontEnd::kJax},
    {"XlaRuntimeError", FrontEnd::kJax},
    {"JaxRuntimeError", FrontEnd::kJax},
    {"jit(", FrontEnd::kJax},
};

}  // namespace

FrontEnd FrontEndOf(const std::vector<std::string_view>& lines, size_t error) {
  constexpr size_t kMaxLines = 60;
  const size_t begin = error < kMaxLines ? 0 : error - kMaxLines;
  const size_t end = std::min(lines.size(), error + kMaxLines);
  for (const Mark& mark : kMarks) {
    for (size_t k = begin; k < end; ++k) {
      if (lines[k].contains(mark.text)) return mark.front_end;
    }
  }
  return FrontEnd::kUnknown;
}

}  // namespace hloscope::dump
