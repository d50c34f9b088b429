// Reading and writing .npy files: the header is a Python dictionary of three known keys.
#include "core/dump/tensors/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/checked.h"
#include "core/base/counted.h"

namespace hloscope::dump {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxHeaderBytes = kMaxNpyHeaderBytes - 12;

struct MlDtype {
  hlo::ElementType type;
  std::string_view name;
};
constexpr MlDtype kMlDtypes[] = {
#define ML_DTYPE(type, name) {hlo::ElementType::type, name},
#include "core/dump/tensors/ml_dtypes.def"
#undef ML_DTYPE
};
// What numpy writes for ml_dtypes' float8_e5m2, alone among them.
constexpr std::string_view kFloatOfOneByte = "f1";

// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } token by token.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  bool Take(char c) {
    Skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool TakeWord(std::string_view word) {
    Skip();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  std::optional<std::string_view> String() {
    Skip();
    if (at_ >= text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return std::nullopt;
    const size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return value;
  }
  std::optional<int64_t> Number() {
    Skip();
    int64_t value = 0;
    const char* end = text_.data() + text_.size();
    const auto [next, error] = std::from_chars(text_.data() + at_, end, value);
    if (error != std::errc() || value < 0) return std::nullopt;
    at_ = static_cast<size_t>(next - text_.data());
    Take('L');  // Python 2 wrote long integers so
    return value;
  }

 private:
  void Skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  std::string_view text_;
  size_t at_ = 0;
};

std::unexpected<Error> Bad(std::string_view name, std::string_view what, std::string hint = {}) {
  return InputError(fmt::format("{}: {}", name, what), std::move(hint));
}

bool IsNumber(NpyType type) {
  switch (type.kind) {
    case 'b':
      return type.bytes == 1;
    case 'i':
    case 'u':
      return type.bytes == 1 || type.bytes == 2 || type.bytes == 4 || type.bytes == 8;
    case 'f':
      return type.bytes == 2 || type.bytes == 4 || type.bytes == 8;
    case 'c':
      return type.bytes == 8 || type.bytes == 16;
    case 'V':
      return type.bytes == 1 || type.bytes == 2;
    default:
      return false;
  }
}

Status ReadType(std::string_view descr, std::string_view name, NpyArray& array) {
  if (descr.find('O') != std::string_view::npos) {
    return Bad(name, "an object array holds Python pickles, which are never read",
               "save it with a numeric dtype");
  }
  const auto* const named = std::ranges::find(kMlDtypes, descr, &MlDtype::name);
  if (named != std::end(kMlDtypes)) {
    array.type = {'V', hlo::StorageBytes(named->type), named->type};
    return {};
  }
  if (descr.size() == 3 && descr.substr(1) == kFloatOfOneByte) {
    array.type = {'V', 1, hlo::ElementType::kF8E5M2};
    return {};
  }
  int bytes = 0;
  const bool well_formed =
      descr.size() >= 3 &&
      std::from_chars(descr.data() + 2, descr.data() + descr.size(), bytes).ptr ==
          descr.data() + descr.size();
  if (well_formed) array.type = {.kind = descr[1], .bytes = bytes};
  if (!well_formed || !IsNumber(array.type)) {
    return Bad(name, fmt::format("dtype '{}' is not a number type this tool reads", descr));
  }
  array.big_endian = descr[0] == '>';
  return {};
}

Status ReadShape(HeaderReader& reader, std::string_view name, NpyArray& array) {
  if (!reader.Take('(')) return Bad(name, "the shape is not a tuple");
  while (!reader.Take(')')) {
    const auto size = reader.Number();
    if (!size) return Bad(name, "a dimension is not a number");
    array.dimensions.push_back(*size);
    if (reader.Take(',')) continue;
    if (reader.Take(')')) break;
    return Bad(name, "the shape does not end");
  }
  return {};
}

// `seen` has a bit for each key that was read.
Status ReadEntry(HeaderReader& reader, std::string_view name, NpyArray& array, unsigned& seen) {
  const auto key = reader.String();
  if (!key || !reader.Take(':')) return Bad(name, "the header is not a dictionary");
  const unsigned bit = *key == "descr" ? 1 : *key == "fortran_order" ? 2 : *key == "shape" ? 4 : 0;
  if ((seen & bit) != 0) return Bad(name, fmt::format("header key '{}' appears twice", *key));
  seen |= bit;
  if (*key == "descr") {
    const auto descr = reader.String();
    if (!descr) return Bad(name, "a structured dtype is not a number type this tool reads");
    return ReadType(*descr, name, array);
  }
  if (*key == "fortran_order") {
    array.fortran_order = reader.TakeWord("True");
    if (array.fortran_order || reader.TakeWord("False")) return {};
    return Bad(name, "fortran_order is neither True nor False");
  }
  if (*key == "shape") return ReadShape(reader, name, array);
  return Bad(name, fmt::format("unknown header key '{}'", *key));
}

Status ReadHeader(std::string_view text, std::string_view name, NpyArray& array) {
  HeaderReader reader(text);
  if (!reader.Take('{')) return Bad(name, "the header is not a dictionary");
  unsigned seen = 0;
  while (!reader.Take('}')) {
    HLOSCOPE_TRY(ReadEntry(reader, name, array, seen));
    if (reader.Take(',')) continue;
    if (reader.Take('}')) break;
    return Bad(name, "the header does not end");
  }
  if (seen != 7) return Bad(name, "the header must have descr, fortran_order and shape, once");
  return {};
}

uint32_t LittleEndian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<uint8_t>(bytes[i]);
  return value;
}

// The array without its data, of which it has so many bytes.
struct Layout {
  NpyArray array;
  size_t data_size = 0;
};

Result<Layout> ReadLayout(std::string_view bytes, uint64_t size, std::string_view name,
                          const Limits& limits) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 10) return Bad(name, "not a .npy file");
  const int version = static_cast<unsigned char>(bytes[6]);
  if (version < 1 || version > 3) {
    return Bad(name, fmt::format(".npy version {} is not known (1, 2 and 3 are)", version));
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  if (bytes.size() < 8 + length_bytes) return Bad(name, "the header is cut off");
  const size_t header_bytes = LittleEndian(bytes.substr(8, length_bytes));
  if (header_bytes > kMaxHeaderBytes) return Bad(name, "the header is larger than 64 KiB");
  Layout layout;
  NpyArray& array = layout.array;
  array.data_at = 8 + length_bytes + header_bytes;
  if (bytes.size() < array.data_at) return Bad(name, "the header is cut off");
  HLOSCOPE_TRY(ReadHeader(bytes.substr(8 + length_bytes, header_bytes), name, array));
  if (static_cast<int64_t>(array.dimensions.size()) > limits.rank) {
    return Bad(name, fmt::format("more than {}", Counted(limits.rank, "dimension")));
  }
  const auto count = CheckedProduct(array.dimensions);
  const auto wanted = count ? CheckedMul(*count, int64_t{array.type.bytes}) : std::nullopt;
  if (!wanted || std::cmp_greater(*wanted, size - array.data_at)) {
    return Bad(name, fmt::format("{} of data are less than the shape needs",
                                 Counted(size - array.data_at, "byte")));
  }
  layout.data_size = static_cast<size_t>(*wanted);
  return layout;
}

}  // namespace

Result<NpyArray> ReadNpy(std::string_view bytes, std::string_view name, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(Layout layout, ReadLayout(bytes, bytes.size(), name, limits));
  layout.array.data = bytes.substr(layout.array.data_at, layout.data_size);
  return std::move(layout.array);
}

Result<NpyArray> ReadNpyHeader(std::string_view head, uint64_t size, std::string_view name,
                               const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(Layout layout, ReadLayout(head, size, name, limits));
  return std::move(layout.array);
}

std::string_view MlDtypeName(hlo::ElementType type) {
  const auto* const row = std::ranges::find(kMlDtypes, type, &MlDtype::type);
  return row == std::end(kMlDtypes) ? "" : row->name;
}

std::string ToString(NpyType type, bool big_endian) {
  if (type.extended != hlo::ElementType::kInvalid) return std::string(MlDtypeName(type.extended));
  const char order = type.bytes == 1 || type.kind == 'V' ? '|' : big_endian ? '>' : '<';
  return fmt::format("{}{}{}", order, type.kind, type.bytes);
}

std::string WriteNpy(NpyType type, std::span<const int64_t> dimensions, std::string_view data) {
  std::string shape;
  for (int64_t d : dimensions) shape += fmt::format("{}, ", d);
  if (dimensions.size() == 1) shape.pop_back();
  if (dimensions.size() > 1) shape.resize(shape.size() - 2);
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                   ToString(type), shape);
  // The data start at a multiple of 64, as numpy has it.
  while ((kMagic.size() + 4 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string out(kMagic);
  out += '\1';
  out += '\0';
  out += static_cast<char>(header.size() & 0xff);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out += data;
  return out;
}

}  // namespace hloscope::dump
