// FlushDenormals: every word whose exponent bits are zero.
#include "core/analysis/denormals.h"

#include <cstring>

namespace hloscope::analysis {

using hlo::ElementType;
using hlo::Literal;

namespace {

template <typename Word>
void FlushWords(std::span<std::byte> bytes, Word exponent_mask) {
  constexpr Word kSign = static_cast<Word>(Word{1} << (8 * sizeof(Word) - 1));
  for (size_t at = 0; at + sizeof(Word) <= bytes.size(); at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes.data() + at, sizeof(Word));
    if ((word & exponent_mask) != 0) continue;
    word = static_cast<Word>(word & kSign);
    std::memcpy(bytes.data() + at, &word, sizeof(Word));
  }
}

}  // namespace

Literal FlushDenormals(const Literal& literal) {
  if (literal.shape().IsTuple()) {
    std::vector<Literal> elements;
    for (const Literal& element : literal.elements()) {
      elements.push_back(FlushDenormals(element));
    }
    return Literal::Tuple(std::move(elements));
  }
  if (literal.elided()) return literal;
  std::vector<std::byte> bytes(literal.bytes().begin(), literal.bytes().end());
  switch (hlo::RealPart(literal.shape().element_type())) {
    case ElementType::kF64:
      FlushWords<uint64_t>(bytes, 0x7ff0000000000000u);
      break;
    case ElementType::kF32:
      FlushWords<uint32_t>(bytes, 0x7f800000u);
      break;
    case ElementType::kBF16:
      FlushWords<uint16_t>(bytes, 0x7f80u);
      break;
    default:
      return literal;
  }
  Literal flushed = Literal::Dense(literal.shape(), std::move(bytes));
  const auto live = literal.dynamic_sizes();
  flushed.set_dynamic_sizes({live.begin(), live.end()});
  return flushed;
}

}  // namespace hloscope::analysis
