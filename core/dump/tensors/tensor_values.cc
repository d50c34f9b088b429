#include "core/dump/tensors/tensor_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <system_error>

#include "core/base/file.h"
#include "core/base/file_writer.h"
#include "core/base/zip/zip_writer.h"
#include "core/dump/listing/sniff.h"

namespace hloscope::dump {

using hlo::ElementKind;
using hlo::ElementType;
using hlo::Literal;
using hlo::Shape;

namespace {

namespace fs = std::filesystem;

bool NumpyNames(ElementType type) {
  if (hlo::IsFloat(type))
    return BitWidth(type) == 64 || BitWidth(type) == 32 || type == ElementType::kF16;
  return hlo::BitWidth(type) >= 8;
}

bool Fits(NpyType given, ElementType wanted) {
  if (given == NpyTypeOf(wanted)) return true;
  if (given.extended != ElementType::kInvalid) return given.extended == wanted;
  const bool integer = given.kind == 'i' || given.kind == 'u';
  if (wanted == ElementType::kPred) return integer && given.bytes == 1;
  return !NumpyNames(wanted) && (integer || given.kind == 'V') &&
         given.bytes == hlo::StorageBytes(wanted);
}

// Element i of the result comes from element order[i]…: column-major data into row-major.
void CopyTransposed(const NpyArray& array, size_t size, std::byte* out) {
  const size_t rank = array.dimensions.size();
  std::vector<int64_t> index(rank, 0), strides;
  int64_t stride = 1;
  for (int64_t dimension : array.dimensions) {
    strides.push_back(stride);
    stride *= dimension;
  }
  const size_t count = array.data.size() / size;
  int64_t from = 0;
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(out + i * size, array.data.data() + static_cast<size_t>(from) * size, size);
    for (size_t d = rank; d-- > 0;) {
      from += strides[d];
      if (++index[d] < array.dimensions[d]) break;
      from -= strides[d] * array.dimensions[d];
      index[d] = 0;
    }
  }
}

void SwapBytes(std::span<std::byte> bytes, size_t unit) {
  for (size_t i = 0; i + unit <= bytes.size(); i += unit) {
    std::reverse(bytes.begin() + static_cast<ptrdiff_t>(i),
                 bytes.begin() + static_cast<ptrdiff_t>(i + unit));
  }
}

// Brings elements to the form literals have: pred 0 or 1, narrow ones extended from their low bits.
void Normalize(ElementType type, std::span<std::byte> bytes) {
  const int bits = hlo::BitWidth(type);
  if (type == ElementType::kPred) {
    for (std::byte& b : bytes) b = std::byte{b != std::byte{0}};
  } else if (bits < 8) {
    for (std::byte& b : bytes) {
      const auto high = static_cast<uint8_t>(static_cast<uint8_t>(b) << (8 - bits));
      b = hlo::IsSigned(type) ? static_cast<std::byte>(static_cast<int8_t>(high) >> (8 - bits))
                              : static_cast<std::byte>(high >> (8 - bits));
    }
  }
}

std::string DimensionsText(std::span<const int64_t> dimensions) {
  return fmt::format("[{}]", fmt::join(dimensions, ","));
}

}  // namespace

NpyType NpyTypeOf(ElementType type) {
  const int bytes = hlo::StorageBytes(type);
  switch (hlo::Info(type).kind) {
    case ElementKind::kPred:
      return {.kind = 'b', .bytes = 1};
    case ElementKind::kSigned:
      return {.kind = 'i', .bytes = bytes};
    case ElementKind::kComplex:
      return {.kind = 'c', .bytes = bytes};
    case ElementKind::kFloat:
      if (!NumpyNames(type)) return {'V', bytes, type};
      return {.kind = 'f', .bytes = bytes};
    default:
      return {.kind = 'u', .bytes = bytes};
  }
}

Result<Shape> ShapeOfNpy(const NpyArray& array, const Shape& shape, std::string_view name) {
  const ElementType type = shape.element_type();
  if (!hlo::FitsWithin(array.dimensions, shape)) {
    return InputError(fmt::format("{}: the array is {}, expected {}", name,
                                  DimensionsText(array.dimensions), hlo::ToString(shape, false)));
  }
  if (!Fits(array.type, type)) {
    return InputError(fmt::format("{}: the array's type is {}, expected {} for {}", name,
                                  ToString(array.type, array.big_endian), ToString(NpyTypeOf(type)),
                                  hlo::ToString(type)));
  }
  const auto& sizes = array.dimensions;
  return std::ranges::equal(sizes, shape.dimensions()) ? shape : Shape::Array(type, sizes);
}

Result<Literal> LiteralFromNpy(const NpyArray& array, const Shape& shape, std::string_view name,
                               const std::shared_ptr<std::string>& owner) {
  HLOSCOPE_ASSIGN_OR_RETURN(Shape found, ShapeOfNpy(array, shape, name));
  const ElementType type = shape.element_type();
  const int unit = hlo::IsComplex(type) ? array.type.bytes / 2 : array.type.bytes;
  const auto finish = [&](std::span<std::byte> bytes) {
    if (array.big_endian) SwapBytes(bytes, static_cast<size_t>(unit));
    Normalize(type, bytes);
  };
  constexpr uintptr_t kAlignment = 16;  // of other literals, at the least
  if (owner != nullptr && !array.fortran_order &&
      reinterpret_cast<uintptr_t>(array.data.data()) % kAlignment == 0) {
    const auto at = static_cast<size_t>(array.data.data() - owner->data());
    const auto bytes = std::as_writable_bytes(std::span(*owner).subspan(at, array.data.size()));
    finish(bytes);
    return Literal::View(std::move(found), bytes, owner);
  }
  std::vector<std::byte> bytes(array.data.size());
  if (array.fortran_order) {
    CopyTransposed(array, static_cast<size_t>(array.type.bytes), bytes.data());
  } else if (!bytes.empty()) {
    std::memcpy(bytes.data(), array.data.data(), bytes.size());
  }
  finish(bytes);
  return Literal::Dense(std::move(found), std::move(bytes));
}

std::string NpyFromLiteral(const Literal& whole) {
  const Literal literal = whole.Live();
  const auto bytes = literal.bytes();
  return WriteNpy(NpyTypeOf(literal.shape().element_type()), literal.shape().dimensions(),
                  {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

namespace {

bool NumbersAnArray(const std::string& name) {
  return TensorNumberOf(name, TensorNames::kInputs) || TensorNumberOf(name, TensorNames::kOutputs);
}

}  // namespace

void TensorFiles::NumberAsTheyCome(size_t archive) {
  std::vector<std::string> names = archives_[archive].Names();
  if (std::ranges::any_of(names, NumbersAnArray)) return;
  std::erase(names, "dtypes");  // a description some writers add
  if (names.empty()) return;
  for (const std::string& name : names) as_they_come_.emplace_back(archive, name);
  constexpr size_t kMaxNamed = 8;
  const size_t named = std::min(names.size(), kMaxNamed);
  notes_.push_back(fmt::format(
      "{}: no array is called in0, input_0, arr_0, out0 or output_0: they are taken in the file's "
      "order: {}{}",
      archives_[archive].path(),
      fmt::join(names.begin(), names.begin() + static_cast<ptrdiff_t>(named), ", "),
      named < names.size() ? " …" : ""));
}

bool TensorFiles::NumberBy(std::span<const std::string> names) {
  std::map<std::string_view, size_t> places;
  for (size_t i = 0; i < as_they_come_.size(); ++i) {
    if (!places.emplace(as_they_come_[i].second, i).second) return false;  // of two archives
  }
  std::vector<std::pair<size_t, std::string>> ordered;
  std::vector<bool> is_named(as_they_come_.size());
  for (const std::string& name : names) {
    const auto at = places.find(name);
    if (at == places.end() || is_named[at->second]) return false;
    is_named[at->second] = true;
    ordered.push_back(as_they_come_[at->second]);
  }
  if (ordered.empty()) return false;
  for (size_t i = 0; i < as_they_come_.size(); ++i) {
    if (!is_named[i]) ordered.push_back(std::move(as_they_come_[i]));
  }
  as_they_come_ = std::move(ordered);
  notes_.clear();
  return true;
}

TensorFiles TensorFiles::Of(NpzArchive archive, const Limits& limits) {
  TensorFiles files;
  files.limits_ = limits;
  files.archives_.push_back(std::move(archive));
  files.NumberAsTheyCome(0);
  return files;
}

Result<TensorFiles> TensorFiles::Open(std::span<const std::string> paths, const Limits& limits) {
  TensorFiles files;
  files.limits_ = limits;
  for (const std::string& path : paths) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      files.directories_.push_back(path);
      continue;
    }
    if (path.ends_with(".npy")) {
      files.files_.push_back(path);  // read once, when it is asked for
      continue;
    }
    HLOSCOPE_ASSIGN_OR_RETURN(FileParts file, FileParts::Open(path, limits));
    constexpr uint64_t kHeadBytes = 4096;
    const uint64_t head_bytes = std::min(file.size(), kHeadBytes);
    HLOSCOPE_ASSIGN_OR_RETURN(const std::string head, file.Read(0, head_bytes));
    const FileKind kind = Sniff(head, head_bytes == file.size());
    if (kind == FileKind::kNpy) {
      files.files_.push_back(path);
    } else if (!head.starts_with("PK")) {
      return InputError(fmt::format("{}: is {}, not a file of arrays", path, Describe(kind)),
                        "give an .npz, .npy files in order, a folder of .npy files, or a bundle");
    } else {
      HLOSCOPE_ASSIGN_OR_RETURN(NpzArchive archive, NpzArchive::Open(std::move(file), limits));
      files.archives_.push_back(std::move(archive));
      files.NumberAsTheyCome(files.archives_.size() - 1);
    }
  }
  return files;
}

namespace {

// The shape that the array has to fit.
Shape WantedOf(const NpyArray& array, const Shape& shape,
               const TensorFiles::DimensionTest& accepts) {
  if (!accepts || std::ranges::equal(array.dimensions, shape.dimensions()) ||
      !accepts(array.dimensions)) {
    return shape;
  }
  return Shape::Array(shape.element_type(), array.dimensions);
}

}  // namespace

std::optional<TensorFiles::Source> TensorFiles::Locate(std::span<const std::string> names,
                                                       int64_t file_index) const {
  for (const NpzArchive& archive : archives_) {
    for (const std::string& name : names) {
      if (archive.Has(name)) return Source{&archive, name};
    }
  }
  for (const std::string& directory : directories_) {
    for (const std::string& name : names) {
      std::string path = (fs::path(directory) / (name + ".npy")).string();
      std::error_code error;
      if (fs::exists(path, error)) return Source{nullptr, std::move(path)};
    }
  }
  if (file_index >= 0 && std::cmp_less(file_index, files_.size())) {
    return Source{nullptr, files_[static_cast<size_t>(file_index)]};
  }
  if (file_index >= 0 && std::cmp_less(file_index, as_they_come_.size())) {
    const auto& [archive, name] = as_they_come_[static_cast<size_t>(file_index)];
    return Source{&archives_[archive], name};
  }
  return std::nullopt;
}

std::string TensorFiles::PlaceOf(const Source& source) {
  if (source.archive == nullptr) return source.name;
  return fmt::format("{}: {}", source.archive->path(), source.name);
}

Result<NpyArray> TensorFiles::Header(const Source& source) const {
  std::string head;
  uint64_t size = 0;
  if (source.archive == nullptr) {
    HLOSCOPE_ASSIGN_OR_RETURN(const FileParts file, FileParts::Open(source.name, limits_));
    size = file.size();
    HLOSCOPE_ASSIGN_OR_RETURN(head, file.Read(0, std::min<uint64_t>(size, kMaxNpyHeaderBytes)));
  } else {
    size = source.archive->SizeOf(source.name);
    HLOSCOPE_ASSIGN_OR_RETURN(head, source.archive->ReadHead(source.name, kMaxNpyHeaderBytes));
  }
  return ReadNpyHeader(head, size, PlaceOf(source), limits_);
}

Result<std::optional<Literal>> TensorFiles::Find(std::span<const std::string> names,
                                                 int64_t file_index, const Wanted& wanted) const {
  const auto source = Locate(names, file_index);
  if (!source) return std::nullopt;
  const std::string place = PlaceOf(*source);
  if (headers_only_) {
    HLOSCOPE_ASSIGN_OR_RETURN(const NpyArray array, Header(*source));
    HLOSCOPE_ASSIGN_OR_RETURN(
        Shape shape, ShapeOfNpy(array, WantedOf(array, wanted.shape, wanted.accepts), place));
    return Literal::Elided(std::move(shape));
  }
  const auto owner = std::make_shared<std::string>();
  if (source->archive == nullptr) {
    HLOSCOPE_ASSIGN_OR_RETURN(const FileParts file, FileParts::Open(source->name, limits_));
    HLOSCOPE_ASSIGN_OR_RETURN(*owner, file.Read(0, file.size()));
  } else {
    HLOSCOPE_ASSIGN_OR_RETURN(*owner, source->archive->Read(source->name));
  }
  HLOSCOPE_ASSIGN_OR_RETURN(const NpyArray array, ReadNpy(*owner, place, limits_));
  return LiteralFromNpy(array, WantedOf(array, wanted.shape, wanted.accepts), place, owner);
}

Result<std::optional<std::vector<int64_t>>> TensorFiles::InputDimensions(int64_t i) const {
  const auto source = Locate(NamesOfTensor(TensorNames::kInputs, i, i), i);
  if (!source) return std::nullopt;
  HLOSCOPE_ASSIGN_OR_RETURN(NpyArray array, Header(*source));
  return std::move(array.dimensions);
}

Result<std::optional<Literal>> TensorFiles::Input(int64_t i, const Shape& shape,
                                                  const DimensionTest& accepts) const {
  return Find(NamesOfTensor(TensorNames::kInputs, i, i), i, {shape, accepts});
}

Result<std::optional<Literal>> TensorFiles::InputOf(int64_t device, int64_t i,
                                                    const Shape& shape) const {
  std::vector<std::string> names = NamesOfTensor(TensorNames::kInputs, i, i);
  for (std::string& name : names) name += fmt::format("@{}", device);
  return Find(names, -1, {shape, {}});
}

Result<std::optional<Literal>> TensorFiles::Output(int64_t leaf, int64_t array, const Shape& shape,
                                                   const DimensionTest& accepts) const {
  return Find(NamesOfTensor(TensorNames::kOutputs, leaf, array), array, {shape, accepts});
}

std::vector<Literal> FlattenLiteral(const Literal& literal) {
  if (!literal.shape().IsTuple()) return {literal};
  std::vector<Literal> leaves;
  for (const Literal& element : literal.elements()) {
    for (Literal& leaf : FlattenLiteral(element)) leaves.push_back(std::move(leaf));
  }
  return leaves;
}

namespace {

using NamedLiterals = std::vector<std::pair<std::string, Literal>>;

// The .npy file of an array: its header, and the bytes as they lie in memory.
struct NpyPieces {
  explicit NpyPieces(const Literal& whole) : live(whole.Live()) {
    header = WriteNpy(NpyTypeOf(live.shape().element_type()), live.shape().dimensions(), {});
    pieces = {header, {reinterpret_cast<const char*>(live.bytes().data()), live.bytes().size()}};
  }
  NpyPieces(const NpyPieces&) = delete;
  NpyPieces& operator=(const NpyPieces&) = delete;

  Literal live;
  std::string header;
  std::array<std::string_view, 2> pieces;
};

Status WriteArchive(const std::string& path, const NamedLiterals& members) {
  HLOSCOPE_TRY(ZipWriter::CheckCount(members.size()));
  HLOSCOPE_ASSIGN_OR_RETURN(FileWriter file, FileWriter::Create(path));
  ZipWriter zip([&](std::string_view bytes) { return file.Append(bytes); });
  for (const auto& [name, value] : members) {
    HLOSCOPE_TRY(zip.AddStored(name + ".npy", NpyPieces(value).pieces));
  }
  HLOSCOPE_TRY(zip.Finish());
  return file.Finish();
}

// Members of an archive, or files of a directory, which is made.
Status WriteMembers(const std::string& path, const NamedLiterals& members) {
  if (path.ends_with(".npz")) return WriteArchive(path, members);
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return EnvironmentError(fmt::format("{}: {}", path, error.message()));
  for (const auto& [name, value] : members) {
    HLOSCOPE_ASSIGN_OR_RETURN(FileWriter file,
                              FileWriter::Create((fs::path(path) / (name + ".npy")).string()));
    const NpyPieces npy(value);
    for (const std::string_view piece : npy.pieces) HLOSCOPE_TRY(file.Append(piece));
    HLOSCOPE_TRY(file.Finish());
  }
  return {};
}

}  // namespace

Status WriteTensors(const std::string& path, TensorNames names, std::span<const Literal> values) {
  const bool archive = path.ends_with(".npz");
  const std::string_view prefix =
      names == TensorNames::kInputs ? (archive ? "in" : "input_") : (archive ? "out" : "output_");
  NamedLiterals members;
  int64_t i = 0;
  for (const Literal& value : values) {
    for (const Literal& leaf : FlattenLiteral(value)) {
      const std::string name = fmt::format("{}{}", prefix, i++);
      if (leaf.shape().IsArray()) members.emplace_back(name, leaf);
    }
  }
  return WriteMembers(path, members);
}

int64_t BytesOfInputs(std::span<const std::pair<std::string, Literal>> values) {
  std::vector<std::pair<std::string, uint64_t>> members;
  for (const auto& [name, value] : values) {
    const Shape& shape = value.shape();
    if (!shape.IsArray()) continue;
    const std::string head = WriteNpy(NpyTypeOf(shape.element_type()), shape.dimensions(), {});
    members.emplace_back(name, head.size() + static_cast<uint64_t>(shape.ByteSize().value_or(0)));
  }
  return static_cast<int64_t>(BytesOfNpz(members));
}

Status WriteInputs(const std::string& path,
                   std::span<const std::pair<std::string, Literal>> values) {
  NamedLiterals members;
  for (const auto& [name, value] : values) {
    if (value.shape().IsArray()) members.emplace_back(name, value);
  }
  return WriteMembers(path, members);
}

}  // namespace hloscope::dump
