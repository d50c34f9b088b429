#include "core/dump/tensorflow_verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "core/base/counted.h"
#include "core/dump/errors/severity.h"
#include "core/dump/logged_errors.h"

namespace hloscope::dump {
namespace {

// What the author of a program does not write: ends of functions, constants, copies.
bool IsPlumbing(std::string_view op) {
  constexpr std::array<std::string_view, 15> kPlumbing = {
      "_Arg",      "_Retval",     "_DeviceArg", "_DeviceRetval", "Const",
      "HostConst", "_EagerConst", "NoOp",       "Identity",      "IdentityN",
      "_Send",     "_Recv",       "_HostSend",  "_HostRecv",     "_XlaRun"};
  return std::ranges::find(kPlumbing, op) != kPlumbing.end() || op == "_XlaCompile" ||
         op == "VarHandleOp";
}

bool IsEndOfFunction(std::string_view op) {
  return op == "_Arg" || op == "_Retval" || op == "_DeviceArg" || op == "_DeviceRetval" ||
         op == "NoOp";
}

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

// Each function that the text says was converted.
void AddConverted(std::string_view text, std::set<std::string>& names) {
  for (std::string_view before :
       {"conversion failed while converting ", "when trying to compile graph "}) {
    for (size_t at = text.find(before); at != text.npos; at = text.find(before, at + 1)) {
      const std::string_view name = text.substr(at + before.size(), 400);
      names.insert(TensorFlowFunctionName(name.substr(0, name.find_first_of("[ .\n"))));
    }
  }
  names.erase("");
}

// Functions with jit_compile=True whose compilation the logs say failed, and the first error.
struct FailedFunctions {
  std::set<std::string> names;
  std::string what, fix;  // "AsString, p.py:4"; empty: the error is not known
};
FailedFunctions FindFailedFunctions(const DumpModel& model) {
  FailedFunctions failed;
  for (size_t k = 0; k < model.files().size(); ++k) {
    if (model.files()[k].role != FileRole::kRunLog) continue;
    // A log that cannot be read is in the warnings already.
    (void)model.ReadFile(static_cast<int32_t>(k), [&](std::string_view text) {
      AddConverted(text, failed.names);
      return true;
    });
  }
  if (failed.names.empty()) return failed;
  // Where the program catches the exception only TensorFlow's warning of it is in the log.
  const LoggedErrors logged = ErrorsInLogs(model);
  auto first = [&](auto is_cause) {
    const auto at = std::ranges::find_if(
        logged.errors, [&](const LoggedError& one) { return is_cause(one.error); });
    return at == logged.errors.end() ? nullptr : &at->error;
  };
  const ExplainedError* cause =
      first([](const ExplainedError& error) { return error.severity == Severity::kError; });
  if (cause == nullptr) {
    cause = first([](const ExplainedError& error) {
      return error.severity == Severity::kWarning &&
             SeverityOf(error.kind, '\0', error.reason) == Severity::kError;
    });
  }
  if (cause == nullptr) return failed;
  failed.what = cause->op.empty() ? cause->kind : cause->op;
  if (!cause->file.empty()) failed.what += fmt::format(", {}:{}", cause->file, cause->line);
  failed.fix = cause->fix;
  return failed;
}

// The operations outside of one reason.
struct Outside {
  std::string_view reason, fix;
  int64_t count = 0;
  std::vector<std::string_view> operations;  // each once
};

std::string NameList(const std::vector<std::string>& names) {
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back("`" + name + "`");
  return fmt::format("{}", fmt::join(quoted, ", "));
}

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

// "5 of the 7 operations are in 1 cluster".
std::string CountText(const ClusteringVerdict& verdict, const TensorFlowSummary& summary,
                      std::string_view other) {
  const int64_t all = verdict.operations, clustered = verdict.clustered;
  const std::string clusters = Counted(summary.clusters.size(), "cluster");
  if (all == 1)
    return fmt::format("the {}operation is in {}", other, clustered == 0 ? "no cluster" : clusters);
  if (clustered == 0) return fmt::format("none of the {}{} operations is in a cluster", other, all);
  if (clustered == all) return fmt::format("all {}{} operations are in {}", other, all, clusters);
  return fmt::format("{} of the {}{} operations {} in {}", clustered, other, all,
                     VerbFor(clustered, "is", "are"), clusters);
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
  return !node.eager && !IsPlumbing(node.op) && node.why != OutsideReason::kMustCompile;
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

ClusteringVerdict JudgeClustering(const DumpModel& model, const TensorFlowSummary& summary,
                                  AutoClustering state, const WholeFacts& facts) {
  ClusteringVerdict verdict;
  verdict.state = state;
  verdict.compiled = CompiledFunctions(model);
  for (const TensorFlowCluster& cluster : summary.clusters) {
    for (const auto& [op, count] : cluster.operations) {
      if (!IsPlumbing(op)) verdict.clustered += count;
    }
  }
  std::vector<Outside> reasons;
  int64_t outside = 0;
  for (const TensorFlowNode& node : summary.unclustered) {
    if (!RunsOutside(node)) continue;
    ++outside;
    auto at = std::ranges::find(reasons, std::string_view(node.reason), &Outside::reason);
    if (at == reasons.end()) at = reasons.insert(at, {node.reason, node.fix, 0, {}});
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
  FailedFunctions failed = FindFailedFunctions(model);
  for (const std::string& name : verdict.compiled) {
    lost.erase(name);
    failed.names.erase(name);
  }
  for (const std::string& name : failed.names) lost.erase(name);
  if (!failed.names.empty()) {
    text += fmt::format(
        "{}{} {} to be compiled as a whole (jit_compile=True), and failed{}",
        text.empty() ? "" : "; ", NameList({failed.names.begin(), failed.names.end()}),
        VerbFor(failed.names.size(), "was", "were"), failed.what.empty() ? "" : ": " + failed.what);
    verdict.fix = failed.fix;
  }
  if (!lost.empty())
    text += fmt::format("{}{} {} to be compiled as a whole (jit_compile=True), and left no module",
                        text.empty() ? "" : "; ", NameList({lost.begin(), lost.end()}),
                        VerbFor(lost.size(), "was", "were"));
  const bool all_eager =
      text.empty() && std::ranges::any_of(summary.unclustered, [](const TensorFlowNode& node) {
        return node.eager && !IsPlumbing(node.op);
      });
  if (verdict.operations == 0 && all_eager) {
    text = "eager mode ran each operation by itself: XLA compiles functions";
    verdict.fix = "put the operations in a function: tf.function(jit_compile=True)";
  }
  if (verdict.operations == 0) return verdict;
  const std::string_view other = text.empty() ? "" : "other ";
  const bool only_cpus = std::ranges::all_of(summary.devices, [](const std::string& device) {
    return TensorFlowDeviceType(device) == "CPU";
  });
  if (!text.empty()) text += "; ";
  text += StateText(state, only_cpus);
  if (state != AutoClustering::kOn && state != AutoClustering::kInScopes) {
    text += ": " + CountText(verdict, summary, other);
    if (other.empty()) verdict.fix = FitAdvice(FixOfState(state, only_cpus), facts);
    return verdict;
  }
  text += ": " + CountText(verdict, summary, other);
  if (reasons.empty()) return verdict;
  text += "; outside: " + OutsideText(reasons, outside);
  if (verdict.fix.empty()) verdict.fix = reasons.front().fix;
  return verdict;
}

}  // namespace hloscope::dump
