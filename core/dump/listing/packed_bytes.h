// Numbers and texts one behind the other, as the cache keeps them: this machine writes and reads.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace hloscope::dump {

template <typename T>
  requires std::is_trivially_copyable_v<T>
void PutPacked(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
inline void PutPackedText(std::string& out, std::string_view text) {
  PutPacked(out, static_cast<uint64_t>(text.size()));
  out += text;
}

// Each takes one off the start of `bytes`; false where they end before it does.
template <typename T>
  requires std::is_trivially_copyable_v<T>
bool TakePacked(std::string_view& bytes, T& value) {
  if (bytes.size() < sizeof value) return false;
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return true;
}
inline bool TakePackedText(std::string_view& bytes, std::string& text) {
  uint64_t size = 0;
  if (!TakePacked(bytes, size) || size > bytes.size()) return false;
  text.assign(bytes.substr(0, size));
  bytes.remove_prefix(size);
  return true;
}

}  // namespace hloscope::dump
