// The tables of operations: which have kernels, and what those without do.
#include <fmt/format.h>

#include <map>

#include "core/base/strings.h"
#include "core/dump/tensorflow/graph_builder.h"
#include "core/dump/tensorflow/marking.h"

namespace hloscope::dump {
namespace {

struct Row {
  std::string_view operation;
  OutsideReason reason;
};
constexpr Row kOperations[] = {
#define OUTSIDE_OPERATION(operation, reason) {operation, OutsideReason::reason},
#include "core/dump/tensorflow/outside_operations.def"
#undef OUTSIDE_OPERATION
};

struct ReasonRow {
  std::string_view name, log, sentence, fix;
};
constexpr ReasonRow kReasons[] = {
#define TENSORFLOW_REASON(reason, name, log, sentence, fix) {name, log, sentence, fix},
#include "core/dump/tensorflow/tensorflow_reasons.def"
#undef TENSORFLOW_REASON
};

constexpr std::string_view kTypeSets[] = {
#define XLA_TYPES(number, types) types,
#define XLA_KERNEL(operation, types)
#include "core/dump/tensorflow/xla_kernels.def"
#undef XLA_TYPES
#undef XLA_KERNEL
};

struct KernelRow {
  std::string_view operation, types;
};
constexpr KernelRow kKernels[] = {
#define XLA_TYPES(number, types)
#define XLA_KERNEL(operation, types) {operation, types},
#include "core/dump/tensorflow/xla_kernels.def"
#undef XLA_TYPES
#undef XLA_KERNEL
};

// `pattern` with at most two `*`, one of them at an end.
bool Fits(std::string_view pattern, std::string_view operation) {
  size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == operation;
  if (star == 0) {
    std::string_view inner = pattern.substr(1, pattern.size() - 2);
    return operation.find(inner) != std::string_view::npos;
  }
  std::string_view before = pattern.substr(0, star), after = pattern.substr(star + 1);
  return operation.size() >= before.size() + after.size() && operation.starts_with(before) &&
         operation.ends_with(after);
}

bool Holds(std::string_view set, std::string_view type) {
  while (!set.empty()) {
    size_t end = std::min(set.find(' '), set.size());
    if (set.substr(0, end) == type) return true;
    set.remove_prefix(std::min(end + 1, set.size()));
  }
  return false;
}

// Whether the types of the node suit one kernel's "T=12 Tidx=3"; what does not goes to `evidence`.
bool Suits(const TensorFlowNode& node, std::string_view constraints, std::string& evidence) {
  while (!constraints.empty()) {
    size_t end = std::min(constraints.find(' '), constraints.size());
    std::string_view constraint = constraints.substr(0, end);
    constraints.remove_prefix(std::min(end + 1, constraints.size()));
    size_t equals = constraint.find('=');
    std::string_view key = constraint.substr(0, equals);
    size_t number = 0;
    for (char digit : constraint.substr(equals + 1))
      number = number * 10 + static_cast<size_t>(digit - '0');
    for (const auto& [attribute, type] : node.types) {
      if (attribute != key || type == 0 ||
          Holds(kTypeSets[number], AsciiStrToLower(TensorFlowTypeName(type))))
        continue;
      evidence = fmt::format("{} is {}; the kernel takes {}", attribute,
                             AsciiStrToLower(TensorFlowTypeName(type)), kTypeSets[number]);
      return false;
    }
  }
  return true;
}

}  // namespace

std::string_view NameOf(OutsideReason reason) { return kReasons[static_cast<size_t>(reason)].name; }
std::string_view SentenceOf(OutsideReason reason) {
  return kReasons[static_cast<size_t>(reason)].sentence;
}
std::string_view FixOf(OutsideReason reason) { return kReasons[static_cast<size_t>(reason)].fix; }

bool CouldBeCompiled(OutsideReason reason) {
  return reason >= OutsideReason::kTooSmall && reason <= OutsideReason::kResourceOrder;
}

bool IsForLackOfKernel(OutsideReason reason) {
  return kReasons[static_cast<size_t>(reason)].log == "No registered";
}

std::optional<OutsideReason> OperationReason(std::string_view operation) {
  for (const Row& row : kOperations) {
    if (Fits(row.operation, operation)) return row.reason;
  }
  return std::nullopt;
}

KernelState FindXlaKernel(const TensorFlowNode& node, std::string& evidence) {
  static const std::multimap<std::string_view, std::string_view> kernels = [] {
    std::multimap<std::string_view, std::string_view> map;
    for (const KernelRow& row : kKernels) map.emplace(row.operation, row.types);
    return map;
  }();
  auto [begin, end] = kernels.equal_range(node.op);
  if (begin == end) return KernelState::kNone;
  for (auto at = begin; at != end; ++at) {
    if (Suits(node, at->second, evidence)) {
      evidence.clear();
      return KernelState::kThere;
    }
  }
  return KernelState::kWrongType;
}

OutsideReason NoKernelReason(const TensorFlowNode& node) {
  const std::optional<OutsideReason> by_name = OperationReason(node.op);
  // The kernel of a fused operation may take other types than those of the operations that it is
  // made of: _FusedConv2D takes int8.
  if (by_name == OutsideReason::kRemapped || by_name == OutsideReason::kOneDnn) return *by_name;
  std::string evidence;
  if (FindXlaKernel(node, evidence) == KernelState::kWrongType) {
    const bool strings = evidence.find(" is string;") != std::string::npos;
    return strings ? OutsideReason::kString : OutsideReason::kElementType;
  }
  if (by_name) return *by_name;
  for (const auto& [attribute, type] : node.types) {
    if (TensorFlowTypeName(type) == "STRING") return OutsideReason::kString;
  }
  return OutsideReason::kNoKernel;
}

}  // namespace hloscope::dump
