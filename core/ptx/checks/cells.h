// Cells: who accessed a piece of memory last, for the search for races.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/ptx/machine/state.h"

namespace hloscope::ptx {

// An access: its interval (see Clocks; 0: none), and the instruction, whether an asynchronous copy
// did it, and the thread in its block.
struct Stamp {
  static constexpr uint32_t kMaxInstructions = 1u << 21;
  static constexpr uint32_t kAsync = 1u << 10;

  uint32_t interval = 0;
  uint32_t who = 0;

  static Stamp Of(uint32_t interval, uint32_t pc, bool is_async, uint32_t thread) {
    return {interval, pc << 11 | (is_async ? kAsync : 0) | thread};
  }
  // Of what `who` has: the warp, or kLanes above it what copies for it.
  static uint32_t AgentOf(uint32_t who) { return who / kLanes & (2 * kLanes - 1); }

  uint32_t pc() const { return who >> 11; }
  uint32_t thread() const { return who & (kAsync - 1); }
  uint32_t agent() const { return AgentOf(who); }
  bool operator==(const Stamp&) const = default;
};

// Stamps of neighbouring cells, apart so that they can be gone through as vectors.
class Stamps {
 public:
  explicit Stamps(uint32_t count)
      : parts_(std::make_unique<uint32_t[]>(2 * size_t{count})),
        interval(parts_.get()),
        who(parts_.get() + count) {}

  Stamp Get(uint32_t i) const { return {interval[i], who[i]}; }
  void Set(uint32_t i, Stamp stamp) {
    interval[i] = stamp.interval;
    who[i] = stamp.who;
  }

 private:
  std::unique_ptr<uint32_t[]> parts_;

 public:
  uint32_t *const interval, *const who;
};

// What was never read has no stamps of reads.
struct CellPage {
  explicit CellPage(uint32_t cells) : count(cells), write(cells) {}
  Stamps& Reads() { return Made(read); }
  Stamps& OtherReads() { return Made(other_read); }

  uint32_t count;
  Stamps write;
  std::unique_ptr<Stamps> read;
  std::unique_ptr<Stamps> other_read;  // of another warp, or another block, than `read`

 private:
  Stamps& Made(std::unique_ptr<Stamps>& stamps) const {
    if (stamps == nullptr) stamps = std::make_unique<Stamps>(count);
    return *stamps;
  }
};

// Cells by number; pages take memory only where they were asked for.
class CellTable {
 public:
  explicit CellTable(uint32_t page_cells = 512) : page_cells_(page_cells) {}

  uint32_t page_cells() const { return page_cells_; }
  uint32_t IndexOf(uint64_t number) const { return static_cast<uint32_t>(number % page_cells_); }
  CellPage& PageOf(uint64_t number) {
    CellPage* const page = Find(number);
    return page != nullptr ? *page : Make(number / page_cells_);
  }
  // Null: it was never asked for.
  CellPage* Find(uint64_t number) const {
    const uint64_t page = number / page_cells_;
    return page < pages_.size() ? pages_[page].get() : nullptr;
  }

 private:
  CellPage& Make(uint64_t page);

  uint32_t page_cells_;
  std::vector<std::unique_ptr<CellPage>> pages_;
};

}  // namespace hloscope::ptx
