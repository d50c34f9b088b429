// The checks that TensorFlow's marking pass makes of each node, in its order.
#include "core/dump/tensorflow/marking.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "core/dump/tensorflow/graph_edges.h"
#include "core/dump/tensorflow/unmerged.h"

namespace hloscope::dump {
namespace {

using enum OutsideReason;

constexpr int kMaxLevels = 10;  // of functions, as kMaxRecursionDepth of TensorFlow

struct ConstantInput {
  std::string_view operation;
  int position;
};
constexpr ConstantInput kConstantInputs[] = {
#define CONSTANT_INPUT(operation, position) {operation, position},
#include "core/dump/tensorflow/constant_inputs.def"
#undef CONSTANT_INPUT
};

// Side effects with kernels of XLA, which nothing can fold to a constant.
bool IsStatefulRead(std::string_view op) {
  return op == "ReadVariableOp" || op == "ResourceGather" || op == "ResourceGatherNd";
}

// Their results do not depend on the values of their inputs.
bool IsMetadata(std::string_view op) {
  return op == "Shape" || op == "ShapeN" || op == "Rank" || op == "Size" || op == "VariableShape";
}

bool IsCall(std::string_view op) {
  return op == "PartitionedCall" || op == "StatefulPartitionedCall" || op == "SymbolicGradient" ||
         op == "RemoteCall";
}

// The bodies that a node of control flow runs; kUnknown: it is none.
OutsideReason ControlFlowReason(std::string_view op) {
  if (op == "While" || op == "StatelessWhile") return kWhile;
  if (op == "If" || op == "StatelessIf") return kIf;
  return op == "Case" || op == "StatelessCase" ? kCase : kUnknown;
}

class Marking {
 public:
  explicit Marking(TensorFlowGraph& graph) : graph_(graph), edges_(graph) {
    for (const TensorFlowFunction& function : graph.functions)
      functions_.emplace(function.name, &function);
    FindConstants();
  }

  void Run() {
    for (int32_t n : edges_.main()) {
      TensorFlowNode& node = At(n);
      if (!node.cluster.empty()) continue;
      if (auto verdict = CheckTop(n)) {
        SetVerdict(node, *std::move(verdict));
      } else {
        candidates_.push_back(n);
      }
    }
    for (auto& [n, verdict] : WhyUnmerged(graph_, edges_, candidates_).verdicts)
      SetVerdict(At(n), std::move(verdict));
    const Functions whole = WholeFunctions();
    for (const TensorFlowFunction& function : graph_.functions) {
      if (whole.contains(function.name)) continue;
      for (int32_t n : function.nodes) {
        if (auto verdict = Check(At(n), 1)) SetVerdict(At(n), *std::move(verdict));
      }
    }
  }

 private:
  TensorFlowNode& At(int32_t n) { return graph_.nodes[static_cast<size_t>(n)]; }

  using Functions = std::set<std::string_view>;

  // Adds the functions that the nodes call, and those that these call; not beyond `barrier`.
  void AddCallees(std::span<const int32_t> nodes, const Functions& barrier, Functions& found) {
    std::vector<int32_t> work(nodes.begin(), nodes.end());
    while (!work.empty()) {
      const TensorFlowNode& node = At(work.back());
      work.pop_back();
      auto add = [&](std::string_view name) {
        const auto at = functions_.find(name);
        if (at == functions_.end() || barrier.contains(name) || !found.insert(name).second) return;
        work.insert(work.end(), at->second->nodes.begin(), at->second->nodes.end());
      };
      add(node.op);
      for (const std::string& name : node.functions) add(name);
    }
  }

  // Functions that are compiled as a whole, with all that only they call: no cluster is wanted
  // of their nodes.
  Functions WholeFunctions() {
    Functions entries, whole, others;
    for (const TensorFlowFunction& function : graph_.functions) {
      if (function.must_compile) entries.insert(function.name);
    }
    for (const TensorFlowNode& node : graph_.nodes) {
      if (!node.must_compile) continue;
      if (functions_.contains(node.op)) entries.insert(node.op);
      for (const std::string& name : node.functions) {
        if (auto at = functions_.find(name); at != functions_.end()) entries.insert(at->first);
      }
    }
    whole = entries;
    for (std::string_view name : entries)
      AddCallees(functions_.find(name)->second->nodes, {}, whole);
    AddCallees(edges_.main(), entries, others);
    for (const TensorFlowFunction& function : graph_.functions) {
      if (!whole.contains(function.name)) AddCallees(function.nodes, entries, others);
    }
    std::erase_if(whole, [&](std::string_view name) { return others.contains(name); });
    return whole;
  }

  // Marks what must be known at compile time, from the inputs that must be, backwards.
  void FindConstants() {
    constant_.assign(graph_.nodes.size(), 0);
    std::vector<int32_t> work;
    auto add = [&](const GraphEdge& edge) {
      if (edge.node < 0 || edge.slot < 0 || constant_[static_cast<size_t>(edge.node)]) return;
      constant_[static_cast<size_t>(edge.node)] = 1;
      work.push_back(edge.node);
    };
    for (int32_t n : edges_.main()) {
      for (const ConstantInput& row : kConstantInputs) {
        if (row.operation != At(n).op) continue;
        const std::vector<GraphEdge>& inputs = edges_.inputs(n);
        auto end = std::ranges::find(inputs, -1, &GraphEdge::slot) - inputs.begin();
        const ptrdiff_t position = row.position < 0 ? end - 1 : row.position;
        if (position >= 0 && position < end) add(inputs[static_cast<size_t>(position)]);
      }
    }
    while (!work.empty()) {
      const int32_t n = work.back();
      work.pop_back();
      if (IsMetadata(At(n).op)) continue;
      for (const GraphEdge& edge : edges_.inputs(n)) add(edge);
    }
  }

  std::optional<OutsideVerdict> CheckTop(int32_t n) {
    const TensorFlowNode& node = At(n);
    if (!node.outside.empty()) return OutsideVerdict{kOutside, node.outside};
    if (node.xla_compile == false) return OutsideVerdict{kForbidden, "_XlaCompile=false"};
    if (node.op == "_Arg") return OutsideVerdict{kArgument, {}};
    if (node.op == "_Retval") return OutsideVerdict{kResult, {}};
    if (IsOnUnknownDevice(node)) return OutsideVerdict{kNoDevice, node.device};
    if (auto verdict = CheckReference(n)) return verdict;
    if (auto verdict = Check(node, 0)) return verdict;
    if (constant_[static_cast<size_t>(n)] && IsStatefulRead(node.op))
      return OutsideVerdict{kMustBeConstant, ConstantUser(n)};
    if (DrivesConstantsInLoop(n)) return OutsideVerdict{kLoopDependency, {}};
    return std::nullopt;
  }

  static bool IsOnUnknownDevice(const TensorFlowNode& node) {
    if (node.device.empty()) return false;
    const std::string_view type = TensorFlowDeviceType(node.device);
    return !type.empty() && DescribeTensorFlowDevice(node.device).empty();
  }

  std::string ConstantUser(int32_t n) {
    for (const GraphEdge& user : edges_.users(n)) {
      if (user.slot >= 0) return fmt::format("feeds {} ({})", At(user.node).name, At(user.node).op);
    }
    return {};
  }

  // An identity of a ref variable.
  std::optional<OutsideVerdict> CheckReference(int32_t n) {
    const TensorFlowNode& node = At(n);
    if (node.op != "Identity" || edges_.inputs(n).empty()) return std::nullopt;
    const GraphEdge& input = edges_.inputs(n).front();
    if (input.node < 0 || input.slot < 0) return std::nullopt;
    const TensorFlowNode& producer = At(input.node);
    const bool reference =
        producer.op.starts_with("Ref") ||
        (OperationReason(producer.op) == kRefVariable && NoKernelReason(producer) == kRefVariable);
    if (!reference) return std::nullopt;
    return OutsideVerdict{kRefCast, fmt::format("reads {} ({})", producer.name, producer.op)};
  }

  bool DrivesConstantsInLoop(int32_t n) {
    if (At(n).op != "Identity") return false;
    for (const GraphEdge& input : edges_.inputs(n)) {
      if (input.node < 0 || input.slot != 1 || At(input.node).op != "Switch") continue;
      const std::vector<GraphEdge>& inputs = edges_.inputs(input.node);
      if (inputs.size() < 2 || inputs[1].node < 0 || At(inputs[1].node).op != "LoopCond") continue;
      return std::ranges::any_of(edges_.users(n), [&](const GraphEdge& user) {
        return user.slot < 0 && At(user.node).op == "Const";
      });
    }
    return false;
  }

  // Why the node cannot be compiled, `level` functions deep; nullopt: it can.
  std::optional<OutsideVerdict> Check(const TensorFlowNode& node, int level) {
    if (level > 0 && (node.op == "_Arg" || node.op == "_Retval")) return std::nullopt;
    if (node.scoped_allocator) return OutsideVerdict{kAllocator, {}};
    const auto callee = functions_.find(node.op);
    if (IsCall(node.op) || callee != functions_.end()) {
      if (node.must_compile) return OutsideVerdict{kMustCompile, {}};
      if (callee != functions_.end()) return CheckFunction(node.op, kFunction, level);
      return CheckFunctions(node, kFunction, level);
    }
    if (auto verdict = CheckKernel(node)) return verdict;
    const OutsideReason control = ControlFlowReason(node.op);
    if (control != kUnknown) return CheckFunctions(node, control, level);
    if (auto reason = OperationReason(node.op); reason && !IsAboutKernels(*reason))
      return OutsideVerdict{*reason, {}};
    if (HasVariant(node)) return OutsideVerdict{kVariant, "a VARIANT goes in or out"};
    if (level > 0 && UsesResource(node)) return OutsideVerdict{kResourceInCall, {}};
    return std::nullopt;
  }

  static bool HasVariant(const TensorFlowNode& node) {
    return std::ranges::any_of(
        node.types, [](const auto& type) { return TensorFlowTypeName(type.second) == "VARIANT"; });
  }

  // Rows that only say why there is no kernel.
  static bool IsAboutKernels(OutsideReason reason) {
    switch (reason) {
      case kRandom:
      case kTrigger:
      case kAssert:
      case kVariant:
      case kStack:
      case kTensorArray:
      case kInaccurate:
      case kSlow:
      case kUniqueSize:
      case kCollective:
        return false;
      default:
        return true;
    }
  }

  static std::optional<OutsideVerdict> CheckKernel(const TensorFlowNode& node) {
    if (node.op == "Const") {
      for (const auto& [key, type] : node.types) {
        if (TensorFlowTypeName(type) == "STRING")
          return OutsideVerdict{kStringConst, "dtype is string"};
      }
    }
    std::string evidence;
    switch (FindXlaKernel(node, evidence)) {
      case KernelState::kThere:
        return std::nullopt;
      case KernelState::kWrongType:
        return OutsideVerdict{NoKernelReason(node), evidence};
      default:
        return OutsideVerdict{NoKernelReason(node), fmt::format("no kernel for {}", node.op)};
    }
  }

  std::optional<OutsideVerdict> CheckFunctions(const TensorFlowNode& node, OutsideReason reason,
                                               int level) {
    for (const std::string& name : node.functions) {
      if (auto verdict = CheckFunction(name, reason, level)) return verdict;
    }
    return std::nullopt;
  }

  std::optional<OutsideVerdict> CheckFunction(const std::string& name, OutsideReason reason,
                                              int level) {
    auto at = functions_.find(name);
    if (at == functions_.end()) return std::nullopt;
    if (at->second->xla_compile == false)
      return OutsideVerdict{kForbidden, fmt::format("_XlaCompile=false of {}", name)};
    if (level == 0 && at->second->must_compile) return OutsideVerdict{kMustCompile, name};
    if (level + 1 > kMaxLevels) return OutsideVerdict{kRecursion, name};
    auto known = checked_.find({name, level});
    if (known == checked_.end()) {
      std::optional<OutsideVerdict> first;
      for (int32_t n : at->second->nodes) {
        auto verdict = Check(At(n), level + 1);
        if (!verdict) continue;
        const std::string_view sentence = SentenceOf(verdict->why);
        const std::string inner = verdict->evidence.empty() ? "" : "; " + verdict->evidence;
        first = OutsideVerdict{kFunction, fmt::format("{} ({}) in {}: {}{}", At(n).name, At(n).op,
                                                      name, sentence, inner)};
        break;
      }
      known = checked_.emplace(std::make_pair(name, level), std::move(first)).first;
    }
    if (!known->second) return std::nullopt;
    return OutsideVerdict{reason, known->second->evidence};
  }

  TensorFlowGraph& graph_;
  GraphEdges edges_;
  std::map<std::string, const TensorFlowFunction*, std::less<>> functions_;
  std::map<std::pair<std::string, int>, std::optional<OutsideVerdict>> checked_;
  std::vector<char> constant_;  // by node: not 0 where its value must be known at compile time
  std::vector<int32_t> candidates_;
};

}  // namespace

bool UsesResource(const TensorFlowNode& node) {
  const bool by_name = node.op.ends_with("VariableOp") || node.op.starts_with("Resource") ||
                       node.op == "VariableShape";
  return by_name || std::ranges::any_of(node.types, [](const auto& type) {
           return TensorFlowTypeName(type.second) == "RESOURCE";
         });
}

void SetVerdict(TensorFlowNode& node, OutsideVerdict verdict) {
  node.why = verdict.why;
  node.reason = SentenceOf(verdict.why);
  node.fix = FixOf(verdict.why);
  node.evidence = std::move(verdict.evidence);
}

void MarkOutside(TensorFlowGraph& graph) { Marking(graph).Run(); }

}  // namespace hloscope::dump
