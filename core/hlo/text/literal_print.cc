// Literals as XLA prints them on one line, without their shape.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "core/base/append.h"
#include "core/hlo/text/number_text.h"
#include "core/hlo/text/value_text.h"

namespace hloscope::hlo {
namespace {

constexpr int64_t kMaxElementsInFull = 10;

template <typename T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <typename Number>
bool SameBits(Number a, Number b) {
  using Bits = std::conditional_t<sizeof(Number) == 4, uint32_t, uint64_t>;
  return std::bit_cast<Bits>(a) == std::bit_cast<Bits>(b);
}

// Appends the elements of one array, which have one type, from its bytes.
class ElementAppender {
 public:
  ElementAppender(std::string& out, ElementType type, std::span<const std::byte> bytes, bool exact)
      : out_(out),
        type_(type),
        bytes_(bytes.data()),
        storage_(static_cast<size_t>(StorageBytes(type))),
        format_(FindFloatFormat(type)),
        exact_(exact) {}

  // `is_scalar`: a pred is spelled true or false, in arrays 1 or 0.
  void Append(size_t index, bool is_scalar) {
    const std::byte* at = bytes_ + index * storage_;
    switch (Info(type_).kind) {
      case ElementKind::kPred:
        AppendPred(at, is_scalar);
        break;
      case ElementKind::kSigned:
        AppendInteger(out_, LoadSigned(at));
        break;
      case ElementKind::kUnsigned:
        AppendInteger(out_, LoadUnsigned(at));
        break;
      case ElementKind::kFloat:
        AppendFloat(at);
        break;
      case ElementKind::kComplex:
        AppendComplex(at);
        break;
      case ElementKind::kNone:
        break;
    }
  }

 private:
  void AppendPred(const std::byte* at, bool is_scalar) {
    bool value = *at != std::byte{0};
    if (is_scalar) {
      out_ += value ? "true" : "false";
    } else {
      out_ += value ? '1' : '0';
    }
  }
  int64_t LoadSigned(const std::byte* at) const {
    if (storage_ == 1) return Load<int8_t>(at);
    if (storage_ == 2) return Load<int16_t>(at);
    return storage_ == 4 ? Load<int32_t>(at) : Load<int64_t>(at);
  }
  uint64_t LoadUnsigned(const std::byte* at) const {
    if (storage_ == 1) return Load<uint8_t>(at);
    if (storage_ == 2) return Load<uint16_t>(at);
    return storage_ == 4 ? Load<uint32_t>(at) : Load<uint64_t>(at);
  }
  // XLA's parser takes -0 for the integer 0.
  template <typename Number>
  void AppendNumber(Number value) {
    AppendLiteralNumber(out_, value);
    if (exact_ && value == 0 && std::signbit(value)) out_ += ".0";
  }
  void AppendFloat(const std::byte* at) {
    if (format_ != nullptr) {
      const auto bits = static_cast<uint32_t>(LoadUnsigned(at));
      if (exact_ && bits == 0 && format_->specials == FloatSpecials::kScale) {
        AppendLiteralNumber(out_, DecodeFloat(*format_, bits));  // its two digits would round up
        return;
      }
      AppendLiteralNumber(out_, *format_, bits);
      if (exact_ && DecodeFloat(*format_, bits) == 0 && bits != 0) out_ += ".0";
    } else if (storage_ == 4) {
      AppendNumber(Load<float>(at));
    } else {
      AppendNumber(Load<double>(at));
    }
  }
  // XLA's reader lets a plain nan of the real part overwrite the imaginary one; spelled with its
  // payload ours does not.
  template <typename Number>
  void AppendParts(Number real, Number imaginary, std::string_view usual_nan) {
    out_ += '(';
    AppendNumber(real);
    if (exact_ && std::isnan(real) && !SameBits(real, imaginary) && !out_.ends_with(')')) {
      out_ += usual_nan;
    }
    out_ += ", ";
    AppendNumber(imaginary);
    out_ += ')';
  }
  void AppendComplex(const std::byte* at) {
    if (type_ == ElementType::kC64) {
      AppendParts(Load<float>(at), Load<float>(at + 4), "(0x400000)");
    } else {
      AppendParts(Load<double>(at), Load<double>(at + 8), "(0x8000000000000)");
    }
  }

  std::string& out_;
  ElementType type_;
  const std::byte* bytes_;
  size_t storage_;
  const FloatFormat* format_;
  bool exact_;
};

// Writes the braces, commas and comments of one array.
class ArrayPrinter {
 public:
  ArrayPrinter(std::string& out, const Literal& literal, bool exact)
      : out_(out),
        literal_(literal),
        elements_(out, literal.shape().element_type(), literal.bytes(), exact),
        rank_(literal.shape().rank()) {}

  void Print() {
    if (rank_ == 0) {
      AppendOne(0);
      return;
    }
    index_.assign(rank_, 0);
    offsets_.assign(rank_, 0);
    strides_.assign(rank_, 1);
    for (size_t d = rank_ - 1; d > 0; --d) {
      strides_[d - 1] = strides_[d] * static_cast<size_t>(literal_.shape().dimension(d));
    }
    size_t depth = 0;  // dimension whose elements are being written
    Open(0);
    while (true) {
      if (index_[depth] == Size(depth)) {
        Close(depth);
        if (depth == 0) return;
        ++index_[--depth];
        continue;
      }
      if (depth + 1 == rank_) {
        PrintRow();
        continue;
      }
      if (index_[depth] != 0) out_ += ", ";
      offsets_[depth + 1] = offsets_[depth] + static_cast<size_t>(index_[depth]) * strides_[depth];
      ++depth;
      index_[depth] = 0;
      Open(depth);
    }
  }

 private:
  int64_t Size(size_t dimension) const {
    if (!literal_.dynamic_sizes().empty()) return literal_.dynamic_sizes()[dimension];
    return literal_.shape().dimension(dimension);
  }
  void PrintRow() {
    const size_t last = rank_ - 1;
    const auto count = static_cast<size_t>(Size(last));
    for (size_t i = 0; i < count; ++i) {
      if (i != 0) out_ += ", ";
      AppendOne(offsets_[last] + i);
    }
    index_[last] = Size(last);
  }
  void AppendOne(size_t index) { elements_.Append(index, rank_ == 0); }

  // A lone dimension is written {1, 2}. Otherwise an innermost row is { 1, 2 }, but without spaces
  // where it has one element or none; from rank 4 on the rows outside say where they are.
  void Open(size_t depth) {
    out_ += '{';
    if (rank_ == 1) return;
    if (depth + 1 == rank_) {
      if (Size(depth) > 1) out_ += ' ';
      return;
    }
    out_ += ' ';
    if (rank_ <= 3 || depth == 0) return;
    out_ += "/*i";
    AppendInteger(out_, depth - 1);
    out_ += '=';
    AppendInteger(out_, index_[depth - 1]);
    out_ += "*/";
    if (Size(depth) > 0) out_ += ' ';
  }
  void Close(size_t depth) {
    if (rank_ > 1 && (depth + 1 < rank_ || Size(depth) > 1)) out_ += ' ';
    out_ += '}';
  }

  std::string& out_;
  const Literal& literal_;
  ElementAppender elements_;
  size_t rank_;
  std::vector<int64_t> index_;
  std::vector<size_t> offsets_;  // of the first element of the row being written, per dimension
  std::vector<size_t> strides_;
};

void AppendInFull(std::string& out, const Literal& literal, bool exact);

void AppendTuple(std::string& out, const Literal& literal, bool exact) {
  auto is_elided = [](const Literal& element) { return element.elided(); };
  if (literal.elided() && std::ranges::all_of(literal.elements(), is_elided)) {
    out += "{...}";
    return;
  }
  out += "( ";
  bool first = true;
  for (const Literal& element : literal.elements()) {
    if (!first) out += ", ";
    first = false;
    AppendInFull(out, element, exact);
  }
  out += " )";
}

// Recurses as deep as the shape, whose nesting its reader has limited.
void AppendInFull(std::string& out, const Literal& literal, bool exact) {
  if (literal.shape().IsTuple()) {
    AppendTuple(out, literal, exact);
  } else if (literal.shape().IsToken()) {
    out += "token";
  } else if (literal.elided()) {
    out += "{...}";
  } else {
    ArrayPrinter(out, literal, exact).Print();
  }
}

}  // namespace

void AppendLiteral(std::string& out, const Literal& literal, bool elide_large, bool exact) {
  if (elide_large) {
    std::optional<int64_t> count =
        literal.shape().IsArray() ? literal.shape().ElementCount() : std::nullopt;
    if (!count || *count > kMaxElementsInFull) {
      out += "{...}";
      return;
    }
  }
  AppendInFull(out, literal, exact);
}

// Recurses as deep as the shape, whose nesting its reader has limited.
void AppendShapedLiteral(std::string& out, const Literal& literal, bool exact) {
  if (literal.shape().IsTuple()) {
    out += "( ";
    for (const Literal& element : literal.elements()) {
      if (&element != literal.elements().data()) out += ", ";
      AppendShapedLiteral(out, element, exact);
    }
    out += " )";
    return;
  }
  AppendTo(out, literal.shape().WithDefaultLayouts());
  out += ' ';
  AppendInFull(out, literal, exact);
}

void AppendElement(std::string& out, const Literal& literal, int64_t index) {
  ElementAppender(out, literal.shape().element_type(), literal.bytes(), false)
      .Append(static_cast<size_t>(index), true);
}

}  // namespace hloscope::hlo
