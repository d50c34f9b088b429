// The numbers XLA's reader puts where a text elides a constant.
#include <algorithm>

#include "core/hlo/text/text_printer.h"

namespace hloscope::hlo {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 24;

// 0 where there is nothing to make up.
uint64_t BytesOf(const Literal& literal) {
  if (!literal.elided() || !literal.shape().IsArray()) return 0;
  return static_cast<uint64_t>(literal.shape().ByteSize().value_or(0));
}

// What a byte of memory means as a value of a type narrower than a byte.
std::byte Narrow(std::byte byte, ElementType type) {
  auto value = static_cast<uint8_t>(byte);
  int bits = BitWidth(type);
  if (type == ElementType::kPred) bits = 1;
  if (bits >= 8) return byte;
  value = static_cast<uint8_t>(value & ((1u << bits) - 1));
  bool negative = IsSigned(type) && (value >> (bits - 1) & 1) != 0;
  if (negative) value = static_cast<uint8_t>(value | (0xffu << bits));
  return std::byte{value};
}

}  // namespace

InventedLiterals::InventedLiterals(const Module& module) : module_(module) {
  uint32_t word = 0;
  uint8_t byte = 0;
  auto count = static_cast<uint32_t>(module.instructions().size());
  for (uint32_t k = 0; k < count; ++k) {
    const Instruction& i = module.instructions()[k];
    if (i.opcode != Opcode::kConstant) continue;
    const Literal* literal = module.Get<Literal>(i, AttributeKey::kConstantValue);
    uint64_t bytes = literal == nullptr ? 0 : BytesOf(*literal);
    if (bytes == 0) continue;
    starts_.push_back({InstructionId(k), word, byte});
    word += static_cast<uint32_t>(bytes / 4);
    byte = static_cast<uint8_t>(byte + bytes % 4);
  }
}

std::optional<Literal> InventedLiterals::operator[](InstructionId id) const {
  auto start = std::lower_bound(starts_.begin(), starts_.end(), id,
                                [](const Start& s, InstructionId i) { return s.constant < i; });
  if (start == starts_.end() || start->constant != id) return std::nullopt;
  const Literal& literal = *module_.Get<Literal>(module_[id], AttributeKey::kConstantValue);
  uint64_t size = BytesOf(literal);
  if (size > kMaxBytes) return std::nullopt;
  std::vector<std::byte> bytes(size);
  for (uint64_t k = 0; k < size / 4 * 4; ++k) {
    bytes[k] = static_cast<std::byte>((start->word + k / 4) >> (k % 4 * 8));
  }
  // XLA counts bytes for the odd end, and writes them not there but behind as many bytes as there
  // are whole numbers.
  for (uint64_t k = 0; k < size % 4; ++k) {
    bytes[size / 4 + k] = static_cast<std::byte>(start->byte + k);
  }
  ElementType type = literal.shape().element_type();
  std::transform(bytes.begin(), bytes.end(), bytes.begin(),
                 [type](std::byte b) { return Narrow(b, type); });
  return Literal::Dense(literal.shape(), std::move(bytes));
}

}  // namespace hloscope::hlo
