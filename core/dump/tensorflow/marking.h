// Why the nodes of a graph are in no cluster, decided from the graph as TensorFlow's marking pass
// does: first what no cluster may hold, then what kept a node that could be compiled from growing a
// cluster. Source: mark_for_compilation_pass.cc, compilability_check_util.cc of TensorFlow 2.21.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/dump/tensorflow/tensorflow_graph.h"

namespace hloscope::dump {

struct OutsideVerdict {
  OutsideReason why = OutsideReason::kUnknown;
  std::string evidence;
};

// Fills in why, reason, evidence and fix of every node that is in no cluster. Of the nodes of
// functions only of those that stop their function from being compiled.
void MarkOutside(TensorFlowGraph& graph);
void SetVerdict(TensorFlowNode& node, OutsideVerdict verdict);

// Whether the node takes or gives a handle of a resource, by its operation and types.
bool UsesResource(const TensorFlowNode& node);

// The row of outside_operations.def for the operation; nullopt: none fits.
std::optional<OutsideReason> OperationReason(std::string_view operation);

enum class KernelState : uint8_t { kNone, kWrongType, kThere };
// Whether XLA has a kernel for the operation and the types; `evidence` says which type is wrong.
KernelState FindXlaKernel(const TensorFlowNode& node, std::string& evidence);
// Why there is none: by the operation, or no more than that there is none.
OutsideReason NoKernelReason(const TensorFlowNode& node);

}  // namespace hloscope::dump
