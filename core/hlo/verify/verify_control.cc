// Instructions that call computations: parameters, roots and threads of while, conditional, call,
// sort, scan and reducers fit their operands.
#include "core/base/counted.h"
#include "core/hlo/dimension_numbers.h"
#include "core/hlo/opcode_table.h"
#include "core/hlo/verify/verify_context.h"
#include "core/hlo/verify/verify_sharding.h"

namespace hloscope::hlo {
namespace {

using enum Opcode;
using std::to_string;

bool CheckParameterCount(VerifyContext& context, InstructionId id, ComputationId c, size_t wanted,
                         std::string_view rule) {
  size_t count = context.parameter_count(c);
  if (count == wanted) return true;
  context.Error(id, rule,
                context.Name(id) + " passes " + Counted(wanted, "value") + " to " +
                    context.Name(c) + ", which has " + Counted(count, "parameter"));
  return false;
}

bool CheckArgument(VerifyContext& context, InstructionId id, size_t operand, ComputationId c,
                   size_t parameter, std::string_view rule) {
  const Module& module = context.module();
  InstructionId value = module.operands(id)[operand];
  InstructionId formal = context.parameters(c)[parameter];
  if (context.Same(module[value].shape, module[formal].shape)) return true;
  context.Error(id, rule,
                context.Name(id) + " passes " + context.Name(value) + ", " + context.Text(value) +
                    ", to " + context.Name(c) + ", whose parameter " + to_string(parameter) +
                    " is " + context.Text(formal));
  return false;
}

void CheckResult(VerifyContext& context, InstructionId id, ComputationId c, std::string_view rule) {
  const Module& module = context.module();
  if (context.Same(module[id].shape, module[module[c].root].shape)) return;
  context.Error(id, rule,
                context.Name(id) + " is " + context.Text(id) + ", but the root of " +
                    context.Name(c) + " is " + context.Text(module[c].root));
}

bool IsPredScalar(const Shape& shape) {
  return shape.IsScalar() && shape.element_type() == ElementType::kPred;
}

void CheckComposite(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  const Instruction& i = module[id];
  auto name = FrontendAttributeOf(module, i, "composite.name");
  std::string problem;
  if (!name.has_value() || name->empty()) {
    problem = "needs a non-empty frontend attribute composite.name";
  } else if (FrontendAttributeOf(module, i, "composite.attributes").value_or("{}").empty()) {
    problem = "has an empty frontend attribute composite.attributes";
  } else if (auto version = FrontendAttributeOf(module, i, "composite.version")) {
    bool number = !version->empty() && version->size() < 19;
    for (char c : *version) number &= c >= '0' && c <= '9';
    if (!number) problem = "has a composite.version that is not a non-negative integer";
  }
  if (problem.empty()) return;
  context.Error(id, "composite", context.Name(id) + ": a composite call " + problem);
}

void CheckCall(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  const Instruction& i = module[id];
  ComputationId c = module.GetComputation(i, AttributeKey::kToApply);
  if (!c.valid()) return;
  if (!CheckParameterCount(context, id, c, i.operand_count, "call-operands")) return;
  for (size_t p = 0; p < i.operand_count; ++p) {
    if (!CheckArgument(context, id, p, c, p, "call-operands")) return;
  }
  CheckResult(context, id, c, "call-root");
  if (module.GetBool(i, AttributeKey::kIsComposite)) CheckComposite(context, id);
  const auto* aliasing =
      module.Get<OutputOperandAliasing>(i, AttributeKey::kOutputToOperandAliasing);
  if (aliasing != nullptr && !aliasing->entries.empty()) {
    context.Error(id, "alias",
                  context.Name(id) + ": a call cannot have output_to_operand_aliasing");
  }
}

void CheckWhile(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  const Instruction& i = module[id];
  ComputationId body = module.GetComputation(i, AttributeKey::kBody);
  ComputationId condition = module.GetComputation(i, AttributeKey::kCondition);
  if (!body.valid() || !condition.valid()) return;
  if (!CheckParameterCount(context, id, body, 1, "while-body-shape") ||
      !CheckParameterCount(context, id, condition, 1, "while-condition-shape")) {
    return;
  }
  if (!CheckArgument(context, id, 0, body, 0, "while-body-shape")) return;
  if (!CheckArgument(context, id, 0, condition, 0, "while-condition-shape")) return;
  if (!IsPredScalar(context.root_shape(condition))) {
    context.Error(id, "while-condition-shape",
                  "the condition of " + context.Name(id) + ", " + context.Name(condition) +
                      ", returns " + context.Text(context.root_shape(condition)) +
                      ", expected pred[]");
  }
  CheckResult(context, id, body, "while-body-shape");
  VerifyConsistentSharding(
      context, id,
      {id, module[body].root, context.parameters(body)[0], context.parameters(condition)[0]});
}

void CheckConditional(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  const Instruction& i = module[id];
  const std::vector<ComputationId> branches = module.CalledComputations(i);
  auto operands = module.operands(i);
  if (operands.size() != branches.size() + 1) {
    context.Error(id, "conditional-operands",
                  context.Name(id) + " has " + Counted(branches.size(), "branch", "branches") +
                      " and " + Counted(operands.size(), "operand") +
                      ", expected the selector and one operand for each branch");
    return;
  }
  const Shape& choice = module.shape(operands[0]);
  bool pred = IsPredScalar(choice);
  if (!pred && !(choice.IsScalar() && choice.element_type() == ElementType::kS32)) {
    context.Error(id, "conditional-operands",
                  context.Name(id) + ": the first operand, " + context.Name(operands[0]) + ", is " +
                      context.Text(choice) + ", expected pred[] or s32[]");
    return;
  }
  if (branches.empty() || (pred && branches.size() != 2)) {
    context.Error(id, "conditional-operands",
                  context.Name(id) + " selects with " + context.Text(choice) + " among " +
                      Counted(branches.size(), "branch", "branches") + ", expected 2 for pred[]");
    return;
  }
  std::vector<InstructionId> shardings{id};
  for (size_t b = 0; b < branches.size(); ++b) {
    if (!CheckParameterCount(context, id, branches[b], 1, "conditional-operands")) return;
    if (!CheckArgument(context, id, b + 1, branches[b], 0, "conditional-operands")) return;
    CheckResult(context, id, branches[b], "conditional-root");
    shardings.push_back(module[branches[b]].root);
  }
  VerifyConsistentSharding(context, id, shardings);
}

void CheckSort(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  const Instruction& i = module[id];
  ComputationId c = module.GetComputation(i, AttributeKey::kToApply);
  if (!c.valid() || i.operand_count == 0) return;
  if (!IsPredScalar(context.root_shape(c))) {
    context.Error(id, "sort",
                  context.Name(id) + ": comparator " + context.Name(c) + " returns " +
                      context.Text(context.root_shape(c)) + ", expected pred[]");
  }
  if (!CheckParameterCount(context, id, c, size_t{2} * i.operand_count, "sort")) return;
  auto operands = module.operands(i);
  for (size_t p = 0; p < context.parameter_count(c); ++p) {
    Shape expected = Shape::Scalar(module.shape(operands[p / 2]).element_type());
    if (SameShapeAnyPrecision(expected, context.parameter_shape(c, p))) continue;
    context.Error(id, "sort",
                  context.Name(id) + ": parameter " + to_string(p) + " of comparator " +
                      context.Name(c) + " is " + context.Text(context.parameter_shape(c, p)) +
                      ", expected " + context.Text(expected));
    return;
  }
  auto dimensions = module.GetInts(i, AttributeKey::kDimensions);
  int64_t rank = static_cast<int64_t>(module.shape(operands[0]).rank());
  if (dimensions.size() != 1 || dimensions[0] < 0 || dimensions[0] >= rank) {
    context.Error(id, "sort",
                  context.Name(id) + " has dimensions=" + IndexText(dimensions) +
                      ", expected one dimension of its operands, which have rank " +
                      to_string(rank));
  }
}

// Parameter p of the computation against the operand's shape, without the scanned dimension.
bool ScanParameterFits(const Shape& parameter, const Shape& operand, int64_t without) {
  if (without < 0) return SameShape(parameter, operand);
  if (!parameter.IsArray() || parameter.element_type() != operand.element_type() ||
      parameter.rank() + 1 != operand.rank()) {
    return false;
  }
  for (size_t d = 0, p = 0; d < operand.rank(); ++d) {
    if (static_cast<int64_t>(d) == without) continue;
    if (parameter.dimension(p++) != operand.dimension(d)) return false;
  }
  return true;
}

void CheckScan(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  const Instruction& i = module[id];
  ComputationId c = module.GetComputation(i, AttributeKey::kToApply);
  if (!c.valid() || !CheckParameterCount(context, id, c, i.operand_count, "scan")) return;
  auto dimensions = module.GetInts(i, AttributeKey::kDimensions);
  int64_t carries = module.GetInt(i, AttributeKey::kNumCarries);
  int64_t operands = i.operand_count;
  const Shape& root = context.root_shape(c);
  int64_t results = std::ssize(root.results());
  if (carries < 0 || carries >= operands || carries > results || dimensions.size() != 1) {
    context.Error(id, "scan",
                  context.Name(id) + " has num_carries=" + to_string(carries) + ", but only " +
                      Counted(operands, "operand") + " and " + Counted(results, "result"));
    return;
  }
  for (int64_t p = 0; p < operands; ++p) {
    auto n = static_cast<size_t>(p);
    const Shape& operand = module.shape(module.operands(i)[n]);
    bool input = p < operands - carries;
    int64_t without = input ? dimensions[0] : -1;
    if (input && (without < 0 || without >= static_cast<int64_t>(operand.rank()))) {
      context.Error(id, "scan",
                    context.Name(id) + " scans dimension " + to_string(without) + " of " +
                        context.Text(operand));
      return;
    }
    if (ScanParameterFits(context.parameter_shape(c, n), operand, without)) continue;
    context.Error(id, "scan",
                  context.Name(id) + ": parameter " + to_string(p) + " of " + context.Name(c) +
                      " is " + context.Text(context.parameter_shape(c, n)) +
                      ", but the operand is " + context.Text(operand));
    return;
  }
  for (int64_t k = 0; k < carries; ++k) {
    auto result = static_cast<size_t>(results - carries + k);
    const Shape& given = root.results()[result];
    const Shape& carried = context.parameter_shape(c, static_cast<size_t>(operands - carries + k));
    if (SameShape(given, carried)) continue;
    context.Error(id, "scan",
                  context.Name(id) + ": carry " + to_string(k) + " of " + context.Name(c) + " is " +
                      context.Text(carried) + " as a parameter and " + context.Text(given));
    return;
  }
}

// Without mixed precision a reducer takes exactly the types of the operands.
void CheckReducerTypes(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  const Instruction& i = module[id];
  ComputationId c = module.GetComputation(i, AttributeKey::kToApply);
  if (!c.valid()) return;
  auto operands = module.operands(i);
  for (size_t p = 0; p < operands.size() && p < context.parameter_count(c); ++p) {
    const Shape& parameter = context.parameter_shape(c, p);
    const Shape& operand = module.shape(operands[p]);
    if (parameter.element_type() == operand.element_type()) continue;
    context.Strict(id, "mixed-precision",
                   context.Name(id) + ": parameter " + to_string(p) + " of " + context.Name(c) +
                       " is " + context.Text(parameter) + ", but the operand is " +
                       context.Text(operand));
    return;
  }
}

void CheckScatterDimensions(VerifyContext& context, InstructionId id) {
  const Module& module = context.module();
  const Instruction& i = module[id];
  if (i.operand_count == 0) return;
  int64_t rank = static_cast<int64_t>(module.shape(module.operands(i)[0]).rank());
  for (int64_t d : ScatterDimsOf(module, id).scatter_dims_to_operand_dims) {
    if (d >= 0 && d < rank) continue;
    context.Error(id, "scatter",
                  context.Name(id) + ": scatter_dims_to_operand_dims names dimension " +
                      to_string(d) + ", but the operand has rank " + to_string(rank));
  }
}

// Work on one thread is started from another only by an asynchronous instruction. That of a call
// or custom-call XLA checks only where it is asked to.
void CheckThreads(VerifyContext& context, InstructionId id) {
  const Instruction& i = context.module()[id];
  if (i.opcode == kAsyncStart || i.opcode == kAsyncUpdate || i.opcode == kAsyncDone ||
      i.opcode == kSelectAndScatter) {
    return;
  }
  context.ForEachCallee(id, [&](ComputationId c) {
    if (context.thread(c) == context.thread(i.computation)) return;
    std::string message = context.Name(id) + " runs on thread " +
                          std::string(context.thread(i.computation).substr(0, 100)) +
                          ", but calls " + context.Name(c) + ", which runs on thread " +
                          std::string(context.thread(c).substr(0, 100));
    constexpr std::string_view kHint = "use async-start, or set the same execution_thread on both";
    if (i.opcode == kCall || i.opcode == kCustomCall) {
      context.Strict(id, "execution-thread", std::move(message), std::string(kHint));
    } else {
      context.Error(id, "execution-thread", std::move(message), std::string(kHint));
    }
  });
}

constexpr OpcodeTable<void (*)(VerifyContext&, InstructionId)> kControlChecks = {
    {kCall, CheckCall},
    {kConditional, CheckConditional},
    {kMap, CheckReducerTypes},
    {kReduce, CheckReducerTypes},
    {kReduceWindow, CheckReducerTypes},
    {kScan, CheckScan},
    {kScatter, CheckScatterDimensions},
    {kSort, CheckSort},
    {kWhile, CheckWhile},
};

}  // namespace

void VerifyControl(VerifyContext& context) {
  for (InstructionId id : context.with_callees()) {
    if (context.full()) return;
    const auto check = kControlChecks[context.module()[id].opcode];
    if (check != nullptr) check(context, id);
    CheckThreads(context, id);
  }
}

}  // namespace hloscope::hlo
