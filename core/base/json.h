// JsonWriter appends one compact JSON value to a string, piece by piece.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace hloscope {

// `text` as a JSON string with its quotes; bytes that are not UTF-8 become the text `\xNN`.
std::string JsonString(std::string_view text);

// Begin… and End… must pair and every value inside an object must follow a Key: the caller's duty,
// not checked. Numbers are written as their shortest text; those that are not finite as "nan",
// "inf" and "-inf".
class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}

  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close(']'); }
  JsonWriter& Key(std::string_view key);

  JsonWriter& Value(std::string_view text);
  JsonWriter& Value(const char* text) { return Value(std::string_view(text)); }
  JsonWriter& Value(const std::string& text) { return Value(std::string_view(text)); }
  JsonWriter& Value(double number);
  JsonWriter& Value(float number);
  JsonWriter& Null();

  template <std::integral T>
  JsonWriter& Value(T number) {
    if constexpr (std::same_as<T, bool>) {
      return Word(number ? "true" : "false");
    } else if constexpr (std::signed_integral<T>) {
      return Signed(number);
    } else {
      return Unsigned(number);
    }
  }

  // Key and value in one.
  template <typename T>
  JsonWriter& Field(std::string_view key, const T& value) {
    return Key(key).Value(value);
  }

 private:
  JsonWriter& Open(char bracket);
  JsonWriter& Close(char bracket);
  JsonWriter& Word(std::string_view word);
  JsonWriter& Signed(int64_t number);
  JsonWriter& Unsigned(uint64_t number);
  void Separate();

  std::string& out_;
  bool needs_comma_ = false;
};

}  // namespace hloscope
