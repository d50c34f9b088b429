#include "core/dump/tensorflow/whole_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/base/counted.h"
#include "core/base/strings.h"
#include "core/dump/tensorflow/graph_parts.h"

namespace hloscope::dump {
namespace {

constexpr std::string_view kWhole = "jit_compile=True";
constexpr std::string_view kKerasStep = "one_step_on_", kKeras2Step = "run_step";

// What the name of a function in a graph says of Keras.
void AddName(std::string_view function, WholeFacts& facts) {
  const std::string name = TensorFlowFunctionName(function);
  facts.is_keras |= name.starts_with(kKerasStep);
  facts.has_run_step |= name == kKeras2Step;
  facts.has_function_names |=
      name == "train_function" || name == "test_function" || name == "predict_function";
}

// They make text of numbers; of other text nothing is converted.
bool MakesText(const TensorFlowNode& node) {
  return (node.op == "AsString" || node.op == "StringFormat") &&
         std::ranges::none_of(node.types, [](const auto& type) {
           return TensorFlowTypeName(type.second) == "STRING";
         });
}

void Replace(std::string& text, std::string_view from, std::string_view to) {
  if (const size_t at = text.find(from); at != text.npos) text.replace(at, from.size(), to);
}

}  // namespace

bool StopsWhole(const TensorFlowNode& node) {
  switch (node.why) {
    case OutsideReason::kRefVariable:
    case OutsideReason::kControlFlow:
    case OutsideReason::kTransfer:
    case OutsideReason::kInputPipeline:
    case OutsideReason::kHandle:
    case OutsideReason::kRemapped:
    case OutsideReason::kOneDnn:
      return false;
    default:
      return IsForLackOfKernel(node.why);
  }
}

void WholeFacts::Add(const WholeFacts& other) {
  refused.insert(other.refused.begin(), other.refused.end());
  has_lists |= other.has_lists;
  is_keras |= other.is_keras;
  has_function_names |= other.has_function_names;
  has_run_step |= other.has_run_step;
}

void WholeFacts::JudgeKeras(bool had_keras_2) {
  is_keras |= has_function_names && (has_run_step || had_keras_2);
}

bool IsKerasStep(std::string_view name) {
  return name.starts_with(kKerasStep) || name == kKeras2Step;
}

void AddNode(const TensorFlowNode& node, WholeFacts& facts) {
  if (StopsWhole(node)) facts.refused.insert(node.op);
  facts.has_lists |= node.op.starts_with("TensorList") || node.op == "EmptyTensorList";
  AddName(node.function, facts);
  for (const std::string& name : node.functions) AddName(name, facts);
}

void AddCalled(const TensorFlowGraph& graph, WholeFacts& facts) {
  std::map<std::string_view, const TensorFlowFunction*> functions;
  for (const TensorFlowFunction& function : graph.functions)
    functions.emplace(function.name, &function);
  // Also where the calls are inlined already.
  for (const TensorFlowFunction& function : graph.functions) AddName(function.name, facts);
  std::vector<const TensorFlowFunction*> work;
  auto add = [&](std::string_view name) {
    const auto at = functions.find(name);
    if (at == functions.end()) return;
    work.push_back(at->second);
    functions.erase(at);
  };
  auto add_called = [&](const TensorFlowNode& node) {
    if (node.must_compile || IsDataset(node.op)) return;
    add(node.op);
    for (const std::string& name : node.functions) add(name);
  };
  for (const TensorFlowNode& node : graph.nodes) {
    if (node.function.empty()) add_called(node);
  }
  while (!work.empty()) {
    const TensorFlowFunction& function = *work.back();
    work.pop_back();
    if (function.must_compile) continue;
    for (int32_t n : function.nodes) {
      const TensorFlowNode& node = graph.nodes[static_cast<size_t>(n)];
      AddNode(node, facts);
      add_called(node);
    }
  }
}

std::string FitAdvice(std::string advice, const WholeFacts& facts) {
  if (!advice.contains(kWhole)) return advice;
  if (facts.is_keras && !advice.contains("model.compile(")) {
    Replace(advice, "tf.function(jit_compile=True)", kWhole);
    Replace(advice, "jit_compile=True on the function", kWhole);
    Replace(advice, kWhole, "model.compile(jit_compile=True)");
  }
  constexpr size_t kShown = 3;
  if (!facts.refused.empty()) {
    std::vector<std::string> names;
    for (const std::string& name : facts.refused) {
      if (names.size() < kShown) names.push_back(name);
    }
    if (facts.refused.size() > kShown)
      names.push_back(Counted(facts.refused.size() - kShown, "other"));
    advice += fmt::format("; but jit_compile=True fails while the {} {}: XLA has no kernel for {}",
                          facts.is_keras ? "model holds" : "function holds", fmt::join(names, ", "),
                          facts.refused.size() == 1 ? "it" : "them");
  }
  if (facts.has_lists)
    advice +=
        "; before, give each tf.TensorArray its size: with jit_compile=True one that grows "
        "(dynamic_size=True) may give other values, without an error";
  return advice;
}

void FitNode(TensorFlowNode& node, const WholeFacts& facts,
             const std::optional<std::string>& min_cluster_size) {
  if (node.why == OutsideReason::kString && !node.fix.empty() && MakesText(node))
    node.fix =
        "take the conversion to text (tf.strings.as_string, tf.print) out of the function, or "
        "put it at the end";
  const bool counts = node.op != "Const" && node.op != "Identity";
  if (node.why == OutsideReason::kCycle && counts && !node.fix.empty())
    node.fix =
        "add --tf_xla_min_cluster_size=1 to TF_XLA_FLAGS, for a cluster of its own; or " + node.fix;
  node.fix = FitAdvice(std::move(node.fix), facts);
  if (node.why == OutsideReason::kTooSmall && min_cluster_size)
    Replace(node.reason, "4 unless set", fmt::format("{} in this run", *min_cluster_size));
}

std::string TensorFlowFunctionName(std::string_view name) {
  for (std::string_view before : {"__inference_", "a_inference_", "__forward_", "__backward_"}) {
    if (!name.starts_with(before)) continue;
    name.remove_prefix(before.size());
    name = name.substr(0, name.find("__Xla"));
    name = name.substr(0, name.find("__."));
    return std::string(WithoutNumberSuffix(name));
  }
  return {};
}

}  // namespace hloscope::dump
