// Expansion: what one instruction means, written as a small module of plain HLO. So the meaning of
// a library call is read in the same words as everything else.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hlo/expand/call_site.h"
#include "core/hlo/module_builder.h"

namespace hloscope::hlo::expand {

// Dimension numbers of a dot.
struct DotDimensions {
  std::vector<int64_t> lhs_batch, lhs_contracting, rhs_batch, rhs_contracting;
};

// Nodes are instructions of the new module's entry. Scalars stand for arrays of one value in
// Binary, Compare and Select. Sizes that do not fit one another make Build say so: nobody has
// verified what a library call is given.
class Expansion {
 public:
  using Node = InstructionId;

  // Begins a module with one parameter for every operand of the call: an array, or a token.
  explicit Expansion(const CallSite& call);

  Node Operand(size_t i) const { return parameters_[i]; }
  size_t operand_count() const { return parameters_.size(); }
  Shape ShapeOf(Node node) const;
  ElementType TypeOf(Node node) const { return ShapeOf(node).element_type(); }

  Node Constant(ElementType type, double value);
  Node Filled(ElementType type, std::vector<int64_t> sizes, double value);
  Node Iota(ElementType type, std::vector<int64_t> sizes, int64_t dimension);

  Node Unary(Opcode opcode, Node x);
  Node Binary(Opcode opcode, Node x, Node y);
  Node Binary(Opcode opcode, Node x, double y);
  Node Compare(ComparisonDirection direction, Node x, Node y);
  Node Select(Node condition, Node x, Node y);
  Node Convert(Node x, ElementType type);

  Node Broadcast(Node x, std::vector<int64_t> sizes, std::vector<int64_t> dimensions);
  Node Reshape(Node x, std::vector<int64_t> sizes);
  Node Transpose(Node x, std::vector<int64_t> permutation);
  Node Slice(Node x, std::span<const int64_t> begin, std::span<const int64_t> end);
  Node Reverse(Node x, std::vector<int64_t> dimensions);
  Node Element(Node tuple, int64_t index);

  // Folds `dimensions` with add, maximum, … from `init` on.
  Node Reduce(Opcode reducer, Node x, double init, std::vector<int64_t> dimensions);
  // The products summed as `result` type.
  Node Dot(Node x, Node y, const DotDimensions& dims, ElementType result);
  Node Convolution(Node x, Node kernel, Shape result, Window window, ConvolutionDims dims,
                   int64_t feature_groups, int64_t batch_groups);

  // Any instruction; attributes come from builder().
  Node Add(Opcode opcode, Shape shape, std::span<const Node> operands,
           std::span<const Attribute> attributes = {});
  // Likewise with the shape that XLA infers; an input error where there is none.
  Result<Node> AddInferred(Opcode opcode, std::span<const Node> operands,
                           std::span<const Attribute> attributes);
  ModuleBuilder& builder() { return builder_; }
  // A computation of two scalars (one opcode of them); and x < y or x > y of the first two of
  // `types`' pairs of scalars, by total order where they are floats.
  ComputationId Combiner(Opcode opcode, ElementType type);
  ComputationId Comparator(ComparisonDirection direction, const std::vector<ElementType>& types);

  // A computation that the call calls.
  ComputationId Called(ComputationId computation);

  // The module whose value is that of the call: `result`, which may be a tuple, or a tuple of
  // `results` with zeros for elements of the call's shape that are not there (workspaces). Elements
  // must have the call's shapes.
  Result<ModulePtr> Build(Node result);
  Result<ModulePtr> Build(std::span<const Node> results);

 private:
  struct Pending {
    ComputationId id;
    Opcode opcode;
    ComparisonDirection direction;
    std::vector<ElementType> types;
  };
  Node Spread(Node x, const Shape& like);
  void Require(bool fits) { fits_ = fits_ && fits; }
  void Define(const Pending& pending);
  void Copy(ComputationId from, ComputationId to);
  void FillUp(std::vector<Node>& results);
  Result<ModulePtr> Finish(Node root);

  CallSite call_;
  ModuleBuilder builder_;
  ComputationId entry_;
  std::vector<Node> parameters_;
  std::vector<Pending> pending_;
  std::vector<std::pair<ComputationId, ComputationId>> called_;  // there and here
  bool fits_ = true;
};

// The call's result, or the first element where that is a tuple.
const Shape& MainShape(const CallSite& call);
// What sums and functions of such elements are computed in: f64, c128 or the integer type itself.
ElementType WideType(ElementType type);

}  // namespace hloscope::hlo::expand
