// Arrays with the shapes their files declare.
#include "core/dump/tensors/named_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

#include "core/base/counted.h"
#include "core/base/memory_limit.h"
#include "core/dump/listing/sniff.h"
#include "core/dump/tensors/npy.h"
#include "core/dump/tensors/npz.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/proto/proto.h"

namespace hloscope::dump {
namespace {

namespace fs = std::filesystem;
using hlo::ElementType;

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

// `place` is for messages.
Result<NamedValue> FromNpy(std::string name, std::string_view bytes, std::string_view place,
                           const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(NpyArray array, ReadNpy(bytes, place, limits));
  const bool is_raw = array.type == NpyType{.kind = 'V', .bytes = 1};
  if (is_raw) array.type.kind = 'u';
  HLOSCOPE_ASSIGN_OR_RETURN(ElementType type, ElementTypeOf(array.type, place));
  if (static_cast<int64_t>(array.dimensions.size()) > limits.rank) {
    return InputError(fmt::format("{}: {}, at most {}", place,
                                  Counted(array.dimensions.size(), "dimension"), limits.rank));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(
      hlo::Literal value, LiteralFromNpy(array, hlo::Shape::Array(type, array.dimensions), place));
  return NamedValue{std::move(name), std::move(value), is_raw};
}

Result<std::vector<NamedValue>> FromNpz(FileView file, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(NpzArchive archive, NpzArchive::Open(std::move(file), limits));
  std::vector<NamedValue> values;
  for (const std::string& name : archive.Names()) {
    if (name == "dtypes") continue;  // a description some writers add
    HLOSCOPE_ASSIGN_OR_RETURN(std::string bytes, archive.Read(name));
    HLOSCOPE_ASSIGN_OR_RETURN(NamedValue value,
                              FromNpy(name, bytes, archive.path() + ":" + name, limits));
    values.push_back(std::move(value));
  }
  return values;
}

Result<std::vector<NamedValue>> FromFolder(const std::string& path, const Limits& limits) {
  std::vector<NamedValue> values;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.path().extension() != ".npy") continue;
    HLOSCOPE_ASSIGN_OR_RETURN(FileView file, FileView::Open(entry.path().string(), limits));
    HLOSCOPE_ASSIGN_OR_RETURN(
        NamedValue value, FromNpy(entry.path().stem().string(), file.bytes(), file.path(), limits));
    values.push_back(std::move(value));
  }
  if (error) return EnvironmentError(path + ": " + error.message());
  return values;
}

std::vector<NamedValue> FromLiteral(const std::string& name, const hlo::Literal& literal) {
  if (!literal.shape().IsTuple()) return {{name, literal, false}};
  std::vector<NamedValue> values;
  std::vector<hlo::Literal> leaves = FlattenLiteral(literal);
  values.reserve(leaves.size());
  for (size_t k = 0; k < leaves.size(); ++k)
    values.push_back({fmt::format("{}[{}]", name, k), std::move(leaves[k]), false});
  return values;
}

std::vector<NamedValue> Sorted(std::vector<NamedValue> values) {
  std::ranges::stable_sort(values, {}, &NamedValue::name);
  return values;
}

Result<std::optional<std::vector<NamedValue>>> ReadValues(const FileView& file,
                                                          const Limits& limits) {
  switch (Sniff(file.bytes())) {
    case FileKind::kZip: {
      HLOSCOPE_ASSIGN_OR_RETURN(std::vector<NamedValue> values, FromNpz(file, limits));
      return Sorted(std::move(values));
    }
    case FileKind::kNpy: {
      HLOSCOPE_ASSIGN_OR_RETURN(NamedValue value,
                                FromNpy("value", file.bytes(), file.path(), limits));
      return std::vector<NamedValue>{std::move(value)};
    }
    case FileKind::kUnknown: {
      auto value = hlo::LiteralFromProto(std::as_bytes(std::span(file.bytes())), limits);
      if (!value.has_value()) return std::nullopt;
      return Sorted(FromLiteral("value", *value));
    }
    default:
      return std::nullopt;
  }
}

}  // namespace

hlo::Literal WithTypeOf(const NamedValue& value, const NamedValue& other) {
  const hlo::Shape &shape = value.value.shape(), &other_shape = other.value.shape();
  if (!shape.IsArray() || !other_shape.IsArray() || other.is_raw) return value.value;
  const ElementType own = shape.element_type(), wanted = other_shape.element_type();
  const bool says_more =
      value.is_raw || (hlo::IsInteger(own) && hlo::IsFloat(wanted) && !MlDtypeName(wanted).empty());
  if (!says_more || hlo::StorageBytes(own) != hlo::StorageBytes(wanted)) return value.value;
  const auto sizes = shape.dimensions();
  const auto bytes = value.value.bytes();
  return hlo::Literal::Dense(hlo::Shape::Array(wanted, {sizes.begin(), sizes.end()}),
                             {bytes.begin(), bytes.end()});
}

Result<std::optional<std::vector<NamedValue>>> NamedValuesIn(const FileView& file,
                                                             const Limits& limits) {
  return WithinMemory(limits, file.path(), [&] { return ReadValues(file, limits); });
}

Result<std::optional<std::vector<NamedValue>>> NamedValuesInFolder(const std::string& path,
                                                                   const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(std::vector<NamedValue> values, FromFolder(path, limits));
  if (values.empty()) return std::nullopt;
  return Sorted(std::move(values));
}

}  // namespace hloscope::dump
