// Expansion: what one instruction means, written as a small module of plain HLO and then run. So
// the meaning of a library call is read in the same words as everything else.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/eval/machine/machine.h"
#include "core/hlo/module_builder.h"

namespace hloscope::eval {

// Dimension numbers of a dot.
struct DotDimensions {
  std::vector<int64_t> lhs_batch, lhs_contracting, rhs_batch, rhs_contracting;
};

// Nodes are instructions of the new module's entry. Scalars stand for arrays of one value in
// Binary, Compare and Select. Sizes that do not fit one another make Run say so: nobody has
// verified what a library call is given.
class Expansion {
 public:
  using Node = hlo::InstructionId;

  // Begins a module with one parameter for every operand of the call; all must be arrays.
  explicit Expansion(KernelCall& call);

  Node Operand(size_t i) const { return parameters_[i]; }
  size_t operand_count() const { return parameters_.size(); }
  hlo::Shape ShapeOf(Node node) const;
  hlo::ElementType TypeOf(Node node) const { return ShapeOf(node).element_type(); }

  Node Constant(hlo::ElementType type, double value);
  Node Filled(hlo::ElementType type, std::vector<int64_t> sizes, double value);
  Node Iota(hlo::ElementType type, std::vector<int64_t> sizes, int64_t dimension);

  Node Unary(hlo::Opcode opcode, Node x);
  Node Binary(hlo::Opcode opcode, Node x, Node y);
  Node Binary(hlo::Opcode opcode, Node x, double y);
  Node Compare(hlo::ComparisonDirection direction, Node x, Node y);
  Node Select(Node condition, Node x, Node y);
  Node Convert(Node x, hlo::ElementType type);

  Node Broadcast(Node x, std::vector<int64_t> sizes, std::vector<int64_t> dimensions);
  Node Reshape(Node x, std::vector<int64_t> sizes);
  Node Transpose(Node x, std::vector<int64_t> permutation);
  Node Slice(Node x, std::span<const int64_t> begin, std::span<const int64_t> end);
  Node Reverse(Node x, std::vector<int64_t> dimensions);
  Node Element(Node tuple, int64_t index);

  // Folds `dimensions` with add, maximum, … from `init` on.
  Node Reduce(hlo::Opcode reducer, Node x, double init, std::vector<int64_t> dimensions);
  // The products summed as `result` type.
  Node Dot(Node x, Node y, const DotDimensions& dims, hlo::ElementType result);
  Node Convolution(Node x, Node kernel, hlo::Shape result, hlo::Window window,
                   hlo::ConvolutionDims dims, int64_t feature_groups, int64_t batch_groups);

  // Any instruction; attributes come from builder().
  Node Add(hlo::Opcode opcode, hlo::Shape shape, std::span<const Node> operands,
           std::span<const hlo::Attribute> attributes = {});
  hlo::ModuleBuilder& builder() { return builder_; }
  // A computation of two scalars (one opcode of them); and x < y or x > y of the first two of
  // `types`' pairs of scalars, by total order where they are floats.
  hlo::ComputationId Combiner(hlo::Opcode opcode, hlo::ElementType type);
  hlo::ComputationId Comparator(hlo::ComparisonDirection direction,
                                const std::vector<hlo::ElementType>& types);

  // A computation that the call calls.
  hlo::ComputationId Called(hlo::ComputationId computation);

  // The value of the call: `result`, or a tuple of `results` with zeros for elements of the call's
  // shape that are not there (workspaces). Elements must have the call's shapes.
  Result<Value> Run(Node result);
  Result<Value> Run(std::span<const Node> results);

 private:
  struct Pending {
    hlo::ComputationId id;
    hlo::Opcode opcode;
    hlo::ComparisonDirection direction;
    std::vector<hlo::ElementType> types;
  };
  Node Spread(Node x, const hlo::Shape& like);
  void Require(bool fits) { fits_ = fits_ && fits; }
  void Define(const Pending& pending);
  void Copy(hlo::ComputationId from, hlo::ComputationId to);
  void FillUp(std::vector<Node>& results);
  Result<Value> Finish(Node root);

  KernelCall& call_;
  hlo::ModuleBuilder builder_;
  hlo::ComputationId entry_;
  std::vector<Node> parameters_;
  std::vector<Pending> pending_;
  std::vector<std::pair<hlo::ComputationId, hlo::ComputationId>> called_;  // there and here
  bool fits_ = true;
};

// The call's result, or the first element where that is a tuple.
const hlo::Shape& MainShape(const KernelCall& call);
// What sums and functions of such elements are computed in: f64, c128 or the integer type itself.
hlo::ElementType WideType(hlo::ElementType type);

}  // namespace hloscope::eval
