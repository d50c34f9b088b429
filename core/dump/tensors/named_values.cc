// Arrays with the shapes their files declare.
#include "core/dump/tensors/named_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <span>

#include "core/base/memory_limit.h"
#include "core/dump/listing/sniff.h"
#include "core/dump/tensors/npy.h"
#include "core/dump/tensors/tensor_values.h"
#include "core/hlo/proto/proto.h"

namespace hloscope::dump {
namespace {

namespace fs = std::filesystem;
using hlo::ElementType;

// `place` is for messages.
Result<NamedValue> FromNpy(std::string name, const std::shared_ptr<std::string>& bytes,
                           std::string_view place, const Limits& limits) {
  HLOSCOPE_ASSIGN_OR_RETURN(NpyArray array, ReadNpy(*bytes, place, limits));
  HLOSCOPE_ASSIGN_OR_RETURN(ArrayForm form, FormOf(array, place, limits));
  HLOSCOPE_ASSIGN_OR_RETURN(hlo::Literal value, LiteralFromNpy(array, form.shape, place, bytes));
  return NamedValue{std::move(name), std::move(value), form.is_raw};
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

}  // namespace

void ValueSet::Sort() { std::ranges::stable_sort(entries_, {}, &Entry::name); }

Result<std::optional<ValueSet>> ValueSet::InParts(const FileParts& file, const Limits& limits) {
  return WithinMemory(limits, file.path(), [&] { return ListParts(file, limits); });
}

Result<std::optional<ValueSet>> ValueSet::ListParts(const FileParts& file, const Limits& limits) {
  constexpr uint64_t kHead = 8;
  HLOSCOPE_ASSIGN_OR_RETURN(const std::string head, file.Read(0, std::min(kHead, file.size())));
  const FileKind kind = Sniff(head);
  ValueSet set;
  set.limits_ = limits;
  if (kind == FileKind::kNpy) {
    set.array_ = file;
    set.entries_.push_back({"value", {}, file.path()});
    return set;
  }
  if (kind != FileKind::kZip) return std::nullopt;
  HLOSCOPE_ASSIGN_OR_RETURN(set.archive_, NpzArchive::Open(file, limits));
  for (const std::string& name : set.archive_->Names()) {
    if (name != "dtypes") set.entries_.push_back({name, {}, name});  // what some writers add
  }
  set.Sort();
  return set;
}

Result<std::optional<ValueSet>> ValueSet::In(const FileView& file, const Limits& limits) {
  const FileKind kind = Sniff(file.bytes());
  if (kind == FileKind::kZip || kind == FileKind::kNpy) return InParts(FileParts(file), limits);
  ValueSet set;
  set.limits_ = limits;
  if (kind != FileKind::kUnknown) return std::nullopt;
  auto literal = hlo::LiteralFromProto(std::as_bytes(std::span(file.bytes())), limits);
  if (!literal.has_value()) return std::nullopt;
  for (NamedValue& value : FromLiteral("value", *literal)) {
    set.entries_.push_back({value.name, std::move(value), {}});
  }
  set.Sort();
  return set;
}

Result<std::optional<ValueSet>> ValueSet::InFolder(const std::string& path, const Limits& limits) {
  ValueSet set;
  set.limits_ = limits;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.path().extension() != ".npy") continue;
    set.entries_.push_back({entry.path().stem().string(), {}, entry.path().string()});
  }
  if (error) return EnvironmentError(path + ": " + error.message());
  if (set.entries_.empty()) return std::nullopt;
  set.Sort();
  return set;
}

Result<NamedValue> ValueSet::ReadEntry(const Entry& entry) const {
  if (entry.value) return *entry.value;
  const auto bytes = std::make_shared<std::string>();
  if (archive_) {
    HLOSCOPE_ASSIGN_OR_RETURN(*bytes, archive_->Read(entry.file));
    return FromNpy(entry.name, bytes, archive_->path() + ":" + entry.file, limits_);
  }
  std::optional<FileParts> file = array_;
  if (!file) {
    HLOSCOPE_ASSIGN_OR_RETURN(file, FileParts::Open(entry.file, limits_));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(*bytes, file->Read(0, file->size()));
  return FromNpy(entry.name, bytes, entry.file, limits_);
}

Result<std::optional<ArrayWindows>> ValueSet::Windows(size_t k) const {
  const Entry& entry = entries_[k];
  if (entry.value) return std::nullopt;
  const auto open = [&]() -> Result<ArrayWindows> {
    if (archive_) return ArrayWindows::Of(*archive_, entry.file, limits_);
    if (array_) return ArrayWindows::Of(*array_, limits_);
    HLOSCOPE_ASSIGN_OR_RETURN(const FileParts file, FileParts::Open(entry.file, limits_));
    return ArrayWindows::Of(file, limits_);
  };
  HLOSCOPE_ASSIGN_OR_RETURN(ArrayWindows windows, open());
  if (!windows.in_order()) return std::nullopt;
  return windows;
}

Result<NamedValue> ValueSet::Read(size_t k) const {
  const std::string& path = archive_ ? archive_->path() : entries_[k].file;
  return WithinMemory(limits_, path, [&] { return ReadEntry(entries_[k]); });
}

ElementType TypeWith(const ArrayForm& array, const ArrayForm& other) {
  const ElementType own = array.shape.element_type(), wanted = other.shape.element_type();
  if (other.is_raw) return own;
  const bool says_more =
      array.is_raw || (hlo::IsInteger(own) && hlo::IsFloat(wanted) && !MlDtypeName(wanted).empty());
  return says_more && hlo::StorageBytes(own) == hlo::StorageBytes(wanted) ? wanted : own;
}

hlo::Literal WithType(ElementType type, const hlo::Literal& array) {
  const hlo::Shape& shape = array.shape();
  if (shape.element_type() == type) return array;
  const auto sizes = shape.dimensions();
  const auto bytes = array.bytes();
  return hlo::Literal::Dense(hlo::Shape::Array(type, {sizes.begin(), sizes.end()}),
                             {bytes.begin(), bytes.end()});
}

hlo::Literal WithTypeOf(const NamedValue& value, const NamedValue& other) {
  const hlo::Shape &shape = value.value.shape(), &other_shape = other.value.shape();
  if (!shape.IsArray() || !other_shape.IsArray()) return value.value;
  return WithType(TypeWith({shape, value.is_raw}, {other_shape, other.is_raw}), value.value);
}

Result<std::optional<std::vector<NamedValue>>> NamedValuesIn(const FileView& file,
                                                             const Limits& limits) {
  using All = std::optional<std::vector<NamedValue>>;
  return WithinMemory(limits, file.path(), [&]() -> Result<All> {
    HLOSCOPE_ASSIGN_OR_RETURN(const auto set, ValueSet::In(file, limits));
    if (!set) return std::nullopt;
    std::vector<NamedValue> values;
    for (size_t k = 0; k < set->size(); ++k) {
      HLOSCOPE_ASSIGN_OR_RETURN(NamedValue value, set->Read(k));
      values.push_back(std::move(value));
    }
    return values;
  });
}

}  // namespace hloscope::dump
