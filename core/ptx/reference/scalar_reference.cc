// The machine's schedule drives it: whatever lanes the machine executes an instruction for, the
// second implementation executes it for them too, and holds both their way there and the results to
// the machine's.
#include "core/ptx/reference/scalar_reference.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <memory>

#include "core/ptx/machine/lanes.h"
#include "core/ptx/machine/matrix_form.h"
#include "core/ptx/machine/observer.h"
#include "core/ptx/module.h"
#include "core/ptx/reference/memory.h"
#include "core/ptx/reference/scalar.h"
#include "core/ptx/reference/tensor_model.h"
#include "core/ptx/trace/instruction_texts.h"
#include "core/ptx/trace/shuffle.h"

namespace hloscope::ptx {
namespace {

uint64_t CutTo(uint64_t bits, uint8_t bytes) {
  if (bytes == 0) return bits & 1;
  return bytes >= 8 ? bits : bits & ((uint64_t{1} << (8 * bytes)) - 1);
}

uint64_t MachineBits(const Warp& warp, const Slot& slot, uint32_t lane) {
  if (slot.bytes != 0) return ReadLane(warp, slot, lane);
  uint32_t mask;
  std::memcpy(&mask, SourceOf(warp, slot), 4);
  return mask >> lane & 1;
}

// How the sums of mma.sync go, by the table of docs/internals/ptx.md.
ReferenceRule RuleOfMma(const MmaForm& form) {
  const bool is_f8 = form.a == Element::kE4m3 || form.a == Element::kE5m2;
  const int half = form.a == Element::kTf32 ? 4 : is_f8 ? 16 : 8;
  if (form.sm == 89 && is_f8) return {half, 13, 13};
  return form.sm < 90 ? ReferenceRule{half, 24, 23} : ReferenceRule{form.k, 25, 23};
}

int WidthOf(Element element) {
  switch (element) {
    case Element::kF64:
      return 64;
    case Element::kF32:
    case Element::kTf32:
    case Element::kS32:
      return 32;
    case Element::kF16:
    case Element::kBf16:
      return 16;
    case Element::kS4:
    case Element::kU4:
      return 4;
    default:
      return 8;
  }
}

using Lanes = std::array<std::vector<uint64_t>, kLanes>;  // values by slot

class ScalarReference : public Observer {
 public:
  ScalarReference(const Program& program, const Kernel& kernel, ScalarReferenceReport& report)
      : program_(program), kernel_(kernel), report_(report) {
    const auto id_of = [&](uint32_t offset) {
      if ((offset & Slot::kConstant) != 0) return 0u;
      return ids_.try_emplace(offset, static_cast<uint32_t>(ids_.size())).first->second;
    };
    for (const Slot& slot : kernel.slots) slot_ids_.push_back(id_of(slot.offset));
    for (const Instruction& in : kernel.instructions) guard_ids_.push_back(id_of(in.guard));
    for (const auto& [special, offset] : kernel.specials)
      specials_.push_back({offset, id_of(offset)});
  }

  void Starts(Block& block, uint64_t) override {
    memory_ = std::make_unique<ScalarReferenceMemory>(block);
    const size_t threads = block.warps.size() * kLanes;
    registers_.assign(threads, std::vector<uint64_t>(ids_.size() + 1));
    pcs_.assign(threads, 0);
    carries_.assign(threads, 0);
    for (const Warp& warp : block.warps) {
      for (const auto& [offset, id] : specials_) {
        for (uint32_t lane = 0; lane < kLanes; ++lane)
          registers_[warp.first_thread + lane][id] =
              ReadLane(warp, {offset, 4, false, false}, lane);
      }
    }
  }

  void Before(Warp& warp, const Instruction& in, const Slot*, uint32_t mask) override {
    if (Stopped()) return;
    const uint32_t pc = warp.block->pc;
    // What it gives back is known when the last thread has come.
    if (in.operation == Operation::kBarReduce) return Miss(pc);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      const uint32_t thread = warp.first_thread + lane;
      if (in.operation == Operation::kWarpBar && pcs_[thread] == pc + 1) continue;
      if (!Reach(thread, pc))
        return Differ(pc, thread,
                      "the machine executes it, the scalar reference branches differently");
      pcs_[thread] = in.operation == Operation::kBra ? in.target : pc + 1;
    }
  }

  void After(Warp& warp, const Instruction& in, const Slot* slots, uint32_t mask) override {
    if (Stopped()) return;
    const uint32_t pc = warp.block->pc;
    const std::span<const Slot> operands(slots, in.slot_count);
    Lanes values;
    for (uint32_t lane = 0; lane < kLanes; ++lane) values[lane] = ReadAll(warp, in, operands, lane);
    if (!Compute(warp, in, operands, mask, values)) return Miss(pc);
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      ++report_.checked;
      Commit(warp, in, operands, lane, values[lane], pc);
      if (Stopped()) return;
    }
  }

  // Behind the block.
  void CompareMemory() {
    if (Stopped() || memory_ == nullptr) return;
    const auto at = memory_->Difference();
    if (!at) return;
    report_.first = ScalarReferenceDifference{
        "byte " + std::to_string(at->second) + " of argument " + std::to_string(at->first) +
            " differs when the block has ended",
        {program_.syntax.file, kernel_.position.line, kernel_.position.column},
        kernel_.name,
        0};
  }

 private:
  bool Stopped() const { return report_.missing.has_value() || report_.first.has_value(); }

  void Miss(uint32_t pc) {
    const Position at = kernel_.instructions[pc].position;
    report_.missing =
        UnsupportedError("`" + kernel_.forms[pc] + "` is not covered by the scalar reference")
            .error();
    report_.missing->place = {program_.syntax.file, at.line, at.column};
  }

  void Differ(uint32_t pc, uint32_t thread, std::string what) {
    const Position at = kernel_.instructions[pc].position;
    report_.first = ScalarReferenceDifference{
        std::move(what), {program_.syntax.file, at.line, at.column}, kernel_.forms[pc], thread};
  }

  bool Guard(uint32_t thread, uint32_t pc) const {
    const Instruction& in = kernel_.instructions[pc];
    if (in.guard == Slot::kAbsent) return true;
    return (registers_[thread][guard_ids_[pc]] != 0) != in.guard_negated;
  }

  // Whether the thread, as the second implementation has it, comes to `pc` and executes it.
  bool Reach(uint32_t thread, uint32_t pc) {
    uint32_t at = pcs_[thread];
    if (at > pc) return false;
    for (; at < pc; ++at) {
      if (Guard(thread, at)) return false;
    }
    return Guard(thread, pc);
  }

  std::vector<uint64_t> ReadAll(const Warp& warp, const Instruction& in,
                                std::span<const Slot> slots, uint32_t lane) const {
    std::vector<uint64_t> values(slots.size());
    for (size_t s = 0; s < slots.size(); ++s) {
      const Slot& slot = slots[s];
      if (slot.written || !slot.present()) continue;
      values[s] = (slot.offset & Slot::kConstant) != 0
                      ? MachineBits(warp, slot, lane)
                      : registers_[warp.first_thread + lane][slot_ids_[in.first_slot + s]];
      if (slot.bytes == 0 && slot.negated) values[s] ^= 1;
    }
    return values;
  }

  void Commit(Warp& warp, const Instruction& in, std::span<const Slot> slots, uint32_t lane,
              const std::vector<uint64_t>& values, uint32_t pc) {
    const uint32_t thread = warp.first_thread + lane;
    for (size_t s = 0; s < slots.size(); ++s) {
      if (!slots[s].written || !slots[s].present()) continue;
      uint64_t ours = CutTo(values[s], slots[s].bytes);
      const uint64_t theirs = MachineBits(warp, slots[s], lane);
      if (ours != theirs && IsApproximation(in) && (ours + 1 == theirs || ours == theirs + 1))
        ours = theirs;
      if (ours != theirs) {
        const auto texts = InstructionTexts(program_, kernel_);
        const TracedOperand& operand = texts[pc].operands[s];
        return Differ(pc, thread,
                      operand.name + " is " + ValueText(theirs, slots[s].bytes, texts[pc].type) +
                          " on the machine, " + ValueText(ours, slots[s].bytes, texts[pc].type) +
                          " by the scalar reference");
      }
      registers_[thread][slot_ids_[in.first_slot + s]] = ours;
    }
  }

  bool Compute(Warp& warp, const Instruction& in, std::span<const Slot> slots, uint32_t mask,
               Lanes& values) {
    if (std::ranges::any_of(slots, [](const Slot& slot) { return slot.bytes > 8; })) return false;
    switch (in.operation) {
      case Operation::kClusterAddress:
      case Operation::kClusterRank:
        if (warp.block->cluster->blocks.size() > 1) return false;
        break;
      case Operation::kLd:
      case Operation::kSt:
      case Operation::kAtom:
      case Operation::kAtomCas:
      case Operation::kRed:
      case Operation::kCpAsync:
      case Operation::kCpAsyncIgnore:
        return EachLane(warp, mask, [&](uint32_t thread, uint32_t lane) {
          return Access(in, slots, thread, values[lane]);
        });
      case Operation::kLdmatrix:
      case Operation::kStmatrix:
        return mask == kAllLanes && Matrices(warp, in, slots, values);
      case Operation::kMovmatrix:
        return mask == kAllLanes && Transposed(values);
      case Operation::kShfl:
      case Operation::kVote:
      case Operation::kBallot:
      case Operation::kMatchAny:
      case Operation::kMatchAll:
      case Operation::kActivemask:
      case Operation::kElect:
      case Operation::kRedux:
        return Together(in, mask, values);
      default:
        break;
    }
    if (in.operation == Operation::kMmaNarrow) return false;
    if (IsMma(in.operation)) {
      return mask == kAllLanes && Product(warp, in, slots, values);
    }
    return EachLane(warp, mask, [&](uint32_t thread, uint32_t lane) {
      bool carry = carries_[thread] != 0;
      const bool known = ComputeScalar(in, slots, values[lane], carry);
      carries_[thread] = carry ? 1 : 0;
      return known;
    });
  }

  template <typename F>
  static bool EachLane(const Warp& warp, uint32_t mask, F f) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane & 1) != 0 && !f(warp.first_thread + lane, lane)) return false;
    }
    return true;
  }

  bool Access(const Instruction& in, std::span<const Slot> slots, uint32_t thread,
              std::vector<uint64_t>& v) {
    const StateSpace space = ModifierStateSpace(in);
    const uint32_t bytes = BytesOf(in.type), width = in.vector_width();
    const auto address = [&](size_t slot, int which = 0) {
      return v[slot] + static_cast<uint64_t>(in.offsets[which]);
    };
    switch (in.operation) {
      case Operation::kLd:
        for (uint32_t i = 0; i < width; ++i) {
          uint64_t bits = 0;
          if (!memory_->Read(thread, space, address(width) + i * bytes, bytes, &bits)) return false;
          const uint32_t width_bits = 8 * bytes;
          const bool negative =
              RowOf(in.type).kind == TypeKind::kSigned && (bits >> (width_bits - 1) & 1) != 0;
          if (negative && width_bits < 64) bits |= ~uint64_t{0} << width_bits;
          v[i] = bits;
        }
        return true;
      case Operation::kSt:
        for (uint32_t i = 0; i < width; ++i) {
          if (!memory_->Write(thread, space, address(0) + i * bytes, bytes, &v[1 + i]))
            return false;
        }
        return true;
      case Operation::kCpAsync:
      case Operation::kCpAsyncIgnore: {
        std::byte held[16] = {};
        uint32_t from_source = in.value;
        if (in.operation == Operation::kCpAsyncIgnore) {
          if (v[2] != 0) from_source = 0;
        } else if (slots[2].present()) {
          from_source = std::min(from_source, static_cast<uint32_t>(v[2]));
        }
        if (from_source > 0 &&
            !memory_->Read(thread, StateSpace::kGlobal, address(1, 1), from_source, held))
          return false;
        return memory_->Write(thread, StateSpace::kShared, address(0), in.value, held);
      }
      default:
        break;
    }
    const bool returns = in.operation != Operation::kRed;
    const size_t at = returns ? width : 0;
    const uint64_t other = in.operation == Operation::kAtomCas ? v[3] : 0;
    for (size_t i = 0; i < width; ++i) {
      const uint64_t where = address(at) + i * bytes;
      uint64_t old = 0, changed = 0;
      if (!memory_->Read(thread, space, where, bytes, &old) ||
          !ComputeAtomic(in, old, v[at + 1 + i], other, changed) ||
          !memory_->Write(thread, space, where, bytes, &changed))
        return false;
      if (returns) v[i] = old;
    }
    return true;
  }

  bool Matrices(const Warp& warp, const Instruction& in, std::span<const Slot> slots,
                Lanes& values) {
    const bool loads = in.operation == Operation::kLdmatrix;
    const auto matrices = static_cast<uint32_t>(slots.size() - 1);
    const size_t address = loads ? matrices : 0;
    const bool trans = ModifierTrans(in) == Trans::kOn;
    const auto element = [&](uint32_t matrix, uint32_t row, uint32_t column) {
      const uint32_t lane = 8 * matrix + row;
      return std::pair(warp.first_thread + lane,
                       values[lane][address] + static_cast<uint64_t>(in.offsets[0]) + 2 * column);
    };
    for (uint32_t x = 0; x < matrices; ++x) {
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        uint64_t& value = values[lane][loads ? x : 1 + x];
        uint32_t bits = 0;
        for (uint32_t k = 0; k < 2; ++k) {
          const uint32_t i = lane / 4, j = lane % 4 * 2 + k;
          const auto [thread, at] = trans ? element(x, j, i) : element(x, i, j);
          uint16_t half = static_cast<uint16_t>(value >> (16 * k));
          const bool done = loads ? memory_->Read(thread, ModifierStateSpace(in), at, 2, &half)
                                  : memory_->Write(thread, ModifierStateSpace(in), at, 2, &half);
          if (!done) return false;
          bits |= uint32_t{half} << (16 * k);
        }
        if (loads) value = bits;
      }
    }
    return true;
  }

  // Element (i, j) of eight rows of eight halves comes from (j, i).
  static bool Transposed(Lanes& values) {
    const auto half = [&](uint32_t row, uint32_t column) {
      return values[4 * row + column / 2][1] >> (16 * (column % 2)) & 0xffff;
    };
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      const uint32_t row = lane / 4, column = lane % 4 * 2;
      values[lane][0] = half(column, row) | half(column + 1, row) << 16;
    }
    return true;
  }

  static bool Together(const Instruction& in, uint32_t mask, Lanes& values) {
    const Lanes before = values;
    uint64_t yes = 0;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane & 1) != 0 && before[lane].size() > 1 && before[lane][1] != 0)
        yes |= uint64_t{1} << lane;
    }
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      std::vector<uint64_t>& v = values[lane];
      switch (in.operation) {
        case Operation::kShfl: {
          const ShuffledLane from = ShuffledFrom(
              ModifierShuffle(in), lane, static_cast<uint32_t>(v[3]), static_cast<uint32_t>(v[4]));
          v[0] = before[from.lane][2];
          v[1] = from.inside ? 1 : 0;
          break;
        }
        case Operation::kVote:
          v[0] = ModifierVote(in) == Vote::kAll   ? yes == mask
                 : ModifierVote(in) == Vote::kAny ? yes != 0
                                                  : yes == mask || yes == 0;
          break;
        case Operation::kBallot:
          v[0] = yes;
          break;
        case Operation::kActivemask:
          v[0] = mask;
          break;
        case Operation::kMatchAny:
        case Operation::kMatchAll: {
          const size_t a = in.operation == Operation::kMatchAny ? 1 : 2;
          uint32_t same = 0;
          for (uint32_t other = 0; other < kLanes; ++other) {
            if ((mask >> other & 1) != 0 && before[other][a] == before[lane][a])
              same |= uint32_t{1} << other;
          }
          v[0] = a == 1 || same == mask ? same : 0;
          if (a == 2) v[1] = same == mask ? 1 : 0;
          break;
        }
        case Operation::kElect: {
          uint32_t leader = 0;
          while ((mask >> leader & 1) == 0) ++leader;
          v[0] = leader;
          v[1] = lane == leader ? 1 : 0;
          break;
        }
        default: {
          if (in.type == Type::kF32) return false;
          bool any = false;
          for (uint32_t other = 0; other < kLanes; ++other) {
            if ((mask >> other & 1) == 0) continue;
            uint64_t next = before[other][1];
            if (any && !ComputeAtomic(in, v[0], before[other][1], 0, next)) return false;
            v[0] = next;
            any = true;
          }
        }
      }
    }
    return true;
  }

  // A, B, C as dense matrices by the places that the PTX ISA gives; one sum at a time.
  static bool Product(const Warp& warp, const Instruction& in, std::span<const Slot> slots,
                      Lanes& values) {
    const MmaForm form = MmaFormOf(in, warp.block->target);
    if (!CheckMma(form).has_value()) return false;
    const auto slots_of = [&](MmaOperand operand) {
      return static_cast<size_t>(RegistersOf(form, operand)) / (form.a == Element::kF64 ? 2 : 1);
    };
    const size_t d = slots_of(MmaOperand::kD), a = slots_of(MmaOperand::kA),
                 b = slots_of(MmaOperand::kB), c = slots_of(MmaOperand::kC);
    if (d + a + b + c != slots.size()) return false;
    Bits dense_a(static_cast<size_t>(form.m * form.k)),
        dense_b(static_cast<size_t>(form.k * form.n)),
        dense_c(static_cast<size_t>(form.m * form.n));
    const auto visit = [&](size_t first, size_t count, Element type, auto place, int columns,
                           auto f) {
      const int width = WidthOf(type), slot_bits = 8 * slots[first].bytes, per = slot_bits / width;
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        for (int i = 0; i < static_cast<int>(count) * per; ++i) {
          const auto [row, column] = place(form, static_cast<int>(lane), i);
          f(values[lane][first + static_cast<size_t>(i / per)], i % per * width, width,
            static_cast<size_t>(row * columns + column));
        }
      }
    };
    const auto into = [](Bits& dense) {
      return [&dense](uint64_t value, int at, int width, size_t index) {
        dense[index] = width == 64 ? value : value >> at & ((uint64_t{1} << width) - 1);
      };
    };
    visit(d, a, form.a, PlaceInA, form.k, into(dense_a));
    visit(d + a, b, form.b, PlaceInB, form.n, into(dense_b));
    visit(d + a + b, c, form.c, PlaceInC, form.n, into(dense_c));
    for (uint32_t lane = 0; lane < kLanes; ++lane) std::fill_n(values[lane].begin(), d, 0);
    const ReferenceRule rule = RuleOfMma(form);
    const bool is_f8 = form.a == Element::kE4m3 || form.a == Element::kE5m2;
    const bool is_widened = is_f8 && form.sm >= 90 && form.sm < 120;
    visit(0, d, form.d, PlaceInC, form.n, [&](uint64_t& value, int at, int, size_t index) {
      const int row = static_cast<int>(index) / form.n, column = static_cast<int>(index) % form.n;
      const uint64_t sum = is_widened
                               ? ReferenceWidened(dense_a, dense_b, dense_c[index], row, column,
                                                  form.n, form.k, form.a, form.b, form.d)
                               : ReferenceSum(dense_a, dense_b, dense_c[index], row, column, form.n,
                                              form.k, form.a, form.b, form.d, form.saturate, rule);
      value |= sum << at;
    });
    return true;
  }

  const Program& program_;
  const Kernel& kernel_;
  ScalarReferenceReport& report_;
  std::map<uint32_t, uint32_t> ids_;  // of registers, by where they lie
  std::vector<uint32_t> slot_ids_, guard_ids_;
  std::vector<std::pair<uint32_t, uint32_t>> specials_;
  std::unique_ptr<ScalarReferenceMemory> memory_;
  std::vector<std::vector<uint64_t>> registers_;  // by thread
  std::vector<uint32_t> pcs_;                     // of the next instruction of each thread
  std::vector<uint8_t> carries_;
};

}  // namespace

Result<ScalarReferenceReport> RunScalarReference(const Module& module, const LaunchRequest& launch,
                                                 const std::array<uint32_t, 3>& block,
                                                 LaunchOptions options) {
  const Module::Contents& contents = module.contents();
  HLOSCOPE_ASSIGN_OR_RETURN(const Kernel* const kernel, KernelOf(module, launch.entry));
  ScalarReferenceReport report;
  ScalarReference reference(contents.program, *kernel, report);
  options.only_block = block;
  options.observer = &reference;
  HLOSCOPE_ASSIGN_OR_RETURN(LaunchResult result, Launch(module, launch, options));
  report.fault = std::move(result.fault);
  if (!report.fault) reference.CompareMemory();
  return report;
}

}  // namespace hloscope::ptx
