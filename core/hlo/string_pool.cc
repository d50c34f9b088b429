// Interning of texts: open addressing over an arena.
#include "core/hlo/string_pool.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace hloscope::hlo {
namespace {

constexpr size_t kChunkBytes = 64 << 10;

uint64_t Load64(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

uint64_t LoadTail(const char* p, size_t n) {
  uint64_t v = 0;
  if (n != 0) std::memcpy(&v, p, n);  // an empty text may have no address
  return v;
}

uint64_t MixWords(uint64_t a, uint64_t b) {
  __extension__ using uint128 = unsigned __int128;
  uint128 product = static_cast<uint128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

uint64_t HashBytes(std::string_view text) {
  constexpr uint64_t kA = 0x9e3779b97f4a7c15u, kB = 0xd6e8feb86659fd93u;
  const char* p = text.data();
  size_t n = text.size();
  uint64_t h = kA ^ n;
  while (n > 16) {
    h = MixWords(Load64(p) ^ kB, Load64(p + 8) ^ h);
    p += 16;
    n -= 16;
  }
  if (n >= 8) return MixWords(Load64(p) ^ kB, Load64(p + n - 8) ^ h);
  return MixWords(LoadTail(p, n) ^ kB, h);
}

StringPool::StringPool() : slots_(256) {}

size_t StringPool::SlotOf(std::string_view text, uint32_t hash) const {
  size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  for (; slots_[slot].entry != 0; slot = (slot + 1) & mask) {
    if (slots_[slot].hash != hash) continue;
    const Entry& e = entries_[slots_[slot].entry - 1];
    if (std::string_view(e.data, e.size) == text) break;  // either may be empty, without address
  }
  return slot;
}

uint32_t StringPool::Prepare(std::string_view text) const {
  auto hash = static_cast<uint32_t>(HashBytes(text));
  __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
  return hash;
}

StringId StringPool::Intern(std::string_view text, uint32_t hash) {
  size_t slot = SlotOf(text, hash);
  if (slots_[slot].entry != 0) return StringId(slots_[slot].entry - 1);
  if ((entries_.size() + 1) * 2 > slots_.size()) {
    Grow(slots_.size() * 2);
    slot = SlotOf(text, hash);
  }
  entries_.push_back({Copy(text), static_cast<uint32_t>(text.size()), hash});
  slots_[slot] = {hash, static_cast<uint32_t>(entries_.size())};
  return StringId(entries_.size() - 1);
}

StringId StringPool::Find(std::string_view text) const {
  size_t slot = SlotOf(text, static_cast<uint32_t>(HashBytes(text)));
  return slots_[slot].entry == 0 ? StringId() : StringId(slots_[slot].entry - 1);
}

void StringPool::Reserve(size_t texts) {
  entries_.reserve(texts);
  Grow(std::max(slots_.size(), std::bit_ceil(texts * 2)));
}

const char* StringPool::Copy(std::string_view text) {
  if (text.empty()) return "";
  if (text.size() > chunk_left_) {
    size_t bytes = std::max(kChunkBytes, text.size());
    // Large texts get a chunk of their own so that the current one is not wasted.
    auto chunk = std::make_unique_for_overwrite<char[]>(bytes);
    char* data = chunk.get();
    chunks_.push_back(std::move(chunk));
    if (bytes > kChunkBytes) {
      std::memcpy(data, text.data(), text.size());
      return data;
    }
    chunk_position_ = data;
    chunk_left_ = bytes;
  }
  char* data = chunk_position_;
  std::memcpy(data, text.data(), text.size());
  chunk_position_ += text.size();
  chunk_left_ -= text.size();
  return data;
}

void StringPool::Grow(size_t slots) {
  slots_.assign(slots, {});
  size_t mask = slots - 1;
  for (size_t i = 0; i < entries_.size(); ++i) {
    size_t slot = entries_[i].hash & mask;
    while (slots_[slot].entry != 0) slot = (slot + 1) & mask;
    slots_[slot] = {entries_[i].hash, static_cast<uint32_t>(i + 1)};
  }
}

void StringPool::ShrinkToFit() { entries_.shrink_to_fit(); }

}  // namespace hloscope::hlo
