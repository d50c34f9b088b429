// What the evaluator shows of a fusion, as bits.
#include "core/debug/explain/kernels/value_signatures.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/eval/machine/evaluator.h"
#include "core/eval/numbers/wide.h"
#include "core/hlo/opcode_table.h"

namespace hloscope::debug {
namespace {

// More are not searched through: among so many values any bits are found.
constexpr int64_t kMaxElements = 1 << 22;
constexpr uint64_t kMaxUlp = 4;

// They hand on what others make.
constexpr hlo::OpcodeSet kMakeNothing = {
    hlo::Opcode::kParameter, hlo::Opcode::kConstant, hlo::Opcode::kBitcast,
    hlo::Opcode::kBroadcast, hlo::Opcode::kReshape,  hlo::Opcode::kTranspose,
    hlo::Opcode::kCopy,      hlo::Opcode::kTuple,    hlo::Opcode::kGetTupleElement,
    hlo::Opcode::kFusion,    hlo::Opcode::kCall};

double FloatOf(hlo::ElementType type, uint64_t bits) {
  std::byte bytes[8];
  std::memcpy(bytes, &bits, sizeof bits);
  eval::Complex value;
  eval::LoadAs(type, bytes, &value, 1);
  return value.real();
}

bool SaysNothing(hlo::ElementType type, uint64_t bits, uint32_t bytes) {
  if (!hlo::IsFloat(type)) {
    const uint64_t sign = uint64_t{1} << (8 * bytes - 1);
    const auto value = static_cast<int64_t>((bits ^ sign) - sign);
    return value >= -256 && value <= 256;
  }
  const double value = FloatOf(type, bits);
  return std::isnan(value) || std::isinf(value) ||
         (std::fabs(value) <= 16 && value == std::trunc(value));
}

// Bits of a float in the order of its values.
uint64_t Ordered(uint64_t bits, uint32_t bytes) {
  const uint64_t sign = uint64_t{1} << (8 * bytes - 1);
  return (bits & sign) != 0 ? sign - (bits & (sign - 1)) : sign + bits;
}

uint64_t UlpBetween(uint64_t a, uint64_t b, uint32_t bytes) {
  const uint64_t x = Ordered(a, bytes), y = Ordered(b, bytes);
  return x > y ? x - y : y - x;
}

bool IsKept(const hlo::Module& module, hlo::InstructionId id, const hlo::Literal& value) {
  return !kMakeNothing.Has(module[id].opcode) && value.shape().IsArray() &&
         value.shape().ElementCount().value_or(0) <= kMaxElements;
}

class Collector : public runtime::Observer {
 public:
  explicit Collector(const hlo::Module& module) : module_(module) {}

  Status OnValue(const runtime::Site& site, std::span<const runtime::Value>,
                 const runtime::Value& value) override {
    if (!value.is_array() || !IsKept(module_, site.instruction, value.literal())) return {};
    values.emplace_back(site.instruction, value.literal());
    return {};
  }

  std::vector<std::pair<hlo::InstructionId, hlo::Literal>> values;

 private:
  const hlo::Module& module_;
};

}  // namespace

Result<ValueSignatures> ValueSignatures::Make(const hlo::Module& alone,
                                              std::span<const hlo::Literal> arguments,
                                              int64_t element, int64_t elements) {
  Collector collector(alone);
  eval::EvaluateOptions options;
  options.observer = &collector;
  HLOSCOPE_TRY(eval::Evaluate(alone, arguments, options));
  return Of(alone, collector.values, element, elements);
}

ValueSignatures ValueSignatures::Of(
    const hlo::Module& alone, std::span<const std::pair<hlo::InstructionId, hlo::Literal>> values,
    int64_t element, int64_t elements) {
  ValueSignatures signatures;
  for (const auto& [id, literal] : values) {
    if (!IsKept(alone, id, literal)) continue;
    const hlo::ElementType type = literal.shape().element_type();
    const auto bytes = static_cast<uint32_t>(hlo::StorageBytes(type));
    if (bytes < 2 || bytes > 8 || hlo::IsComplex(type)) continue;
    const auto count = std::ssize(literal.bytes()) / bytes;
    Row row{std::string(alone.name(id)), type, bytes, count == elements, 0, {}};
    const auto at = [&](int64_t i) {
      uint64_t bits = 0;
      std::memcpy(&bits, literal.bytes().data() + i * bytes, bytes);
      return bits;
    };
    if (row.has_element && element < count) row.element = at(element);
    for (int64_t i = 0; i < count; ++i) {
      if (const uint64_t bits = at(i); !SaysNothing(type, bits, bytes)) row.sorted.push_back(bits);
    }
    std::ranges::sort(row.sorted);
    const auto again = std::ranges::unique(row.sorted);
    row.sorted.erase(again.begin(), again.end());
    signatures.rows_.push_back(std::move(row));
  }
  return signatures;
}

SignatureMatch ValueSignatures::Find(uint64_t bits, uint32_t bytes) const {
  const Row* near = nullptr;
  for (const Row& row : rows_) {
    if (row.bytes != bytes || SaysNothing(row.type, bits, bytes)) continue;
    if (!row.has_element) continue;
    if (row.element == bits) return {row.instruction, true, true};
    const bool is_near = hlo::IsFloat(row.type) && UlpBetween(row.element, bits, bytes) <= kMaxUlp;
    if (is_near && near == nullptr) near = &row;
  }
  if (near != nullptr) return {near->instruction, false, true};
  for (const Row& row : rows_) {
    if (row.bytes != bytes || SaysNothing(row.type, bits, bytes)) continue;
    if (std::ranges::binary_search(row.sorted, bits)) return {row.instruction, true, false};
  }
  return {};
}

SignatureMatch ValueSignatures::FindIn(uint64_t bits, uint32_t bytes, std::string_view type) const {
  SignatureMatch match = Find(bits, bytes);
  if (!match.instruction.empty() || bytes != 4 || !type.ends_with("x2")) return match;
  for (const int shift : {0, 16}) {
    SignatureMatch half = Find(bits >> shift & 0xffff, 2);
    if (!half.instruction.empty()) return half;
  }
  return match;
}

}  // namespace hloscope::debug
