// The numbers XLA's reader puts where a text elides a constant.
#include <algorithm>

#include "core/hlo/text/text_printer.h"

namespace hloscope::hlo {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 24;

// Of all elided arrays in it; 0 where there is nothing to make up.
uint64_t BytesOf(const Literal& literal) {
  if (!literal.elided()) return 0;
  if (literal.shape().IsArray()) {
    return static_cast<uint64_t>(literal.shape().ByteSize().value_or(0));
  }
  uint64_t bytes = 0;
  for (const Literal& element : literal.elements()) bytes += BytesOf(element);
  return bytes;
}

void Advance(const Literal& literal, InventedLiterals::Counter& counter) {
  for (const Literal& element : literal.elements()) Advance(element, counter);
  if (!literal.shape().IsArray()) return;
  const uint64_t bytes = BytesOf(literal);
  counter.word += static_cast<uint32_t>(bytes / 4);
  counter.byte = static_cast<uint8_t>(counter.byte + bytes % 4);
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
  Counter counter;
  auto count = static_cast<uint32_t>(module.instructions().size());
  for (uint32_t k = 0; k < count; ++k) {
    const Instruction& i = module.instructions()[k];
    if (i.opcode != Opcode::kConstant) continue;
    const Literal* literal = module.Get<Literal>(i, AttributeKey::kConstantValue);
    if (literal == nullptr || BytesOf(*literal) == 0) continue;
    starts_.push_back({InstructionId(k), counter});
    Advance(*literal, counter);
  }
}

std::optional<Literal> InventedLiterals::operator[](InstructionId id) const {
  auto start = std::lower_bound(starts_.begin(), starts_.end(), id,
                                [](const Start& s, InstructionId i) { return s.constant < i; });
  if (start == starts_.end() || start->constant != id) return std::nullopt;
  const Literal& literal = *module_.Get<Literal>(module_[id], AttributeKey::kConstantValue);
  if (BytesOf(literal) > kMaxBytes) return std::nullopt;
  Counter counter = start->counter;
  return Invent(literal, counter);
}

Literal InventedLiterals::Invent(const Literal& literal, Counter& counter) {
  if (!literal.elided()) return literal;
  if (!literal.shape().IsArray()) {
    std::vector<Literal> elements;
    for (const Literal& element : literal.elements()) elements.push_back(Invent(element, counter));
    return Literal::Tuple(std::move(elements));
  }
  const uint64_t size = BytesOf(literal);
  std::vector<std::byte> bytes(size);
  for (uint64_t k = 0; k < size / 4 * 4; ++k) {
    bytes[k] = static_cast<std::byte>((counter.word + k / 4) >> (k % 4 * 8));
  }
  // XLA counts bytes for the odd end, and writes them not there but behind as many bytes as there
  // are whole numbers.
  for (uint64_t k = 0; k < size % 4; ++k) {
    bytes[size / 4 + k] = static_cast<std::byte>(counter.byte + k);
  }
  Advance(literal, counter);
  ElementType type = literal.shape().element_type();
  std::transform(bytes.begin(), bytes.end(), bytes.begin(),
                 [type](std::byte b) { return Narrow(b, type); });
  return Literal::Dense(literal.shape(), std::move(bytes));
}

}  // namespace hloscope::hlo
