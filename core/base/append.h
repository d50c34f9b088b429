// Appending numbers to a string without locale or allocation beyond the string's own.
#pragma once

#include <charconv>
#include <concepts>
#include <span>
#include <string>

namespace hloscope {

template <std::integral T>
void AppendInteger(std::string& out, T value) {
  char buffer[24];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  out.append(buffer, end);
}

// "1,2,3"
template <std::integral T>
void AppendIntegers(std::string& out, std::span<const T> values, char separator = ',') {
  for (size_t i = 0; i < values.size(); ++i) {
    if (i != 0) out += separator;
    AppendInteger(out, values[i]);
  }
}

}  // namespace hloscope
