// ByteSet: some bytes of a memory, a bit for each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace hloscope::ptx {

class ByteSet {
 public:
  // None or all of so many bytes.
  void Assign(uint64_t bytes, bool all) {
    words_.assign((bytes + 63) / 64 + 1, all ? ~uint64_t{0} : 0);
  }

  // The bits of up to 64 bytes from `at` on, the first lowest.
  uint64_t Get(uint64_t at, uint32_t count) const {
    const uint64_t shift = at % 64;
    uint64_t bits = words_[at / 64] >> shift;
    if (shift + count > 64) bits |= words_[at / 64 + 1] << (64 - shift);
    return bits & Low(count);
  }
  void Put(uint64_t at, uint32_t count, uint64_t bits) {
    const uint64_t shift = at % 64, low = Low(count);
    uint64_t& word = words_[at / 64];
    word = (word & ~(low << shift)) | (bits << shift);
    if (shift + count <= 64) return;
    uint64_t& next = words_[at / 64 + 1];
    next = (next & ~(low >> (64 - shift))) | (bits >> (64 - shift));
  }
  void Fill(uint64_t begin, uint64_t end, bool value) {
    while (begin < end) {
      const auto count = static_cast<uint32_t>(std::min(end - begin, 64 - begin % 64));
      Put(begin, count, value ? Low(count) : 0);
      begin += count;
    }
  }
  // The first of [begin, end) that is in the set; end: none.
  uint64_t FirstIn(uint64_t begin, uint64_t end) const {
    while (begin < end) {
      const auto count = static_cast<uint32_t>(std::min(end - begin, 64 - begin % 64));
      const uint64_t bits = Get(begin, count);
      if (bits != 0) return begin + static_cast<uint64_t>(std::countr_zero(bits));
      begin += count;
    }
    return end;
  }
  // What `other` has of [begin, end), or only what both have.
  void Take(const ByteSet& other, uint64_t begin, uint64_t end) {
    Combine(other, begin, end, [](uint64_t, uint64_t bits) { return bits; });
  }
  void Keep(const ByteSet& other, uint64_t begin, uint64_t end) {
    Combine(other, begin, end, [](uint64_t own, uint64_t bits) { return own & bits; });
  }
  bool AnyIn(uint64_t begin, uint64_t end) const { return FirstIn(begin, end) != end; }

 private:
  template <typename Of>
  void Combine(const ByteSet& other, uint64_t begin, uint64_t end, Of of) {
    while (begin < end) {
      const auto count = static_cast<uint32_t>(std::min(end - begin, 64 - begin % 64));
      Put(begin, count, of(Get(begin, count), other.Get(begin, count)));
      begin += count;
    }
  }
  static uint64_t Low(uint32_t count) {
    return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
  }

  std::vector<uint64_t> words_;  // one more than needed, so that Get may look ahead
};

}  // namespace hloscope::ptx
