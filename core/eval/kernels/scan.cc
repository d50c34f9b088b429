// Kernel of scan: a body applied along one dimension, first to last (or backwards), each time to
// one slice of the inputs and the carries; what it yields is stacked, the last carries are results.
#include "core/eval/kernels/reduction.h"
#include "core/eval/machine/indices.h"
#include "core/eval/machine/kernels.h"
#include "core/eval/machine/strided_copy.h"

namespace hloscope::eval {
namespace {

using hlo::AttributeKey;
using hlo::Shape;

Shape WithoutDimension(const Shape& shape, size_t dimension) {
  std::vector<int64_t> sizes = Dimensions(shape);
  sizes.erase(sizes.begin() + static_cast<ptrdiff_t>(dimension));
  return Shape::Array(shape.element_type(), std::move(sizes));
}

// Copies slice i of an array along a dimension out of it, or into it.
class Slicer {
 public:
  Slicer(const Shape& array, size_t dimension)
      : slice_(WithoutDimension(array, dimension)),
        bytes_(hlo::StorageBytes(array.element_type())),
        step_(RowMajorStrides(array.dimensions())[dimension] * bytes_),
        dense_(RowMajorStrides(slice_.dimensions())),
        strides_(RowMajorStrides(array.dimensions())) {
    strides_.erase(strides_.begin() + static_cast<ptrdiff_t>(dimension));
  }
  const Shape& slice() const { return slice_; }
  void Take(const std::byte* array, int64_t i, std::byte* out) const {
    StridedCopy(slice_.dimensions(), strides_, dense_, bytes_).Run(array + i * step_, out);
  }
  void Put(const std::byte* slice, int64_t i, std::byte* array) const {
    StridedCopy(slice_.dimensions(), dense_, strides_, bytes_).Run(slice, array + i * step_);
  }

 private:
  Shape slice_;
  int bytes_;
  int64_t step_;
  std::vector<int64_t> dense_, strides_;
};

}  // namespace

Result<Value> ScanKernel(KernelCall& call) {
  const hlo::Module& module = call.module();
  const auto& instruction = call.instruction();
  const auto body = module.GetComputation(instruction, AttributeKey::kToApply);
  const auto d = static_cast<size_t>(module.GetInts(instruction, AttributeKey::kDimensions)[0]);
  const auto carries = static_cast<size_t>(module.GetInt(instruction, AttributeKey::kNumCarries));
  const bool reverse = module.GetBool(instruction, AttributeKey::kIsReverse);
  if (carries > call.operands.size())
    return Unsupported(call, "it has fewer operands than carries");
  const size_t inputs = call.operands.size() - carries;
  if (inputs == 0) return Unsupported(call, "it has no input to scan");

  std::vector<Value> carry(call.operands.begin() + static_cast<ptrdiff_t>(inputs),
                           call.operands.end());
  HLOSCOPE_ASSIGN_OR_RETURN(ReductionResults results, ReductionResults::Make(call));
  if (results.shapes.size() < carries) return Unsupported(call, "its result lacks the carries");
  const size_t outputs = results.shapes.size() - carries;
  std::vector<Slicer> in, out;
  for (size_t i = 0; i < inputs; ++i) in.emplace_back(call.operand_shape(i), d);
  for (size_t i = 0; i < outputs; ++i) out.emplace_back(results.shapes[i], d);

  const int64_t count = call.operand_shape(0).dimension(d);
  for (int64_t step = 0; step < count; ++step) {
    const int64_t at = reverse ? count - 1 - step : step;
    std::vector<Value> arguments;
    for (size_t i = 0; i < inputs; ++i) {
      HLOSCOPE_ASSIGN_OR_RETURN(Buffer slice, call.machine.Allocate(in[i].slice()));
      in[i].Take(call.operands[i].data(), at, slice.data());
      arguments.push_back(Value::Array(in[i].slice(), std::move(slice)));
    }
    arguments.insert(arguments.end(), carry.begin(), carry.end());
    HLOSCOPE_ASSIGN_OR_RETURN(const Value made, call.machine.Call(body, std::move(arguments)));
    const std::vector<Value> parts =
        made.is_tuple() ? std::vector<Value>(made.elements().begin(), made.elements().end())
                        : std::vector<Value>{made};
    if (parts.size() != outputs + carries)
      return Unsupported(call, "its computation does not match its operands");
    for (const Value& part : parts) {
      if (part.is_missing()) return part;
    }
    for (size_t i = 0; i < outputs; ++i) {
      if (!parts[i].is_array() || !hlo::Compatible(parts[i].shape(), out[i].slice())) {
        return Unsupported(call, "its computation does not match its operands");
      }
      out[i].Put(parts[i].data(), at, results.buffers[i].data());
    }
    carry.assign(parts.begin() + static_cast<ptrdiff_t>(outputs), parts.end());
  }
  const bool is_tuple = results.is_tuple;
  std::vector<Value> values;
  for (size_t i = 0; i < outputs; ++i) {
    values.push_back(Value::Array(results.shapes[i], results.buffers[i]));
  }
  values.insert(values.end(), carry.begin(), carry.end());
  return is_tuple ? Value::Tuple(std::move(values)) : std::move(values[0]);
}

}  // namespace hloscope::eval
