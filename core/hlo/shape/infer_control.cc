// Shape rules of tuples, tokens and calls (XLA: ShapeInference::InferGetTupleElementShape,
// InferCallShape, InferWhileShape, InferConditionalShape; ShapeVerifier for the rest).
#include "core/base/counted.h"
#include "core/hlo/shape/infer.h"
#include "fmt/format.h"

namespace hloscope::hlo {
namespace {

Status CheckParameterCount(const InferenceInput& input, const ProgramShape& program,
                           size_t expected, std::string_view what) {
  if (program.parameters.size() == expected) return {};
  return Fail(input, fmt::format("has a {} of {}, expected {}", what,
                                 Counted(program.parameters.size(), "parameter"), expected));
}

// Marks every dimension of `result` dynamic that is so in `other`, which has the same structure.
void MergeDynamic(Shape& result, const Shape& other) {
  std::vector<std::pair<Shape*, const Shape*>> open = {{&result, &other}};
  while (!open.empty()) {
    auto [to, from] = open.back();
    open.pop_back();
    for (size_t i = 0; i < to->rank(); ++i) {
      if (from->is_dynamic_dimension(i)) to->set_dynamic_dimension(i, true);
    }
    for (size_t i = 0; i < to->elements().size(); ++i) {
      open.emplace_back(&to->mutable_elements()[i], &from->elements()[i]);
    }
  }
}

std::vector<ComputationId> Branches(const InferenceInput& input) {
  std::vector<ComputationId> branches;
  for (AttributeKey key : {AttributeKey::kTrueComputation, AttributeKey::kFalseComputation}) {
    const Attribute* a = FindAttribute(input, key);
    if (a != nullptr) branches.push_back(ComputationId(a->value));
  }
  const Attribute* a = FindAttribute(input, AttributeKey::kBranchComputations);
  if (a == nullptr) return branches;
  for (uint32_t id : input.module.IdsOf(*a)) branches.push_back(ComputationId(id));
  return branches;
}

Status CheckBranchIndex(const InferenceInput& input, size_t branches) {
  if (input.operands.empty()) return Fail(input, "has no operands, expected a branch index");
  const Shape& index = *input.operands[0];
  bool by_pred = IsPredScalar(index);
  if (!by_pred && !(index.IsScalar() && index.element_type() == ElementType::kS32)) {
    return Fail(input, fmt::format("has branch index {}, expected pred[] or s32[]", Text(index)));
  }
  if (by_pred ? branches != 2 : branches == 0) {
    return Fail(input, fmt::format("has {}, expected {}", Counted(branches, "branch", "branches"),
                                   by_pred ? "2 for a pred index" : "at least 1"));
  }
  if (input.operands.size() != branches + 1) {
    return Fail(input, fmt::format("has {}, expected the index and one for each of {}",
                                   Counted(input.operands.size(), "operand"),
                                   Counted(branches, "branch", "branches")));
  }
  return {};
}

}  // namespace

// The shape is the text's choice; that of the two ids is always the same.
Result<Shape> InferDeclared(const InferenceInput& input) {
  if (input.opcode == Opcode::kPartitionId || input.opcode == Opcode::kReplicaId) {
    return Shape::Scalar(ElementType::kU32);
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const Shape* declared, NeedDeclared(input));
  return *declared;
}

Result<Shape> InferOperandShape(const InferenceInput& input) { return *input.operands[0]; }

Result<Shape> InferAddDependency(const InferenceInput& input) {
  if (!input.operands[1]->IsToken()) {
    return Fail(input, fmt::format("has operand 1 of shape {}, expected token[]",
                                   Text(*input.operands[1])));
  }
  return *input.operands[0];
}

// A trace yields nothing: the empty tuple.
Result<Shape> InferTrace(const InferenceInput&) { return Shape::Tuple({}); }

// after-all takes operands of any shape.
Result<Shape> InferToken(const InferenceInput&) { return Shape::Token(); }

Result<Shape> InferTuple(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(std::vector<Shape> shapes, OperandShapes(input));
  return Shape::Tuple(std::move(shapes));
}

Result<Shape> InferGetTupleElement(const InferenceInput& input) {
  const Shape& operand = *input.operands[0];
  HLOSCOPE_ASSIGN_OR_RETURN(int64_t index, NeedInt(input, AttributeKey::kIndex));
  if (!operand.IsTuple()) {
    return Fail(input, fmt::format("has operand {}, expected a tuple", Text(operand)));
  }
  if (index < 0 || std::cmp_greater_equal(index, operand.elements().size())) {
    return Fail(input, fmt::format("has index={}, operand {} has {}", index, Text(operand),
                                   Counted(operand.elements().size(), "element")));
  }
  return operand.elements()[static_cast<size_t>(index)];
}

// Of call and fusion: the result of the computation, whose parameters take the operands.
Result<Shape> InferCall(const InferenceInput& input) {
  auto key = input.opcode == Opcode::kFusion ? AttributeKey::kCalls : AttributeKey::kToApply;
  HLOSCOPE_ASSIGN_OR_RETURN(const ProgramShape* program, NeedProgram(input, key));
  HLOSCOPE_TRY(CheckParameterCount(input, *program, input.operands.size(), "computation"));
  for (size_t i = 0; i < input.operands.size(); ++i) {
    const Shape& parameter = input.module[program->parameters[i]];
    if (CompatibleShapes(*input.operands[i], parameter)) continue;
    return Fail(input, fmt::format("has operand {} of shape {}, the computation's parameter {}", i,
                                   Text(*input.operands[i]), Text(parameter)));
  }
  return input.module[program->result];
}

Result<Shape> InferWhile(const InferenceInput& input) {
  const Shape& init = *input.operands[0];
  HLOSCOPE_ASSIGN_OR_RETURN(const ProgramShape* body, NeedProgram(input, AttributeKey::kBody));
  HLOSCOPE_ASSIGN_OR_RETURN(const ProgramShape* condition,
                            NeedProgram(input, AttributeKey::kCondition));
  HLOSCOPE_TRY(CheckParameterCount(input, *body, 1, "body"));
  HLOSCOPE_TRY(CheckParameterCount(input, *condition, 1, "condition"));
  if (!IsPredScalar(input.module[condition->result])) {
    return Fail(input, fmt::format("has a condition with result {}, expected pred[]",
                                   Text(input.module[condition->result])));
  }
  struct {
    std::string_view what;
    ShapeId shape;
  } const kEqual[] = {{"body parameter", body->parameters[0]},
                      {"condition parameter", condition->parameters[0]},
                      {"body result", body->result}};
  for (const auto& [what, id] : kEqual) {
    if (CompatibleShapes(input.module[id], init)) continue;
    return Fail(input,
                fmt::format("has operand {}, {} {}", Text(init), what, Text(input.module[id])));
  }
  return init;
}

Result<Shape> InferConditional(const InferenceInput& input) {
  std::vector<ComputationId> branches = Branches(input);
  HLOSCOPE_TRY(CheckBranchIndex(input, branches.size()));
  Shape result;
  for (size_t i = 0; i < branches.size(); ++i) {
    HLOSCOPE_ASSIGN_OR_RETURN(const ProgramShape* branch, NeedProgram(input, branches[i]));
    HLOSCOPE_TRY(CheckParameterCount(input, *branch, 1, fmt::format("branch {}", i)));
    const Shape& parameter = input.module[branch->parameters[0]];
    if (!CompatibleShapes(parameter, *input.operands[i + 1])) {
      return Fail(input, fmt::format("has operand {} of shape {}, parameter of branch {} {}", i + 1,
                                     Text(*input.operands[i + 1]), i, Text(parameter)));
    }
    const Shape& branch_result = input.module[branch->result];
    if (i == 0) {
      result = branch_result;
    } else if (!CompatibleShapes(branch_result, result)) {
      return Fail(input, fmt::format("has result {} of branch {}, {} of branch 0",
                                     Text(branch_result), i, Text(result)));
    } else {
      MergeDynamic(result, branch_result);
    }
  }
  return result;
}

}  // namespace hloscope::hlo
