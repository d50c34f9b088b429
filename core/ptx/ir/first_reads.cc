// Registers that are read before they are written: a register is definitely written where every way
// from the entry leads through an instruction without a guard that writes it.
#include "core/ptx/ir/first_reads.h"

#include <algorithm>
#include <utility>

#include "core/ptx/ir/basic_blocks.h"

namespace hloscope::ptx {
namespace {

constexpr uint64_t kLanesOfWarp = 32;
constexpr uint64_t kMaxWords = uint64_t{1} << 22;

using RegisterBits = std::vector<uint64_t>;  // one bit for each register

class FirstReadAnalysis {
 public:
  explicit FirstReadAnalysis(const Kernel& kernel) : kernel_(kernel), end_(kernel.register_bytes) {
    for (const auto& [special, offset] : kernel.specials) end_ = std::min<uint64_t>(end_, offset);
  }

  FirstReads Find() {
    const std::vector<ByteRange> whole = {{0, static_cast<uint32_t>(end_)}};
    const FirstReads all = {whole, {}, whole};
    auto blocks = BasicBlocksOf(kernel_);
    if (!blocks) return all;
    blocks_ = *std::move(blocks);
    FindRegisters();
    const size_t words = (registers_.size() + 63) / 64;
    if (words * blocks_.size() > kMaxWords) return all;
    written_.assign(blocks_.size(), RegisterBits(words, 0));
    for (size_t b = 0; b < blocks_.size(); ++b) writes_.push_back(Walk(b, false));
    written_.assign(blocks_.size(), RegisterBits(words, ~uint64_t{0}));
    written_[0].assign(words, 0);
    while (Spread()) {
    }
    read_first_.assign(words, 0);
    shuffled_.assign(words, 0);
    sums_.assign(words, 0);
    for (size_t b = 0; b < blocks_.size(); ++b) Walk(b, true);
    FirstReads found;
    found.read = Ranges(read_first_);
    found.sums = Ranges(sums_);
    for (size_t i = 0; i < words; ++i) shuffled_[i] |= read_first_[i] | sums_[i];
    found.cleared = Ranges(shuffled_);
    return found;
  }

 private:
  // Predicates have 4 bytes each and come first, others start at multiples of 64.
  void FindRegisters() {
    predicates_end_ = static_cast<uint32_t>(end_);
    for (const Slot& slot : kernel_.slots) {
      if (IsRegister(slot) && slot.bytes > 0)
        predicates_end_ = std::min(predicates_end_, slot.offset);
    }
    index_of_.assign(UnitOf(static_cast<uint32_t>(end_)) + 1, kUnseen);
    for (const Slot& slot : kernel_.slots) {
      if (IsRegister(slot)) See(slot.offset, BytesOf(slot));
    }
    for (const Instruction& in : kernel_.instructions) {
      if (in.guard != Slot::kAbsent) See(in.guard, 4);
    }
  }

  void See(uint32_t offset, uint32_t bytes) {
    uint32_t& index = index_of_[UnitOf(offset)];
    if (index != kUnseen) return;
    index = static_cast<uint32_t>(registers_.size());
    registers_.push_back({offset, bytes});
  }

  size_t UnitOf(uint32_t offset) const {
    if (offset < predicates_end_) return offset / 4;
    return predicates_end_ / 4 + (offset - predicates_end_) / 64;
  }

  bool IsRegister(const Slot& slot) const {
    return slot.present() && (slot.offset & Slot::kConstant) == 0 && slot.offset < end_;
  }
  static uint32_t BytesOf(const Slot& slot) {
    return slot.bytes == 0 ? 4 : static_cast<uint32_t>(slot.bytes * kLanesOfWarp);
  }

  size_t IndexOf(uint32_t offset) const { return index_of_[UnitOf(offset)]; }

  // What is written where a block ends; notes, when asked, what it reads first.
  RegisterBits Walk(size_t block, bool notes) {
    RegisterBits written = written_[block];
    const auto reads = [&](RegisterBits& registers, uint32_t offset) {
      const size_t at = IndexOf(offset);
      if ((written[at / 64] >> at % 64 & 1) == 0) Note(registers, at);
    };
    for (uint32_t i = blocks_[block].first; i < blocks_[block].end; ++i) {
      const Instruction& in = kernel_.instructions[i];
      const Slot* const slots = kernel_.slots.data() + in.first_slot;
      if (notes) {
        if (in.guard != Slot::kAbsent) reads(read_first_, in.guard);
        for (uint32_t s = 0; s < in.slot_count; ++s) {
          if (!IsRegister(slots[s])) continue;
          // Sums of a warp group are read where they are written.
          if (!slots[s].written) reads(read_first_, slots[s].offset);
          if (slots[s].written && in.group_wide) reads(sums_, slots[s].offset);
        }
        // Lanes that take no part may be asked for their values.
        if (in.operation == Operation::kShfl && IsRegister(slots[2]))
          Note(shuffled_, IndexOf(slots[2].offset));
      }
      if (in.guard != Slot::kAbsent) continue;
      for (uint32_t s = 0; s < in.slot_count; ++s) {
        if (!IsRegister(slots[s]) || !slots[s].written) continue;
        const size_t at = IndexOf(slots[s].offset);
        written[at / 64] |= uint64_t{1} << at % 64;
      }
    }
    return written;
  }

  static void Note(RegisterBits& registers, size_t at) {
    registers[at / 64] |= uint64_t{1} << at % 64;
  }

  bool Spread() {
    bool changed = false;
    for (size_t b = 0; b < blocks_.size(); ++b) {
      for (uint32_t n = 0; n < blocks_[b].next_count; ++n) {
        RegisterBits& in = written_[blocks_[b].next[n]];
        for (size_t i = 0; i < in.size(); ++i) {
          const uint64_t out = written_[b][i] | writes_[b][i];
          changed |= (in[i] & ~out) != 0;
          in[i] &= out;
        }
      }
    }
    return changed;
  }

  std::vector<ByteRange> Ranges(const RegisterBits& of) const {
    std::vector<ByteRange> single, ranges;
    for (size_t at = 0; at < registers_.size(); ++at) {
      if ((of[at / 64] >> at % 64 & 1) != 0) single.push_back(registers_[at]);
    }
    std::ranges::sort(single, {}, &ByteRange::offset);
    for (const auto [offset, bytes] : single) {
      if (!ranges.empty() && ranges.back().offset + ranges.back().bytes == offset) {
        ranges.back().bytes += bytes;
      } else {
        ranges.push_back({offset, bytes});
      }
    }
    return ranges;
  }

  static constexpr uint32_t kUnseen = 0xffffffffu;
  const Kernel& kernel_;
  uint64_t end_;  // of registers; special ones follow
  std::vector<BasicBlock> blocks_;
  uint32_t predicates_end_ = 0;
  std::vector<uint32_t> index_of_;     // a register, by where it starts
  std::vector<ByteRange> registers_;   // as they are met
  std::vector<RegisterBits> written_;  // for certain, where a block begins
  std::vector<RegisterBits> writes_;   // of a block
  RegisterBits read_first_;
  RegisterBits shuffled_;  // sources of shuffles
  RegisterBits sums_;      // of warp groups
};

}  // namespace

FirstReads FindFirstReads(const Kernel& kernel) { return FirstReadAnalysis(kernel).Find(); }

}  // namespace hloscope::ptx
