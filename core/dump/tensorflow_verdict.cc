#include "core/dump/tensorflow_verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/base/counted.h"
#include "core/dump/errors/failed_functions.h"
#include "core/dump/tensorflow/graph_parts.h"
#include "core/dump/tensorflow/marking.h"

namespace hloscope::dump {
namespace {

// Functions with jit_compile=True that graphs call.
std::set<std::string> WholeCalls(const TensorFlowSummary& summary) {
  std::set<std::string> names;
  for (const TensorFlowNode& node : summary.unclustered) {
    if (node.why != OutsideReason::kMustCompile) continue;
    for (const std::string& function : node.functions)
      names.insert(TensorFlowFunctionName(function));
  }
  names.erase("");
  return names;
}

std::vector<std::string> CompiledFunctions(const DumpModel& model) {
  std::set<std::string> names;
  for (const ModuleEntry& module : model.modules()) {
    if (module.framework == "TensorFlow") names.insert(TensorFlowFunctionName(module.name));
  }
  names.erase("");
  return {names.begin(), names.end()};
}

// Those that cannot be read are in the warnings already.
FailedFunctions ReadLogs(const DumpModel& model) {
  FailedFunctions logs;
  for (size_t k = 0; k < model.files().size(); ++k) {
    if (model.files()[k].role != FileRole::kRunLog) continue;
    (void)model.ReadFile(static_cast<int32_t>(k), [&](std::string_view text) {
      logs.Read(text);
      return true;
    });
  }
  return logs;
}

// "a, b, c, 2 more"
std::string Listed(const std::vector<std::string>& texts) {
  constexpr size_t kShown = 3;
  const std::vector<std::string> shown(
      texts.begin(), texts.begin() + static_cast<ptrdiff_t>(std::min(texts.size(), kShown)));
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (texts.size() > kShown) text += fmt::format(", {} more", texts.size() - kShown);
  return text;
}

std::string NameList(const std::vector<std::string>& names) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back("`" + name + "`");
  return Listed(quoted);
}

// Functions with jit_compile=True that were not compiled, and what is known of why; "" where all
// were. `fix` of the first whose fix is known.
std::string NotCompiledText(const std::map<std::string, FailedFunction>& failed,
                            const std::set<std::string>& lost, std::string& fix) {
  std::string text;
  std::vector<std::string> names, causes;
  for (const auto& [name, function] : failed) {
    names.push_back(name);
    if (fix.empty()) fix = function.fix;
    if (function.what.empty()) continue;
    causes.push_back(failed.size() == 1 ? function.what
                                        : fmt::format("{} (`{}`)", function.what, name));
  }
  if (!failed.empty())
    text = fmt::format("{} {} to be compiled as a whole (jit_compile=True), and failed{}{}",
                       NameList(names), VerbFor(names.size(), "was", "were"),
                       causes.empty() ? "" : ": ", Listed(causes));
  if (!lost.empty())
    text += fmt::format("{}{} {} to be compiled as a whole (jit_compile=True), and left no module",
                        text.empty() ? "" : "; ", NameList({lost.begin(), lost.end()}),
                        VerbFor(lost.size(), "was", "were"));
  return text;
}

// The models whose steps Keras leaves to TensorFlow; `whole`: functions that it was to compile as a
// whole. A model that is compiled anew may be among both.
std::string KerasText(const RunRecords& records, const WholeFacts& facts,
                      const std::set<std::string>& whole) {
  std::vector<std::string> models;
  std::set<std::string> known;
  for (const RunRecord& record : records.list) {
    for (const KerasStep& step : record.keras_steps) {
      std::string text = ToText(step);
      if (known.insert(text).second) models.push_back(std::move(text));
    }
  }
  if (!models.empty()) return "Keras ran steps without jit_compile: " + Listed(models);
  if (!facts.is_keras || std::ranges::any_of(whole, IsKerasStep)) return {};
  return "Keras compiled no step as a whole (jit_compile is off)";
}

// The operations outside of one reason.
struct Outside {
  std::string_view reason, fix;
  bool could = false;  // be compiled, but for its neighbours
  int64_t count = 0;
  std::vector<std::string_view> operations;  // each once
};

std::string OutsideText(const std::vector<Outside>& all, int64_t outside) {
  constexpr size_t kShown = 3;
  const Outside& first = all.front();
  std::string names;
  for (size_t k = 0; k < first.operations.size() && k < kShown; ++k)
    names += fmt::format("{}{}", k == 0 ? "" : ", ", first.operations[k]);
  if (first.operations.size() > kShown) names += ", …";
  std::string text = fmt::format("{} ({})", names, first.reason);
  if (all.size() > 1)
    text += fmt::format(", and {} for {}", Counted(outside - first.count, "more operation"),
                        Counted(all.size() - 1, "other reason"));
  return text;
}

// Clusters that are not of the program itself.
struct OtherClusters {
  size_t count = 0;
  std::set<std::string_view> parts;
  std::vector<std::string> also_without_xla;  // of the program
};
OtherClusters FindOtherClusters(const TensorFlowSummary& summary) {
  OtherClusters other;
  for (const TensorFlowCluster& cluster : summary.clusters) {
    if (cluster.part.empty()) {
      if (cluster.also_without_xla) other.also_without_xla.push_back(cluster.name);
      continue;
    }
    ++other.count;
    other.parts.insert(cluster.part);
  }
  return other;
}

// "5 of the 7 operations are in 1 cluster".
std::string CountText(const ClusteringVerdict& verdict, size_t count, std::string_view other) {
  const int64_t all = verdict.operations, clustered = verdict.clustered;
  const std::string clusters = Counted(count, "cluster");
  if (all == 1)
    return fmt::format("the {}operation is in {}", other, clustered == 0 ? "no cluster" : clusters);
  if (clustered == 0) return fmt::format("none of the {}{} operations is in a cluster", other, all);
  if (clustered == all) return fmt::format("all {}{} operations are in {}", other, all, clusters);
  return fmt::format("{} of the {}{} operations {} in {}", clustered, other, all,
                     VerbFor(clustered, "is", "are"), clusters);
}

// Control flow that TensorFlow lowered to operations of its executor.
struct LoweredFlow {
  bool has_loop = false, has_condition = false, has_cases = false;
  std::string_view fix;
};
LoweredFlow FindLoweredFlow(const TensorFlowSummary& summary) {
  LoweredFlow found;
  std::set<std::pair<int32_t, std::string_view>> next;
  for (const TensorFlowNode& node : summary.unclustered) {
    if (node.op.ends_with("NextIteration")) next.emplace(node.graph, node.name);
  }
  for (const TensorFlowNode& node : summary.unclustered) {
    if (node.why != OutsideReason::kControlFlow || node.eager) continue;
    if (found.fix.empty()) found.fix = node.fix;
    found.has_loop |= node.op == "LoopCond";
    found.has_cases |= node.op == "_SwitchN";
    // The Merge of a loop takes what the last iteration gives.
    if (node.op.ends_with("Merge")) {
      found.has_condition |= std::ranges::none_of(node.inputs, [&](std::string_view input) {
        return next.contains({node.graph, input.substr(0, input.find(':'))});
      });
    }
  }
  return found;
}

std::string FlowText(const LoweredFlow& flow) {
  if (!flow.has_loop && !flow.has_condition) return {};
  return fmt::format("; {}{}{} {} by TensorFlow's executor, not by XLA (lowered control flow)",
                     flow.has_loop ? "tf.while_loop" : "",
                     flow.has_loop && flow.has_condition ? " and " : "",
                     !flow.has_condition ? ""
                     : flow.has_cases    ? "tf.switch_case"
                                         : "tf.cond",
                     flow.has_loop && flow.has_condition ? "are run" : "is run");
}

std::string StateText(AutoClustering state, bool only_cpus) {
  switch (state) {
    case AutoClustering::kOn:
      return only_cpus ? "auto-clustering was on for the CPU" : "auto-clustering was on";
    case AutoClustering::kNotForCpu:
      return "auto-clustering was on, but not for the CPU";
    case AutoClustering::kInScopes:
      return "auto-clustering was on only inside jit_scope";
    case AutoClustering::kOff:
      return "TF_XLA_FLAGS did not enable auto-clustering";
    default:
      return "auto-clustering was off, or not on for this device";
  }
}

}  // namespace

bool RunsOutside(const TensorFlowNode& node) {
  return !node.eager && node.part.empty() && !IsPlumbing(node.op) &&
         node.why != OutsideReason::kMustCompile;
}

std::string_view NameOf(AutoClustering state) {
  switch (state) {
    case AutoClustering::kOn:
      return "on";
    case AutoClustering::kNotForCpu:
      return "not_for_cpu";
    case AutoClustering::kInScopes:
      return "in_scopes";
    case AutoClustering::kOff:
      return "off";
    default:
      return "unknown";
  }
}

bool IsEagerGraph(const TensorFlowGraph& graph) {
  int operations = 0;
  for (const TensorFlowNode& node : graph.nodes) {
    if (!node.function.empty()) continue;
    // A function's results have the name of the identity that tf.function puts after them.
    if (node.op == "_Retval" && node.name.starts_with("identity")) return false;
    if (!node.functions.empty() && node.op.ends_with("PartitionedCall")) return false;
    operations += IsEndOfFunction(node.op) ? 0 : 1;
  }
  return operations <= 1;
}

AutoClustering StateByFlags(const RunRecord* record, bool only_cpus) {
  if (record == nullptr) return AutoClustering::kUnknown;
  const auto level = record->Flag("TF_XLA_FLAGS", "tf_xla_auto_jit");
  // tf.config.optimizer.set_jit, which a program may call, is not in the record.
  if (!level || *level == "0" || *level == "-1") return AutoClustering::kOff;
  const auto cpu = record->Flag("TF_XLA_FLAGS", "tf_xla_cpu_global_jit");
  const bool is_for_cpu = cpu && *cpu != "false" && *cpu != "0";
  return only_cpus && !is_for_cpu ? AutoClustering::kNotForCpu : AutoClustering::kOn;
}

std::string FixOfState(AutoClustering state, bool only_cpus) {
  if (state == AutoClustering::kOn) return {};
  if (state == AutoClustering::kNotForCpu)
    return "add --tf_xla_cpu_global_jit to TF_XLA_FLAGS, or tf.function(jit_compile=True)";
  return fmt::format("add --tf_xla_auto_jit=2{} to TF_XLA_FLAGS, or tf.function(jit_compile=True)",
                     only_cpus ? " --tf_xla_cpu_global_jit" : "");
}

bool HadKeras2(const RunRecord* record) {
  if (record == nullptr) return false;
  const auto keras = record->packages.find("keras");
  return record->packages.contains("tf_keras") ||
         (keras != record->packages.end() && keras->second.starts_with("2."));
}

ClusteringVerdict JudgeClustering(const DumpModel& model, const RunRecords& records,
                                  const TensorFlowSummary& summary, AutoClustering state,
                                  const WholeFacts& facts) {
  ClusteringVerdict verdict;
  verdict.state = state;
  verdict.compiled = CompiledFunctions(model);
  for (const TensorFlowCluster& cluster : summary.clusters) {
    for (const auto& [op, count] : cluster.operations) {
      if (cluster.part.empty() && !IsPlumbing(op)) verdict.clustered += count;
    }
  }
  std::vector<Outside> reasons;
  int64_t outside = 0;
  for (const TensorFlowNode& node : summary.unclustered) {
    // What tf.cond and tf.while_loop became is no operation that the author wrote.
    if (!RunsOutside(node) || OperationReason(node.op) == OutsideReason::kControlFlow) continue;
    ++outside;
    auto at = std::ranges::find(reasons, std::string_view(node.reason), &Outside::reason);
    if (at == reasons.end())
      at = reasons.insert(at, {node.reason, node.fix, CouldBeCompiled(node.why), 0, {}});
    ++at->count;
    if (std::ranges::find(at->operations, std::string_view(node.op)) == at->operations.end())
      at->operations.push_back(node.op);
  }
  std::ranges::stable_sort(reasons, std::ranges::greater(), &Outside::count);
  verdict.operations = verdict.clustered + outside;
  std::string& text = verdict.sentence;
  if (!verdict.compiled.empty())
    text = fmt::format("{} {} compiled as a whole", NameList(verdict.compiled),
                       VerbFor(verdict.compiled.size(), "was", "were"));
  std::set<std::string> lost = WholeCalls(summary);
  const FailedFunctions logs = ReadLogs(model);
  std::map<std::string, FailedFunction> failed = logs.Find();
  std::set<std::string> whole = lost;
  whole.insert(verdict.compiled.begin(), verdict.compiled.end());
  for (const std::string& name : verdict.compiled) {
    lost.erase(name);
    failed.erase(name);
  }
  for (const auto& [name, function] : failed) {
    lost.erase(name);
    whole.insert(name);
  }
  const std::string not_compiled = NotCompiledText(failed, lost, verdict.fix);
  if (!not_compiled.empty()) text += (text.empty() ? "" : "; ") + not_compiled;
  const bool all_eager =
      text.empty() && std::ranges::any_of(summary.unclustered, [](const TensorFlowNode& node) {
        return node.eager && !IsPlumbing(node.op);
      });
  if (verdict.operations == 0 && all_eager) {
    // Clusters of one operation each where the smallest size allows them.
    text = summary.clusters.empty()
               ? "eager mode ran each operation by itself: XLA compiles functions"
               : fmt::format("eager mode ran each operation by itself, {} of them as {}",
                             summary.clusters.size(),
                             summary.clusters.size() == 1 ? "a cluster" : "clusters of their own");
    verdict.fix = "put the operations in a function: tf.function(jit_compile=True)";
  }
  if (verdict.operations == 0) return verdict;
  const std::string_view other = text.empty() ? "" : "other ";
  const std::string keras = KerasText(records, facts, whole);
  if (!keras.empty()) text += (text.empty() ? "" : "; ") + keras;
  const bool only_cpus = std::ranges::all_of(summary.devices, [](const std::string& device) {
    return TensorFlowDeviceType(device) == "CPU";
  });
  if (!text.empty()) text += "; ";
  const OtherClusters others = FindOtherClusters(summary);
  text += StateText(state, only_cpus) + ": " +
          CountText(verdict, summary.clusters.size() - others.count, other);
  if (state != AutoClustering::kOn && state != AutoClustering::kInScopes) {
    if (other.empty()) verdict.fix = FitAdvice(FixOfState(state, only_cpus), facts);
    return verdict;
  }
  const LoweredFlow flow = FindLoweredFlow(summary);
  if (!reasons.empty()) text += "; outside: " + OutsideText(reasons, outside);
  text += FlowText(flow);
  if (others.count > 0)
    text += fmt::format("; {} of {}", Counted(others.count, "more cluster"),
                        fmt::join(others.parts, " and of "));
  if (!others.also_without_xla.empty())
    text += fmt::format("; a call of {} ran without XLA, {}", NameList(others.also_without_xla),
                        logs.fell_back()
                            ? "and the log says that XLA could not compile a cluster (\"Falling "
                              "back to TF function call\")"
                            : "for instance a shape that came for the first time: TensorFlow "
                              "compiles a further shape when it comes a second time");
  if (!verdict.fix.empty()) return verdict;
  if (!reasons.empty()) verdict.fix = reasons.front().fix;
  // What could be compiled is cut in pieces by the control flow.
  const bool is_cut = reasons.empty() || reasons.front().could;
  if (is_cut && !flow.fix.empty() && !flow.fix.contains("fails while")) verdict.fix = flow.fix;
  return verdict;
}

}  // namespace hloscope::dump
