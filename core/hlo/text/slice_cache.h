// SliceCache: what a piece of source text was read as, so that equal pieces are read once.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/hlo/string_pool.h"

namespace hloscope::hlo {

// Maps (tag, text) to a 32-bit value. The texts must outlive the cache. Two kinds of values never
// share a tag. Newer texts take the places of older ones once it has kMaxSlots: what is equal
// stands near to each other in HLO, and a table that outgrows the processor's cache costs more
// than reading again.
class SliceCache {
 public:
  SliceCache() : slots_(256) {}

  static uint64_t Hash(uint64_t tag, std::string_view text) {
    return HashBytes(text) ^ (tag * 0x9e3779b97f4a7c15u);
  }
  // The value kept for (tag, text), or null.
  const uint32_t* Find(uint64_t hash, uint64_t tag, std::string_view text) const {
    size_t at = hash & (slots_.size() - 1);
    for (size_t k : {at, at ^ 1}) {
      const Slot& slot = slots_[k];
      if (slot.hash == hash && slot.tag == tag && slot.size == text.size() &&
          slot.data != nullptr && std::memcmp(slot.data, text.data(), text.size()) == 0) {
        return &slot.value;
      }
    }
    return nullptr;
  }
  // Keeps a value for a text that Find did not know.
  void Insert(uint64_t hash, uint64_t tag, std::string_view text, uint32_t value) {
    if (text.empty() || text.size() > 0xffffffffu) return;
    if (++count_ * 2 > slots_.size() && slots_.size() < kMaxSlots) Grow();
    Place({text.data(), hash, tag, static_cast<uint32_t>(text.size()), value});
  }

 private:
  static constexpr size_t kMaxSlots = 8192;
  struct Slot {
    const char* data = nullptr;
    uint64_t hash = 0;
    uint64_t tag = 0;
    uint32_t size = 0;
    uint32_t value = 0;
  };
  void Place(const Slot& slot) {
    size_t at = slot.hash & (slots_.size() - 1);
    if (slots_[at].data != nullptr) slots_[at ^ 1] = slots_[at];
    slots_[at] = slot;
  }
  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.data != nullptr) Place(slot);
    }
  }

  std::vector<Slot> slots_;
  size_t count_ = 0;
};

}  // namespace hloscope::hlo
