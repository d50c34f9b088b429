// FIPS 180-4; its constants are fractions of roots of the first primes.
#include "core/debug/bundle/sha256.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace hloscope::debug {
namespace {

constexpr size_t kBlockBytes = 64, kRounds = 64;

// The first 32 bits of the fractional part of the `root`-th root of each of the first primes.
template <size_t kCount>
std::array<uint32_t, kCount> FractionsOfRoots(long double root) {
  std::array<uint32_t, kCount> out = {};
  size_t found = 0;
  for (uint32_t n = 2; found < kCount; ++n) {
    bool is_prime = true;
    for (uint32_t d = 2; d * d <= n; ++d) is_prime = is_prime && n % d != 0;
    if (!is_prime) continue;
    const long double value =
        root == 2 ? std::sqrt(static_cast<long double>(n)) : std::cbrt(static_cast<long double>(n));
    out[found++] = static_cast<uint32_t>((value - std::floor(value)) * 4294967296.0L);
  }
  return out;
}

using State = std::array<uint32_t, 8>;

void AddBlock(State& state, const unsigned char* block) {
  static const std::array<uint32_t, kRounds> constants = FractionsOfRoots<kRounds>(3);
  std::array<uint32_t, kRounds> words = {};
  for (size_t i = 0; i < 16; ++i) {
    for (size_t k = 0; k < 4; ++k) words[i] = words[i] << 8 | block[4 * i + k];
  }
  for (size_t i = 16; i < kRounds; ++i) {
    const uint32_t a = words[i - 15], b = words[i - 2];
    words[i] = words[i - 16] + words[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) +
               (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (size_t i = 0; i < kRounds; ++i) {
    const uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                           ((e & f) ^ (~e & g)) + constants[i] + words[i];
    const uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  const State added = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < added.size(); ++i) state[i] += added[i];
}

}  // namespace

std::string Sha256Hex(std::string_view bytes) {
  State state = FractionsOfRoots<8>(2);
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  size_t left = bytes.size();
  for (; left >= kBlockBytes; left -= kBlockBytes, data += kBlockBytes) AddBlock(state, data);
  std::array<unsigned char, 2 * kBlockBytes> tail = {};
  std::copy_n(data, left, tail.begin());
  tail[left] = 0x80;
  const size_t end = left + 9 <= kBlockBytes ? kBlockBytes : 2 * kBlockBytes;
  const uint64_t bits = static_cast<uint64_t>(bytes.size()) * 8;
  for (size_t k = 0; k < 8; ++k) tail[end - 1 - k] = static_cast<unsigned char>(bits >> (8 * k));
  for (size_t at = 0; at < end; at += kBlockBytes) AddBlock(state, tail.data() + at);
  std::string out;
  for (const uint32_t word : state) out += fmt::format("{:08x}", word);
  return out;
}

}  // namespace hloscope::debug
