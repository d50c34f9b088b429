// FNV-1a: a hash of bytes that is the same in every run, for names of files and for seeds.
#pragma once

#include <cstdint>
#include <string_view>

namespace hloscope {

inline constexpr uint64_t kFnvStart = 0xcbf29ce484222325u;

constexpr uint64_t FnvStep(uint64_t hash, uint8_t byte) { return (hash ^ byte) * 0x100000001b3u; }

constexpr uint64_t FnvOf(std::string_view bytes, uint64_t hash = kFnvStart) {
  for (const char c : bytes) hash = FnvStep(hash, static_cast<uint8_t>(c));
  return hash;
}

static_assert(FnvOf("") == kFnvStart && FnvOf("foobar") == 0x85944171f73967e8u);

}  // namespace hloscope
