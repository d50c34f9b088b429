// Reading literals: the text between the parentheses of constant().
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/base/counted.h"
#include "core/hlo/text/element_reader.h"
#include "core/hlo/text/text_parts.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

// The most bytes that may follow a lone number standing for a whole array: of zeros, which all
// literals share and which cost address space only, and of anything else.
constexpr int64_t kMaxSharedZeros = int64_t{64} << 20;
constexpr int64_t kMaxFilledBytes = 4096;

const std::byte* SharedZeros() {
  static const void* zeros = std::calloc(1, static_cast<size_t>(kMaxSharedZeros));
  return static_cast<const std::byte*>(zeros);
}

// Reads the braces of one array and counts what it finds against its shape.
class ArrayReader {
 public:
  ArrayReader(TextCursor& cursor, const Shape& shape, int64_t total_bytes)
      : cursor_(cursor),
        shape_(shape),
        total_bytes_(static_cast<size_t>(total_bytes)),
        storage_(static_cast<size_t>(StorageBytes(shape.element_type()))),
        elements_(cursor, shape.element_type()),
        seen_(shape.rank(), 0) {}

  Parsed<Literal> Read() {
    if (cursor_.Peek() != '{') return ReadLoneElement();
    do {
      HLOSCOPE_TRY(ReadToken());
    } while (level_ > 0);
    // Of no elements nothing is missing.
    if (elided_ && total_bytes_ > 0) return Literal::Elided(shape_);
    bytes_.resize(used_);
    return Literal::Dense(shape_, std::move(bytes_));
  }

 private:
  // A comma, a brace, an ellipsis or an element.
  Parsed<void> ReadToken() {
    switch (cursor_.Peek()) {
      case ',':
        cursor_.Consume(',');
        return {};
      case '{':
        return Open();
      case '}':
        return Close();
      case '.':
        return ReadEllipsis();
      default:
        return ReadElement();
    }
  }

  Parsed<void> Open() {
    const uint64_t start = cursor_.offset();
    if (level_ == shape_.rank()) {
      return std::unexpected(
          BadLiteral(start, "braces are nested " + std::to_string(level_ + 1) + " deep, expected " +
                                std::to_string(shape_.rank()) + " for " + ToString(shape_, false)));
    }
    if (level_ > 0) HLOSCOPE_TRY(Count(level_ - 1, start));
    ++level_;
    cursor_.Consume('{');
    return {};
  }

  Parsed<void> Close() {
    --level_;
    if (seen_[level_] != shape_.dimension(level_)) {
      return std::unexpected(CountMismatch(level_, seen_[level_], cursor_.offset()));
    }
    seen_[level_] = 0;
    cursor_.Consume('}');
    return {};
  }

  Parsed<void> ReadEllipsis() {
    const uint64_t start = cursor_.offset();
    if (!cursor_.Consume("...")) return std::unexpected(cursor_.Expected("a number", "constant"));
    if (level_ != 1) {
      return std::unexpected(BadLiteral(start, "... inside nested braces",
                                        "write {...} in place of the whole constant"));
    }
    elided_ = true;
    seen_[0] = shape_.dimension(0);
    return {};
  }

  Parsed<void> ReadElement() {
    if (cursor_.AtEnd()) return std::unexpected(cursor_.Expected("}", "constant"));
    const uint64_t start = cursor_.offset();
    if (level_ != shape_.rank()) {
      return std::unexpected(BadLiteral(start, "element is inside " + Counted(level_, "brace") +
                                                   ", expected " + std::to_string(shape_.rank()) +
                                                   " for " + ToString(shape_, false)));
    }
    HLOSCOPE_TRY(Count(level_ - 1, start));
    return elements_.Read(Room());
  }

  // One more element of dimension `d`.
  Parsed<void> Count(size_t d, uint64_t offset) {
    if (++seen_[d] <= shape_.dimension(d)) return {};
    return std::unexpected(CountMismatch(d, seen_[d], offset));
  }

  Diagnostic CountMismatch(size_t d, int64_t seen, uint64_t offset) const {
    bool too_many = seen > shape_.dimension(d);
    return BadLiteral(offset, "constant has " + std::string(too_many ? "more than " : "") +
                                  std::to_string(too_many ? seen - 1 : seen) +
                                  " elements in dimension " + std::to_string(d) + ", expected " +
                                  std::to_string(shape_.dimension(d)));
  }

  // Room for the next element. Grows with what was read, never beyond what is needed.
  std::byte* Room() {
    if (used_ + storage_ > bytes_.size()) {
      bytes_.resize(std::min(total_bytes_, std::max<size_t>(2 * bytes_.size(), 64 * storage_)));
    }
    std::byte* room = bytes_.data() + used_;
    used_ += storage_;
    return room;
  }

  // A scalar; or the first element of an array whose others are zero.
  Parsed<Literal> ReadLoneElement() {
    const uint64_t start = cursor_.offset();
    std::byte element[16] = {};
    HLOSCOPE_TRY(elements_.Read(element));
    if (total_bytes_ == 0) {
      return std::unexpected(
          BadLiteral(start, "constant has 1 element, expected none", "write {}"));
    }
    const bool is_zero =
        std::all_of(element, element + storage_, [](std::byte b) { return b == std::byte{0}; });
    if (total_bytes_ > storage_ && is_zero &&
        total_bytes_ <= static_cast<size_t>(kMaxSharedZeros) && SharedZeros() != nullptr) {
      return Literal::View(shape_, {SharedZeros(), total_bytes_}, nullptr);
    }
    if (total_bytes_ > static_cast<size_t>(kMaxFilledBytes)) return Literal::Elided(shape_);
    std::vector<std::byte> bytes(total_bytes_);
    std::memcpy(bytes.data(), element, storage_);
    return Literal::Dense(shape_, std::move(bytes));
  }

  TextCursor& cursor_;
  const Shape& shape_;
  size_t total_bytes_;
  size_t storage_;
  ElementReader elements_;
  std::vector<int64_t> seen_;  // elements so far, per dimension
  size_t level_ = 0;
  bool elided_ = false;
  std::vector<std::byte> bytes_;
  size_t used_ = 0;
};

Parsed<Literal> ReadArray(TextCursor& cursor, const Shape& shape, const Limits& limits) {
  cursor.SkipSpace();
  std::optional<int64_t> bytes = shape.ByteSize();
  if (!bytes) {
    return std::unexpected(BadLiteral(
        cursor.offset(), "constant of shape " + ToString(shape, false) + " has too many elements"));
  }
  if (*bytes > limits.tensor_bytes) {
    return std::unexpected(OverLimit(cursor, "bytes in one array", limits.tensor_bytes, "tensor"));
  }
  return ArrayReader(cursor, shape, *bytes).Read();
}

// ( a, b ). Recurses as deep as the shape, whose nesting its reader has limited.
Parsed<Literal> ReadTuple(TextCursor& cursor, const Shape& shape, const Limits& limits) {
  HLOSCOPE_TRY(Require(cursor, '(', "( before the elements of a tuple", "constant"));
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) {
    if (!elements.empty()) cursor.Consume(',');
    if (cursor.Peek() == ')') {
      return std::unexpected(
          BadLiteral(cursor.offset(), "constant has " + Counted(elements.size(), "tuple element") +
                                          ", expected " + std::to_string(shape.elements().size())));
    }
    HLOSCOPE_ASSIGN_OR_RETURN(Literal literal, ReadLiteral(cursor, element, limits));
    elements.push_back(std::move(literal));
  }
  HLOSCOPE_TRY(Require(cursor, ')', ") after the elements of a tuple", "constant"));
  return Literal::Tuple(std::move(elements));
}

}  // namespace

Parsed<Literal> ReadLiteral(TextCursor& cursor, const Shape& shape, const Limits& limits) {
  if (shape.IsTuple()) {
    TextCursor ahead = cursor;
    if (ahead.Consume('{') && ahead.Consume("...") && ahead.Consume('}')) {
      cursor = ahead;
      return Literal::Elided(shape);
    }
    return ReadTuple(cursor, shape, limits);
  }
  if (shape.IsArray()) return ReadArray(cursor, shape, limits);
  cursor.SkipSpace();
  return std::unexpected(BadLiteral(
      cursor.offset(), "constant has shape " + ToString(shape) + ", expected an array or a tuple"));
}

}  // namespace hloscope::hlo
