// Elements are brought to the form of literals window by window.
#include "core/dump/tensors/array_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/counted.h"
#include "core/dump/tensors/tensor_values.h"

namespace hloscope::dump {
namespace {

using hlo::ElementType;

constexpr uint64_t kSkipped = uint64_t{1} << 20;  // bytes at a time

// The element type of a numpy type. Two raw bytes are what numpy writes of ml_dtypes' bfloat16; one
// may be any of its narrow types, and is an integer.
Result<ElementType> ElementTypeOf(NpyType type, std::string_view name) {
  constexpr ElementType kCandidates[] = {ElementType::kPred, ElementType::kS8,  ElementType::kS16,
                                         ElementType::kS32,  ElementType::kS64, ElementType::kU8,
                                         ElementType::kU16,  ElementType::kU32, ElementType::kU64,
                                         ElementType::kF16,  ElementType::kF32, ElementType::kF64,
                                         ElementType::kC64,  ElementType::kC128};
  if (type.extended != ElementType::kInvalid) return type.extended;
  if (type == NpyType{.kind = 'V', .bytes = 2}) return ElementType::kBF16;
  for (ElementType candidate : kCandidates) {
    if (NpyTypeOf(candidate) == type) return candidate;
  }
  return InputError(fmt::format("{}: XLA has no element type {}", name, ToString(type)));
}

}  // namespace

Result<ArrayForm> FormOf(NpyArray& array, std::string_view place, const Limits& limits) {
  ArrayForm form;
  form.is_raw = array.type == NpyType{.kind = 'V', .bytes = 1};
  if (form.is_raw) array.type.kind = 'u';
  HLOSCOPE_ASSIGN_OR_RETURN(const ElementType type, ElementTypeOf(array.type, place));
  if (static_cast<int64_t>(array.dimensions.size()) > limits.rank) {
    return InputError(fmt::format("{}: {}, at most {}", place,
                                  Counted(array.dimensions.size(), "dimension"), limits.rank));
  }
  form.shape = hlo::Shape::Array(type, array.dimensions);
  return form;
}

Result<ArrayWindows> ArrayWindows::Make(NpyArray array, std::string place, NextBytes next,
                                        const Limits& limits) {
  ArrayWindows windows;
  HLOSCOPE_ASSIGN_OR_RETURN(windows.form_, FormOf(array, place, limits));
  windows.left_ = windows.form_.shape.ElementCount().value_or(0);
  windows.place_ = std::move(place);
  windows.array_ = std::move(array);
  windows.next_ = std::move(next);
  if (windows.left_ == 0) HLOSCOPE_TRY(windows.next_(0));
  return windows;
}

Result<ArrayWindows> ArrayWindows::Of(const FileParts& file, const Limits& limits) {
  const uint64_t head = std::min<uint64_t>(file.size(), kMaxNpyHeaderBytes);
  HLOSCOPE_ASSIGN_OR_RETURN(const std::string bytes, file.Read(0, head));
  HLOSCOPE_ASSIGN_OR_RETURN(NpyArray array, ReadNpyHeader(bytes, file.size(), file.path(), limits));
  const auto next = [file, at = uint64_t{array.data_at}](uint64_t size) mutable {
    const uint64_t from = std::exchange(at, at + size);
    return file.Read(from, size);
  };
  return Make(std::move(array), file.path(), next, limits);
}

Result<ArrayWindows> ArrayWindows::Of(const NpzArchive& archive, const std::string& name,
                                      const Limits& limits) {
  const std::string place = archive.path() + ":" + name;
  HLOSCOPE_ASSIGN_OR_RETURN(const std::string head, archive.ReadHead(name, kMaxNpyHeaderBytes));
  HLOSCOPE_ASSIGN_OR_RETURN(NpyArray array,
                            ReadNpyHeader(head, archive.SizeOf(name), place, limits));
  HLOSCOPE_ASSIGN_OR_RETURN(ZipMemberReader made, archive.Reader(name));
  const auto reader = std::make_shared<ZipMemberReader>(std::move(made));
  HLOSCOPE_TRY(reader->Next(array.data_at));
  const auto next = [reader](uint64_t size) -> Result<std::string> {
    if (size > 0) return reader->Next(size);
    while (reader->left() > 0) HLOSCOPE_TRY(reader->Next(std::min(reader->left(), kSkipped)));
    return std::string();
  };
  return Make(std::move(array), place, next, limits);
}

Result<hlo::Literal> ArrayWindows::Next(int64_t count) {
  const auto bytes = std::make_shared<std::string>();
  if (count > 0) {
    const auto size = static_cast<uint64_t>(count) * static_cast<uint64_t>(array_.type.bytes);
    HLOSCOPE_ASSIGN_OR_RETURN(*bytes, next_(size));
  }
  left_ -= count;
  // What follows the last element is part of the member, and of its CRC.
  if (left_ == 0) HLOSCOPE_TRY(next_(0));
  NpyArray window = array_;
  window.dimensions = {count};
  window.fortran_order = false;
  window.data = *bytes;
  return LiteralFromNpy(window, hlo::Shape::Array(form_.shape.element_type(), {count}), place_,
                        bytes);
}

}  // namespace hloscope::dump
