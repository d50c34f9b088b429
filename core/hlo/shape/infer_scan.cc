// Shape rule of scan (XLA: ShapeVerifier::HandleScan): the computation takes one slice of every
// input and the carries, and answers one slice of every output and the new carries.
#include "core/base/counted.h"
#include "core/hlo/shape/infer.h"
#include "fmt/format.h"

namespace hloscope::hlo {
namespace {

struct Scan {
  size_t inputs = 0, outputs = 0, carries = 0;
  size_t dimension = 0;
  int64_t size = Shape::kUnboundedSize;  // of the scanned dimension
  std::span<const Shape> roots;          // outputs, then carries
};

Result<Scan> ReadScan(const InferenceInput& input, const ProgramShape& program) {
  HLOSCOPE_ASSIGN_OR_RETURN(int64_t carries, NeedInt(input, AttributeKey::kNumCarries));
  Scan scan;
  scan.roots = input.module[program.result].results();
  size_t operands = input.operands.size();
  if (carries < 0 || std::cmp_greater(carries, operands) ||
      std::cmp_greater(carries, scan.roots.size())) {
    return Fail(input,
                fmt::format("has num_carries={}, {} and {}", carries, Counted(operands, "operand"),
                            Counted(scan.roots.size(), "result")));
  }
  scan.carries = static_cast<size_t>(carries);
  scan.inputs = operands - scan.carries;
  scan.outputs = scan.roots.size() - scan.carries;
  if (scan.inputs == 0 && scan.outputs == 0) {
    return Fail(input, "has only carries, expected an input or an output");
  }
  if (program.parameters.size() != operands) {
    return Fail(input,
                fmt::format("has {}, but a computation with {}", Counted(operands, "operand"),
                            Counted(program.parameters.size(), "parameter")));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(auto dimensions, NeedInts(input, AttributeKey::kDimensions));
  if (dimensions.size() != 1 || dimensions[0] < 0) {
    return Fail(input, fmt::format("has dimensions={}, expected 1 dimension", Text(dimensions)));
  }
  scan.dimension = static_cast<size_t>(dimensions[0]);
  return scan;
}

// `shape` without the scanned dimension.
Shape SliceOf(const Shape& shape, size_t dimension) {
  Shape slice = Shape::Array(shape.element_type(), {});
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (i != dimension) AppendDimension(slice, shape, i);
  }
  return slice;
}

Status CheckInputs(const InferenceInput& input, const ProgramShape& program, Scan& scan) {
  for (size_t i = 0; i < input.operands.size(); ++i) {
    const Shape& operand = *input.operands[i];
    Shape expected = operand;
    if (i < scan.inputs) {
      if (!operand.IsArray() || scan.dimension >= operand.rank() ||
          !SizesAgree(operand.dimension(scan.dimension), scan.size)) {
        return Fail(
            input,
            fmt::format("has input {}, expected an array{} along dimension {}", Text(operand),
                        i == 0 ? "" : fmt::format(" of size {}", scan.size), scan.dimension));
      }
      scan.size = operand.dimension(scan.dimension);
      expected = SliceOf(operand, scan.dimension);
    }
    const Shape& parameter = input.module[program.parameters[i]];
    if (CompatibleIgnoringPrecision(parameter, expected)) continue;
    return Fail(input, fmt::format("has a computation with parameter {} of shape {}, expected {}",
                                   i, Text(parameter), Text(expected)));
  }
  return {};
}

// Where there are no inputs, the size of the scanned dimension stands only in the result.
Status TakeDeclaredSize(const InferenceInput& input, Scan& scan) {
  if (scan.inputs != 0) return {};
  HLOSCOPE_ASSIGN_OR_RETURN(const Shape* declared, NeedDeclared(input));
  std::span<const Shape> results = declared->results();
  if (results.empty() || !results[0].IsArray() || scan.dimension >= results[0].rank()) {
    return Fail(input, fmt::format("has result {}, expected arrays with dimension {}",
                                   Text(*declared), scan.dimension));
  }
  scan.size = results[0].dimension(scan.dimension);
  return {};
}

}  // namespace

Result<Shape> InferScan(const InferenceInput& input) {
  HLOSCOPE_ASSIGN_OR_RETURN(const ProgramShape* program,
                            NeedProgram(input, AttributeKey::kToApply));
  HLOSCOPE_ASSIGN_OR_RETURN(Scan scan, ReadScan(input, *program));
  HLOSCOPE_TRY(CheckInputs(input, *program, scan));
  HLOSCOPE_TRY(TakeDeclaredSize(input, scan));
  std::vector<Shape> results;
  for (size_t i = 0; i < scan.roots.size(); ++i) {
    const Shape& root = scan.roots[i];
    if (i >= scan.outputs) {
      const Shape& carry = input.module[program->parameters[i - scan.outputs + scan.inputs]];
      if (!CompatibleIgnoringPrecision(root, carry)) {
        return Fail(input, fmt::format("has a computation that takes carry {} and returns {}",
                                       Text(carry), Text(root)));
      }
      results.push_back(carry);
      continue;
    }
    if (!root.IsArray() || scan.dimension > root.rank()) {
      return Fail(input, fmt::format("has a computation with result {}, expected arrays of rank ≥ "
                                     "{}",
                                     Text(root), scan.dimension));
    }
    Shape result = Shape::Array(root.element_type(), {});
    for (size_t d = 0; d <= root.rank(); ++d) {
      if (d == scan.dimension) result.add_dimension(scan.size, IsUnbounded(scan.size));
      if (d < root.rank()) AppendDimension(result, root, d);
    }
    results.push_back(std::move(result));
  }
  // A single result may stand alone or in a tuple, whichever form the computation answers.
  bool tuple = input.module[program->result].IsTuple();
  if (results.size() == 1 && input.declared != nullptr) tuple = input.declared->IsTuple();
  if (!tuple) return std::move(results[0]);
  return Shape::Tuple(std::move(results));
}

}  // namespace hloscope::hlo
