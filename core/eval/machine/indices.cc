#include "core/eval/machine/indices.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/eval/machine/strided_copy.h"
#include "core/eval/numbers/wide.h"

namespace hloscope::eval {

std::vector<int64_t> ReadIndices(const Value& value) {
  std::vector<int64_t> out(static_cast<size_t>(ElementCount(value.shape())));
  LoadIndices(value.shape().element_type(), value.data(), out);
  return out;
}

void LoadIndices(hlo::ElementType type, const std::byte* in, std::span<int64_t> out) {
  LoadAs<int64_t>(type, in, out.data(), std::ssize(out));
  if (type != hlo::ElementType::kU64) return;
  for (int64_t& i : out) i = i < 0 ? std::numeric_limits<int64_t>::max() : i;
}

std::vector<std::optional<int64_t>> IntegerScalars(std::span<const Value> values) {
  std::vector<std::optional<int64_t>> integers;
  for (const Value& value : values) {
    std::optional<int64_t>& integer = integers.emplace_back();
    if (!value.is_array() || !value.shape().IsScalar()) continue;
    if (hlo::IsInteger(value.shape().element_type())) integer = ReadIndices(value)[0];
  }
  return integers;
}

int64_t TakenBranch(const Value& selector, int64_t branches) {
  if (selector.shape().element_type() == hlo::ElementType::kPred) {
    return *selector.as<uint8_t>() != 0 ? 0 : 1;
  }
  const int64_t wanted = ReadIndices(selector)[0];
  return wanted < 0 || wanted >= branches ? branches - 1 : wanted;
}

bool NextIndex(std::span<int64_t> index, std::span<const int64_t> sizes) {
  for (size_t d = index.size(); d-- > 0;) {
    if (++index[d] < sizes[d]) return true;
    index[d] = 0;
  }
  return false;
}

std::vector<int64_t> IndexAt(int64_t flat, std::span<const int64_t> sizes) {
  std::vector<int64_t> index(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    index[d] = flat % sizes[d];
    flat /= sizes[d];
  }
  return index;
}

int64_t Offset(std::span<const int64_t> index, std::span<const int64_t> strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * strides[d];
  return offset;
}

Result<Value> LivePart(Machine& machine, const Value& value) {
  const auto live = value.literal().dynamic_sizes();
  if (live.empty()) return value;
  const hlo::ElementType type = value.shape().element_type();
  hlo::Shape shape = hlo::Shape::Array(type, std::vector<int64_t>(live.begin(), live.end()));
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, machine.Allocate(shape));
  HLOSCOPE_TRY(StridedCopy(live, RowMajorStrides(value.shape().dimensions()), RowMajorStrides(live),
                           hlo::StorageBytes(type))
                   .Run(machine, value.data(), buffer.data()));
  return Value::Array(std::move(shape), std::move(buffer));
}

Result<Value> WithinBounds(Machine& machine, const Value& live, const hlo::Shape& shape) {
  const auto sizes = live.shape().dimensions();
  if (std::ranges::equal(sizes, shape.dimensions())) return live.WithShape(shape);
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, machine.Allocate(shape));
  std::fill_n(buffer.data(), buffer.size, std::byte{0});
  HLOSCOPE_TRY(StridedCopy(sizes, RowMajorStrides(sizes), RowMajorStrides(shape.dimensions()),
                           hlo::StorageBytes(shape.element_type()))
                   .Run(machine, live.data(), buffer.data()));
  Value result = Value::Array(shape, std::move(buffer));
  result.set_dynamic_sizes({sizes.begin(), sizes.end()});
  return result;
}

Result<Buffer> OwnCopy(KernelCall& call, size_t i) {
  Buffer own = call.operands[i].TakeBuffer();
  if (own.data() != nullptr) return own;
  const auto bytes = call.operands[i].literal().bytes();
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer copy, call.machine.Allocate(static_cast<int64_t>(bytes.size())));
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return copy;
}

}  // namespace hloscope::eval
