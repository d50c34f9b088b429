// Arrays with the shapes their files declare.
#include "core/dump/tensors/named_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>

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
  if (type.kind == 'V') type.kind = 'u';
  for (ElementType candidate : kCandidates) {
    if (NpyTypeOf(candidate) == type) return candidate;
  }
  return InputError(fmt::format("{}: XLA has no element type {}", name, ToString(type)));
}

Result<hlo::Literal> FromNpy(std::string_view bytes, std::string_view name, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(NpyArray array, ReadNpy(bytes, name, limits));
  HLOSCOPE_ASSIGN_OR_RETURN(ElementType type, ElementTypeOf(array.type, name));
  if (static_cast<int64_t>(array.dimensions.size()) > limits.rank) {
    return InputError(
        fmt::format("{}: {} dimensions, at most {}", name, array.dimensions.size(), limits.rank));
  }
  return LiteralFromNpy(array, hlo::Shape::Array(type, array.dimensions), name);
}

Result<std::vector<NamedValue>> FromNpz(FileView file, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(NpzArchive archive, NpzArchive::Open(std::move(file), limits));
  std::vector<NamedValue> values;
  for (const std::string& name : archive.Names()) {
    if (name == "dtypes") continue;  // a description some writers add
    HLOSCOPE_ASSIGN_OR_RETURN(std::string bytes, archive.Read(name));
    HLOSCOPE_ASSIGN_OR_RETURN(hlo::Literal value,
                              FromNpy(bytes, archive.path() + ":" + name, limits));
    values.push_back({name, std::move(value)});
  }
  return values;
}

Result<std::vector<NamedValue>> FromFolder(const std::string& path, const Limits& limits) {
  std::vector<NamedValue> values;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.path().extension() != ".npy") continue;
    HLOSCOPE_ASSIGN_OR_RETURN(FileView file, FileView::Open(entry.path().string(), limits));
    HLOSCOPE_ASSIGN_OR_RETURN(hlo::Literal value, FromNpy(file.bytes(), file.path(), limits));
    values.push_back({entry.path().stem().string(), std::move(value)});
  }
  if (error) return EnvironmentError(path + ": " + error.message());
  return values;
}

std::vector<NamedValue> FromLiteral(const std::string& name, const hlo::Literal& literal) {
  if (!literal.shape().IsTuple()) return {{name, literal}};
  std::vector<NamedValue> values;
  std::vector<hlo::Literal> leaves = FlattenLiteral(literal);
  values.reserve(leaves.size());
  for (size_t k = 0; k < leaves.size(); ++k)
    values.push_back({fmt::format("{}[{}]", name, k), std::move(leaves[k])});
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
      HLOSCOPE_ASSIGN_OR_RETURN(hlo::Literal value, FromNpy(file.bytes(), file.path(), limits));
      return std::vector<NamedValue>{{"value", std::move(value)}};
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

hlo::Literal WithTypeOf(const hlo::Literal& value, const hlo::Literal& other) {
  const ElementType own = value.shape().element_type(), wanted = other.shape().element_type();
  if (!value.shape().IsArray() || !hlo::IsInteger(own) || !hlo::IsFloat(wanted)) return value;
  if (MlDtypeName(wanted).empty() || hlo::StorageBytes(own) != hlo::StorageBytes(wanted)) {
    return value;
  }
  const auto sizes = value.shape().dimensions();
  const auto bytes = value.bytes();
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
