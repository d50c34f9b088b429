// StringPool: every distinct text of a module once, addressed by StringId.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/hlo/attribute.h"

namespace hloscope::hlo {

class StringPool {
 public:
  StringPool();
  StringPool(const StringPool&) = delete;
  StringPool& operator=(const StringPool&) = delete;
  StringPool(StringPool&&) = default;
  StringPool& operator=(StringPool&&) = default;

  // The id of `text`, copying it in if it is new. Equal texts have equal ids.
  StringId Intern(std::string_view text) { return Intern(text, Prepare(text)); }
  // The same in two steps: the look-up has time to reach the cache in between.
  uint32_t Prepare(std::string_view text) const;
  StringId Intern(std::string_view text, uint32_t hash);
  // The id of `text`, or an invalid one if it is not here.
  StringId Find(std::string_view text) const;
  // The text of `id`; the empty text for an invalid id. Valid as long as the pool.
  std::string_view operator[](StringId id) const {
    if (!id.valid()) return {};
    return {entries_[id.index].data, entries_[id.index].size};
  }
  size_t size() const { return entries_.size(); }
  // Room for about that many texts.
  void Reserve(size_t texts);
  // Gives back memory that growing left over; nothing may be interned afterwards without growing
  // again.
  void ShrinkToFit();

 private:
  struct Entry {
    const char* data;
    uint32_t size;
    uint32_t hash;
  };
  // The hash beside the index: most texts that are not meant are passed over without a look at
  // their entry.
  struct Slot {
    uint32_t hash = 0;
    uint32_t entry = 0;  // index + 1, 0 is empty
  };
  size_t SlotOf(std::string_view text, uint32_t hash) const;
  const char* Copy(std::string_view text);
  void Grow(size_t slots);

  std::vector<Entry> entries_;
  std::vector<Slot> slots_;  // size a power of two, at most half full
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* chunk_position_ = nullptr;
  size_t chunk_left_ = 0;
};

// A fast hash of bytes, the same on every machine of one byte order.
uint64_t HashBytes(std::string_view text);

}  // namespace hloscope::hlo
