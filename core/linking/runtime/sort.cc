// Radix sort of keys, merge sort by a comparator. Neither allocates.
#include "core/linking/runtime/sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace {

// Shorter lines are sorted by comparing.
constexpr int64_t kMinRadix = 96;
// As in std::sort of libstdc++, which XLA:CPU uses: where a comparator is no strict weak order, so
// that there is no one result, short lines come out as they do there.
constexpr int64_t kInsertion = 16;
constexpr int kDigitBits = 8;
constexpr size_t kDigits = size_t{1} << kDigitBits;

// A key of 64 bits and where its element is.
struct Entry {
  uint64_t key, place;
  friend bool operator<(const Entry& a, const Entry& b) {
    return a.key != b.key ? a.key < b.key : a.place < b.place;
  }
};

uint64_t KeyOf(uint64_t entry) { return entry >> 32; }
uint64_t KeyOf(const Entry& entry) { return entry.key; }
uint64_t PlaceOf(uint64_t entry) { return entry & 0xffffffff; }
uint64_t PlaceOf(const Entry& entry) { return entry.place; }

// Sorts entries by their keys, those of equal keys staying as they are; the entries end up in
// `entries` or in `other`, which is returned. Digits that are the same everywhere are skipped.
template <typename T, int kKeyBits>
T* RadixSort(T* entries, T* other, int64_t count) {
  constexpr int kPasses = kKeyBits / kDigitBits;
  std::array<std::array<uint32_t, kDigits>, kPasses> counts = {};
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t key = KeyOf(entries[i]);
    for (size_t pass = 0; pass < kPasses; ++pass) {
      ++counts[pass][key >> (pass * kDigitBits) & (kDigits - 1)];
    }
  }
  for (size_t pass = 0; pass < kPasses; ++pass) {
    std::array<uint32_t, kDigits>& next = counts[pass];
    const auto shift = static_cast<int>(pass) * kDigitBits;
    if (next[KeyOf(entries[0]) >> shift & (kDigits - 1)] == static_cast<uint64_t>(count)) continue;
    uint32_t at = 0;
    for (uint32_t& each : next) at += std::exchange(each, at);
    for (int64_t i = 0; i < count; ++i) {
      other[next[KeyOf(entries[i]) >> shift & (kDigits - 1)]++] = entries[i];
    }
    std::swap(entries, other);
  }
  return entries;
}

uint64_t* SortEntries(uint64_t* entries, uint64_t* other, int64_t count) {
  if (count >= kMinRadix) return RadixSort<uint64_t, 32>(entries, other, count);
  std::sort(entries, entries + count);  // none are equal
  return entries;
}

Entry* SortEntries(Entry* entries, Entry* other, int64_t count) {
  if (count >= kMinRadix) return RadixSort<Entry, 64>(entries, other, count);
  for (int64_t i = 1; i < count; ++i) {
    const Entry own = entries[i];
    int64_t at = i;
    for (; at > 0 && own.key < entries[at - 1].key; --at) entries[at] = entries[at - 1];
    entries[at] = own;
  }
  return entries;
}

// The smallest `count` of so many entries, in order, in `buffer`, which has room for twice as many.
// Most entries are larger than those found so far and are only compared.
template <typename T, typename EntryAt>
void Smallest(int64_t entries, const EntryAt& entry_at, int64_t count, T* buffer) {
  int64_t found = 0;
  bool is_full = false;
  T limit{};
  for (int64_t i = 0; i < entries; ++i) {
    const T entry = entry_at(i);
    if (is_full && !(entry < limit)) continue;
    buffer[found++] = entry;
    if (found < 2 * count) continue;
    std::nth_element(buffer, buffer + count - 1, buffer + found);
    limit = buffer[count - 1];
    found = count;
    is_full = true;
  }
  std::sort(buffer, buffer + found);
}

template <typename T, typename Places>
void MoveArray(const HloscopeSort& sort, const std::byte* from, std::byte* to,
               const Places& place) {
  const T* in = reinterpret_cast<const T*>(from);
  T* out = reinterpret_cast<T*>(to);
  if (sort.stride == 1) {
    for (int64_t i = 0; i < sort.length; ++i) out[i] = in[place(i)];
    return;
  }
  for (int64_t i = 0; i < sort.length; ++i) out[i * sort.stride] = in[place(i) * sort.stride];
}

// Result element i of the line is the operand's element place(i), in every array.
template <typename Places>
void Move(const HloscopeSort& sort, const std::byte* const* operands, std::byte* const* results,
          int64_t base, const Places& place) {
  struct Two {
    uint64_t first, second;
  };
  for (int32_t k = 0; k < sort.arrays; ++k) {
    const int32_t bytes = sort.element_bytes[k];
    const std::byte* from = operands[k] + base * bytes;
    std::byte* to = results[k] + base * bytes;
    switch (bytes) {
      case 1:
        MoveArray<uint8_t>(sort, from, to, place);
        break;
      case 2:
        MoveArray<uint16_t>(sort, from, to, place);
        break;
      case 4:
        MoveArray<uint32_t>(sort, from, to, place);
        break;
      case 8:
        MoveArray<uint64_t>(sort, from, to, place);
        break;
      default:
        MoveArray<Two>(sort, from, to, place);
    }
  }
}

// Sorts places [0, length) by less(a, b) on them: insertion, then runs of growing width are merged.
template <typename Less>
const uint32_t* MergeSort(uint32_t* places, uint32_t* other, int64_t length, const Less& less) {
  for (int64_t i = 0; i < length; ++i) places[i] = static_cast<uint32_t>(i);
  if (length <= kInsertion) {
    for (int64_t i = 1; i < length; ++i) {
      const uint32_t own = places[i];
      int64_t at = i;
      if (less(own, places[0])) {
        for (; at > 0; --at) places[at] = places[at - 1];
      } else {
        for (; at > 1 && less(own, places[at - 1]); --at) places[at] = places[at - 1];
      }
      places[at] = own;
    }
    return places;
  }
  for (int64_t width = 1; width < length; width *= 2) {
    for (int64_t begin = 0; begin < length; begin += 2 * width) {
      const int64_t middle = std::min(begin + width, length),
                    end = std::min(begin + 2 * width, length);
      int64_t left = begin, right = middle;
      for (int64_t out = begin; out < end; ++out) {
        const bool takes_right =
            left == middle || (right < end && less(places[right], places[left]));
        other[out] = takes_right ? places[right++] : places[left++];
      }
    }
    std::swap(places, other);
  }
  return places;
}

}  // namespace

extern "C" {

int64_t hloscope_sort_scratch_bytes(int64_t length, int32_t key_words) {
  const auto entry = static_cast<int64_t>(key_words == 0 ? sizeof(uint64_t) : sizeof(Entry));
  return length * (2 * entry + key_words * static_cast<int64_t>(sizeof(uint64_t)));
}

void hloscope_sort_by_keys(const HloscopeSort* sort, const std::byte* const* operands,
                           std::byte* const* results, std::byte* scratch, int64_t base) {
  const int64_t length = sort->length;
  if (sort->key_words == 0) {
    auto* entries = reinterpret_cast<uint64_t*>(scratch);
    const uint64_t* sorted = SortEntries(entries, entries + length, length);
    return Move(*sort, operands, results, base, [&](int64_t i) { return PlaceOf(sorted[i]); });
  }
  const auto* keys = reinterpret_cast<const uint64_t*>(scratch);
  auto* entries = reinterpret_cast<Entry*>(scratch + sort->key_words * length * 8);
  Entry* other = entries + length;
  // By the last word first: equal entries stay in the order that later words gave them.
  for (int64_t i = 0; i < length; ++i) entries[i].place = static_cast<uint64_t>(i);
  for (int32_t w = sort->key_words; w-- > 0;) {
    const uint64_t* word = keys + w * length;
    for (int64_t i = 0; i < length; ++i) entries[i].key = word[entries[i].place];
    if (SortEntries(entries, other, length) == other) std::swap(entries, other);
  }
  Move(*sort, operands, results, base, [&](int64_t i) { return PlaceOf(entries[i]); });
}

void hloscope_topk_by_keys(const HloscopeSort* sort, const std::byte* const* operands,
                           std::byte* const* results, std::byte* scratch, int64_t base) {
  const int64_t length = sort->length, taken = sort->taken, out = base / length * taken;
  HloscopeSort line = *sort;
  line.length = taken;
  auto* places = reinterpret_cast<int32_t*>(results[1]) + out;
  const auto finish = [&](const auto* entries) {
    for (int64_t i = 0; i < taken; ++i) places[i] = static_cast<int32_t>(PlaceOf(entries[i]));
    const std::byte* from[] = {operands[0] + base * sort->element_bytes[0]};
    std::byte* to[] = {results[0] + out * sort->element_bytes[0]};
    Move(line, from, to, 0, [&](int64_t i) { return PlaceOf(entries[i]); });
  };
  const auto* keys = reinterpret_cast<const uint64_t*>(scratch);
  if (sort->key_words == 0) {
    auto* buffer = reinterpret_cast<uint64_t*>(scratch) + length;
    Smallest(length, [&](int64_t i) { return keys[i]; }, taken, buffer);
    return finish(buffer);
  }
  auto* buffer = reinterpret_cast<Entry*>(scratch + length * 8);
  Smallest(
      length, [&](int64_t i) { return Entry{keys[i], static_cast<uint64_t>(i)}; }, taken, buffer);
  finish(buffer);
}

void hloscope_sort_by_less(const HloscopeSort* sort, HloscopeLess less,
                           const std::byte* const* operands, std::byte* const* results,
                           std::byte* scratch, int64_t base) {
  auto* places = reinterpret_cast<uint32_t*>(scratch);
  const uint32_t* sorted =
      MergeSort(places, places + sort->length, sort->length, [&](uint32_t a, uint32_t b) {
        return less(operands, base + a * sort->stride, base + b * sort->stride);
      });
  Move(*sort, operands, results, base, [&](int64_t i) { return sorted[i]; });
}

}  // extern "C"
