// bitcast-convert: the same bits read as another element type. Where widths differ, the narrower
// elements of one wide element are its bits from the lowest up.
#include <cstring>

#include "core/eval/machine/kernels.h"
#include "core/eval/numbers/wide.h"

namespace hloscope::eval {
namespace {

// Bits [at, at + count) of an array whose elements are `bits` wide, each in its own storage.
class BitReader {
 public:
  BitReader(const std::byte* data, hlo::ElementType type)
      : data_(data), bits_(hlo::BitWidth(type)), bytes_(hlo::StorageBytes(type)) {}
  bool Bit(int64_t at) const {
    const int64_t element = at / bits_, bit = at % bits_;
    const std::byte byte = data_[element * bytes_ + bit / 8];
    return ((static_cast<unsigned>(byte) >> (bit % 8)) & 1) != 0;
  }

 private:
  const std::byte* data_;
  int bits_, bytes_;
};

}  // namespace

Result<Value> BitcastConvertKernel(KernelCall& call) {
  const hlo::ElementType from = call.operand_shape(0).element_type();
  const hlo::ElementType to = call.shape().element_type();
  const int bits = hlo::BitWidth(to);
  if (hlo::BitWidth(from) >= 8 && bits >= 8) {
    if (call.operand_shape(0).ByteSize() != call.shape().ByteSize()) {
      return Unsupported(call, "operand and result differ in size");
    }
    return call.operands[0].WithShape(call.shape());
  }
  const int64_t count = ElementCount(call.shape());
  if (count * bits != ElementCount(call.operand_shape(0)) * hlo::BitWidth(from)) {
    return Unsupported(call, "operand and result differ in size");
  }
  HLOSCOPE_ASSIGN_OR_RETURN(Buffer buffer, call.machine.Allocate(call.shape()));
  const BitReader reader(call.operands[0].data(), from);
  const auto bytes = static_cast<int64_t>(hlo::StorageBytes(to));
  for (int64_t i = 0; i < count; ++i) {
    uint64_t value = 0;
    for (int b = 0; b < bits; ++b) value |= uint64_t{reader.Bit(i * bits + b)} << b;
    if (hlo::IsSigned(to)) {
      value = static_cast<uint64_t>(SignExtend(static_cast<int64_t>(value), bits));
    }
    std::memcpy(buffer.data() + i * bytes, &value, static_cast<size_t>(bytes));
  }
  return Value::Array(call.shape(), std::move(buffer));
}

}  // namespace hloscope::eval
