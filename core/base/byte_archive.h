// ByteWriter and ByteReader: values as bytes between two processes of one machine and build. One
// function Archive(archive, value…) per type serves both ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hloscope {

// `T` for reading, `const T` for writing: Archive(A& a, Archived<A, T>& value) { a(value.x); }.
template <typename A, typename T>
using Archived = std::conditional_t<A::kWrites, const T, T>;

// Types whose bytes are all there is to them.
template <typename T>
inline constexpr bool kIsPlain = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> &&
                                 !std::is_same_v<T, std::string_view>;

class ByteWriter {
 public:
  static constexpr bool kWrites = true;

  template <typename... T>
  void operator()(const T&... values) {
    (One(values), ...);
  }
  void Raw(std::span<const std::byte> bytes) {
    bytes_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  void Align(size_t alignment) {
    bytes_.resize((bytes_.size() + alignment - 1) / alignment * alignment);
  }
  // Room for about that many bytes.
  void Reserve(size_t bytes) { bytes_.reserve(bytes); }
  const std::string& bytes() const { return bytes_; }
  std::string Take() && { return std::move(bytes_); }

 private:
  template <typename T>
  void One(const T& value) {
    if constexpr (kIsPlain<T>) {
      T copy = value;
#if __has_builtin(__builtin_clear_padding)
      // Equal values are equal bytes, whatever lay in memory between their members.
      if constexpr (std::is_class_v<T>) __builtin_clear_padding(&copy);
#endif
      Raw(std::as_bytes(std::span(&copy, 1)));
    } else {
      Archive(*this, value);
    }
  }
  void One(const std::string& text) { One(std::string_view(text)); }
  void One(std::string_view text) {
    One(uint64_t{text.size()});
    bytes_.append(text);
  }
  template <typename T>
  void One(const std::optional<T>& value) {
    One(value.has_value());
    if (value) One(*value);
  }
  template <typename T, typename U>
  void One(const std::pair<T, U>& pair) {
    One(pair.first), One(pair.second);
  }
  template <typename T>
  void One(const std::vector<T>& values) {
    One(uint64_t{values.size()});
    if constexpr (std::is_same_v<T, bool>) {
      for (const bool value : values) One(value);
    } else if constexpr (kIsPlain<T> &&
                         (!std::is_class_v<T> || std::has_unique_object_representations_v<T>)) {
      Raw(std::as_bytes(std::span(values)));
    } else {
      for (const T& value : values) One(value);
    }
  }

  std::string bytes_;
};

// Never reads beyond the bytes: what is cut off or too long leaves zeros and makes ok() false.
// Whether numbers, enums and ids make sense is for the caller to check.
class ByteReader {
 public:
  static constexpr bool kWrites = false;
  // Values inside one another.
  static constexpr int kMaxNested = 4096;

  // `owner` keeps the bytes, for values that may stay views of them.
  explicit ByteReader(std::span<const std::byte> bytes, std::shared_ptr<const void> owner = nullptr)
      : start_(bytes.data()), left_(bytes), owner_(std::move(owner)) {}

  template <typename... T>
  void operator()(T&... values) {
    (One(values), ...);
  }
  template <typename T>
  T Get() {
    T value{};
    One(value);
    return value;
  }
  std::span<const std::byte> Raw(uint64_t size) {
    if (size > left_.size()) return Fail(), std::span<const std::byte>();
    const auto bytes = left_.first(static_cast<size_t>(size));
    left_ = left_.subspan(static_cast<size_t>(size));
    return bytes;
  }
  void Align(size_t alignment) {
    const auto at = static_cast<size_t>(left_.data() - start_);
    Raw((at + alignment - 1) / alignment * alignment - at);
  }
  const std::shared_ptr<const void>& owner() const { return owner_; }

  bool ok() const { return ok_; }
  bool empty() const { return left_.empty(); }
  void Fail() {
    ok_ = false;
    left_ = {};
  }
  // Around what may hold itself; false, and the end of reading, too deep inside.
  bool Enter() {
    if (++depth_ <= kMaxNested) return true;
    Fail();
    return false;
  }
  void Leave() { --depth_; }

 private:
  template <typename T>
  void One(T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      value = Get<uint8_t>() != 0;
    } else if constexpr (kIsPlain<T>) {
      const auto bytes = Raw(sizeof(T));
      if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof(T));
    } else {
      Archive(*this, value);
    }
  }
  void One(std::string& text) {
    const auto bytes = Raw(Get<uint64_t>());
    text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  void One(std::string_view& text) {
    const auto bytes = Raw(Get<uint64_t>());
    text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  template <typename T>
  void One(std::optional<T>& value) {
    value.reset();
    // Of a value: clang does not take classes within classes for default constructible before both
    // are complete.
    if (Get<bool>()) One(value.emplace(T{}));
  }
  template <typename T, typename U>
  void One(std::pair<T, U>& pair) {
    One(pair.first), One(pair.second);
  }
  template <typename T>
  void One(std::vector<T>& values) {
    values.clear();
    const auto count = Get<uint64_t>();
    if constexpr (std::is_same_v<T, bool>) {
      for (uint64_t i = 0; i < count && ok_; ++i) values.push_back(Get<bool>());
    } else if constexpr (kIsPlain<T>) {
      if (count > left_.size() / sizeof(T)) return Fail();
      values.resize(static_cast<size_t>(count));
      const auto bytes = Raw(count * sizeof(T));
      if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    } else {
      // Grows by what is really there: every element takes at least a byte.
      for (uint64_t i = 0; i < count && ok_ && !left_.empty(); ++i) One(values.emplace_back());
      if (values.size() != count) Fail();
    }
  }

  const std::byte* start_;
  std::span<const std::byte> left_;
  std::shared_ptr<const void> owner_;
  int depth_ = 0;
  bool ok_ = true;
};

}  // namespace hloscope
