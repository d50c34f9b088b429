// FlatBuffer tables read by field number, without generated code: a file's own offsets are checked
// before they are followed, and never lead outside of its bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

namespace hloscope::dump {

// A table of a FlatBuffer. The default value is an empty table, which has no field.
class FlatTable {
 public:
  FlatTable() = default;
  // The root table; nullopt where the bytes do not begin as a FlatBuffer does.
  static std::optional<FlatTable> Root(std::string_view bytes) {
    FlatTable none;
    none.bytes_ = bytes;
    const auto offset = none.Read<uint32_t>(0);
    return offset ? none.At(*offset) : std::nullopt;
  }

  // False where the writer left the field out: it has its default value.
  bool Has(uint32_t field) const { return FieldAt(field).has_value(); }

  // The number of a field; `missing` where it was left out, nullopt where it is outside of the
  // bytes.
  template <typename T>
  std::optional<T> Number(uint32_t field, T missing = 0) const {
    const auto at = FieldAt(field);
    return at ? Read<T>(*at) : missing;
  }

  // The elements of a field with a vector of numbers, or the bytes of a string: `element` bytes
  // each. Empty where it was left out.
  std::optional<std::string_view> Bytes(uint32_t field, uint64_t element = 1) const {
    const auto at = FieldAt(field);
    return at ? VectorAt(*at, element) : std::string_view();
  }

  // Whether a field has a vector that begins so, as far as these bytes show it: they may be the
  // first ones of a file.
  bool VectorBegins(uint32_t field, std::string_view with) const {
    const auto at = FieldAt(field);
    const auto offset = at ? Read<uint32_t>(*at) : std::nullopt;
    const uint64_t start = offset ? *at + *offset + sizeof(uint32_t) : 0;
    return offset && start < bytes_.size() && bytes_.substr(start).starts_with(with);
  }

  template <typename T>
  std::optional<std::vector<T>> Numbers(uint32_t field) const {
    const auto bytes = Bytes(field, sizeof(T));
    if (!bytes) return std::nullopt;
    std::vector<T> numbers(bytes->size() / sizeof(T));
    if (!bytes->empty()) std::memcpy(numbers.data(), bytes->data(), bytes->size());
    return numbers;
  }

  // The elements of a field with a vector of strings, at most `max`. Elements of one file may be at
  // the same place, so who reads vectors of vectors bounds them all together.
  std::optional<std::vector<std::string_view>> Strings(uint32_t field, uint64_t max) const {
    return Elements<std::string_view>(field, max, [this](uint64_t at) { return VectorAt(at, 1); });
  }
  std::optional<std::vector<FlatTable>> Tables(uint32_t field, uint64_t max) const {
    return Elements<FlatTable>(field, max, [this](uint64_t at) { return Indirect(at); });
  }

  std::optional<FlatTable> Table(uint32_t field) const {
    const auto at = FieldAt(field);
    return at ? Indirect(*at) : std::nullopt;
  }

 private:
  static_assert(std::endian::native == std::endian::little, "FlatBuffers are little-endian");

  template <typename T>
  std::optional<T> Read(uint64_t at) const {
    if (at > bytes_.size() || bytes_.size() - at < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }

  std::optional<FlatTable> At(uint64_t position) const {
    const auto back = Read<int32_t>(position);
    if (!back) return std::nullopt;
    FlatTable table = *this;
    table.position_ = position;
    // A vtable before the file wraps around, which Read() refuses.
    table.fields_ = position - static_cast<uint64_t>(int64_t{*back});
    const auto bytes = Read<uint16_t>(table.fields_);
    if (!bytes || *bytes < kFieldsAt || *bytes % 2 != 0) return std::nullopt;
    if (bytes_.size() - table.fields_ < *bytes) return std::nullopt;
    table.fields_bytes_ = *bytes;
    return table;
  }

  std::optional<FlatTable> Indirect(uint64_t at) const {
    const auto offset = Read<uint32_t>(at);
    return offset ? At(at + *offset) : std::nullopt;
  }

  std::optional<uint64_t> FieldAt(uint32_t field) const {
    const uint64_t slot = kFieldsAt + uint64_t{field} * 2;
    if (slot + 2 > fields_bytes_) return std::nullopt;
    const auto offset = Read<uint16_t>(fields_ + slot);
    if (!offset || *offset == 0) return std::nullopt;
    return position_ + *offset;
  }

  std::optional<std::string_view> VectorAt(uint64_t at, uint64_t element) const {
    const auto offset = Read<uint32_t>(at);
    if (!offset) return std::nullopt;
    const auto count = Read<uint32_t>(at + *offset);
    if (!count) return std::nullopt;
    const uint64_t start = at + *offset + sizeof *count;
    if (*count * element > bytes_.size() - start) return std::nullopt;
    return bytes_.substr(start, *count * element);
  }

  template <typename T, typename ElementAt>
  std::optional<std::vector<T>> Elements(uint32_t field, uint64_t max,
                                         ElementAt&& element_at) const {
    const auto offsets = Bytes(field, sizeof(uint32_t));
    if (!offsets || offsets->size() / sizeof(uint32_t) > max) return std::nullopt;
    std::vector<T> elements;
    for (size_t k = 0; k < offsets->size(); k += sizeof(uint32_t)) {
      auto element = element_at(static_cast<uint64_t>(offsets->data() - bytes_.data()) + k);
      if (!element) return std::nullopt;
      elements.push_back(*std::move(element));
    }
    return elements;
  }

  static constexpr uint64_t kFieldsAt = 4;  // after the sizes of the vtable and of the table

  std::string_view bytes_;
  uint64_t position_ = 0, fields_ = 0, fields_bytes_ = 0;
};

}  // namespace hloscope::dump
